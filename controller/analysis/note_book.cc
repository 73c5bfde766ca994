#include "controller/analysis/note_book.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr size_t kKept = 3;

}  // namespace

std::string Sentence(const std::string& text) {
  const bool ended = !text.empty() && std::string(".!?").find(text.back()) != std::string::npos;
  return ended ? text : text + ".";
}

void NoteBook::Add(const std::string& kind, const std::string& sentence) {
  const auto [found, added] = kinds_.try_emplace(kind);
  if (added) order_.push_back(kind);
  Kind& notes = found->second;
  if (notes.first.size() >= kKept) {
    ++notes.more;
  } else if (std::find(notes.first.begin(), notes.first.end(), sentence) == notes.first.end()) {
    notes.first.push_back(sentence);
  }
}

std::vector<std::string> NoteBook::Sentences() const {
  std::vector<std::string> sentences;
  for (const std::string& name : order_) {
    const Kind& notes = kinds_.at(name);
    sentences.insert(sentences.end(), notes.first.begin(), notes.first.end());
    if (notes.more > 0) sentences.push_back(absl::StrCat("... and ", FormatCount(notes.more), " more like it."));
  }
  return sentences;
}

}  // namespace plimsoll
