// One YAML document as a small tree that knows where everything was written.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// Limits of a document. A plan that is typed stays far below; a file beyond them is a mistake or an attack.
inline constexpr size_t kMaxYamlBytes = 1 << 20;
inline constexpr size_t kMaxYamlNodes = 200'000;
inline constexpr size_t kMaxYamlDepth = 8;

struct YamlNode {
  enum class Kind { kNull, kText, kList, kMap };

  Kind kind = Kind::kNull;
  // Where it begins, from 1. Columns count bytes.
  int line = 1;
  int column = 1;
  // kText: the scalar.
  std::string text;
  // kList: the elements. kMap: key, value, key, value.
  std::vector<YamlNode> items;
};

// INVALID_ARGUMENT "FILE:LINE:COLUMN: message".
absl::Status YamlError(const std::string& file_name, int line, int column, const std::string& message);

// Reads one document. Anchors, aliases and tags are refused, as are a second document, text that is not UTF-8, control
// characters, and what is beyond the limits: INVALID_ARGUMENT with the place, on one line. An empty document is kNull.
absl::StatusOr<YamlNode> ParseYaml(const std::string& text, const std::string& file_name);

}  // namespace plimsoll
