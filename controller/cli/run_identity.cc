#include "controller/cli/run_identity.h"

#include <random>

#include "absl/strings/escaping.h"

namespace plimsoll {

namespace {

constexpr int kRunIdBytes = 3;
constexpr int kRunTokenBytes = 16;

std::string RandomBytes(int count) {
  std::random_device random;
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<char>(random() & 0xffU));
  return bytes;
}

}  // namespace

std::string NewRunId() {
  return absl::BytesToHexString(RandomBytes(kRunIdBytes));
}

std::string NewRunToken() {
  return RandomBytes(kRunTokenBytes);
}

}  // namespace plimsoll
