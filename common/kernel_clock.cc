#include "common/kernel_clock.h"

#include <unistd.h>

#include <array>
#include <string_view>

#include "absl/strings/ascii.h"
#include "common/files.h"

namespace plimsoll {

KernelClock ReadKernelClock() {
  KernelClock clock;
  constexpr size_t kMostBytes = 4096;
  if (auto boot_id = ReadFile("/proc/sys/kernel/random/boot_id", kMostBytes); boot_id.ok()) {
    clock.boot_id = std::string(absl::StripAsciiWhitespace(*boot_id));
  }
  std::array<char, 256> name{};
  const ssize_t length = readlink("/proc/self/ns/time", name.data(), name.size());
  if (length > 0) clock.time_namespace = std::string(std::string_view(name.data(), static_cast<size_t>(length)));
  return clock;
}

}  // namespace plimsoll
