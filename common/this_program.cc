#include "common/this_program.h"

#include <fcntl.h>

#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/posix.h"
#include "common/sha256.h"
#include "common/text.h"

namespace plimsoll {
namespace {

constexpr char kExecutable[] = "/proc/self/exe";
constexpr char kLeftOut[] = "\u2026";

std::string ProgramSha256() {
  const UniqueFd fd(open(kExecutable, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return "";
  return Sha256OfRest(fd.get(), kExecutable).value_or("");
}

// Cuts UTF-8 between two characters.
void CutAt(size_t most, std::string& text) {
  if (text.size() <= most) return;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  text.resize(most);
}

}  // namespace

const std::string& ThisProgramSha256() {
  static const std::string digest = ProgramSha256();
  return digest;
}

std::string CommandText(const std::vector<std::string>& arguments) {
  std::string text;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? " " : "", SanitizeForTerminal(ShellQuoted(arguments[i])));
    if (arguments[i] == "--" && i + 1 < arguments.size()) {
      absl::StrAppend(&text, " ", kLeftOut);
      break;
    }
    if (text.size() > kMostCommandBytes) break;
  }
  if (text.size() <= kMostCommandBytes) return text;
  CutAt(kMostCommandBytes - (sizeof(kLeftOut) - 1), text);
  return text + kLeftOut;
}

std::string ThisCommand() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  // Each argument ends with a zero byte.
  if (words.empty() || words.back() != '\0') return "";
  words.pop_back();
  return CommandText(absl::StrSplit(words, '\0'));
}

}  // namespace plimsoll
