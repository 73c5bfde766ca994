// Collects sentences for a report's reader.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plimsoll {

// The text with a full stop, unless it has an end of its own.
std::string Sentence(const std::string& text);

// Of sentences of one kind the first three are kept and the others counted, so that a thousand writers with the same
// trouble make four lines, and memory is bounded whatever a journal holds. Not thread-safe.
class NoteBook {
 public:
  // `kind` is a constant of the code, never text from a journal.
  void Add(const std::string& kind, const std::string& sentence);

  // In the order in which each kind was first met.
  std::vector<std::string> Sentences() const;

  bool empty() const { return order_.empty(); }

 private:
  struct Kind {
    std::vector<std::string> first;
    uint64_t more = 0;
  };
  std::map<std::string, Kind> kinds_;
  std::vector<std::string> order_;
};

}  // namespace plimsoll
