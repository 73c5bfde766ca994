#include "agent/host/text_file.h"

#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"

namespace plimsoll {

std::string ReadTextFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string ReadTextLine(const std::string& path) {
  std::string text = ReadTextFile(path);
  absl::StripAsciiWhitespace(&text);
  return text;
}

}  // namespace plimsoll
