// Makes the comparison of the rounds of `plimsoll ab` again, from their journals.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

// How the comparison that is kept in the directory differs from the one that its journals give.
struct ComparisonDifferences {
  // Sentences without their full stops, each of which begins with the name of a file.
  std::vector<std::string> differences;
  // The findings are the same, and the text is not; empty: it is.
  std::string other_text;
};

// Compares the rounds again by the settings in ab.json and holds compare.json, compare.txt and compare.csv against the
// result. The findings must be the same; if this version made the comparison, so must every byte, but for where the
// results were. The errors are those of LoadAbDirectory, of reading compare.json, and of Compare.
absl::StatusOr<ComparisonDifferences> CheckAbComparison(const std::string& directory);

}  // namespace plimsoll
