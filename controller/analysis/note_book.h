// Collects sentences for a report's reader.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace plimsoll {

// The text with a full stop, unless it has an end of its own.
inline std::string Sentence(const std::string& text) {
  const bool ended = !text.empty() && std::string(".!?").find(text.back()) != std::string::npos;
  return ended ? text : text + ".";
}

// Keeps the first three sentences of each kind and counts the others, so that a thousand writers with the same
// trouble make four lines, and memory is bounded whatever a journal holds. Not thread-safe.
class NoteBook {
 public:
  // `kind` is a constant of the code, never text from a journal.
  void Add(const std::string& kind, const std::string& sentence) {
    const auto [found, added] = kinds_.try_emplace(kind);
    if (added) order_.push_back(kind);
    Kind& notes = found->second;
    if (notes.first.size() >= kKept) {
      ++notes.more;
    } else if (std::find(notes.first.begin(), notes.first.end(), sentence) == notes.first.end()) {
      notes.first.push_back(sentence);
    }
  }

  struct Entry {
    std::string kind;
    std::string sentence;
  };
  // In the order in which each kind was first met.
  std::vector<Entry> Entries() const {
    std::vector<Entry> entries;
    for (const std::string& name : order_) {
      const Kind& notes = kinds_.at(name);
      for (const std::string& sentence : notes.first) entries.push_back({name, sentence});
      if (notes.more > 0)
        entries.push_back({name, absl::StrCat("... and ", FormatCount(notes.more), " more like it.")});
    }
    return entries;
  }
  std::vector<std::string> Sentences() const {
    std::vector<std::string> sentences;
    for (Entry& entry : Entries()) sentences.push_back(std::move(entry.sentence));
    return sentences;
  }

  bool empty() const { return order_.empty(); }

 private:
  static constexpr size_t kKept = 3;
  struct Kind {
    std::vector<std::string> first;
    uint64_t more = 0;
  };
  std::map<std::string, Kind> kinds_;
  std::vector<std::string> order_;
};

}  // namespace plimsoll
