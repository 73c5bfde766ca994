// Seeds of random tests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace plimsoll::tests {

// Another seed in each call, of 32 bits; that of PLIMSOLL_SEED where it is set. A test prints it with SCOPED_TRACE, so
// that a failure can be repeated: PLIMSOLL_SEED=3976539188 build/dev/bin/writer_property_test.
inline uint32_t RandomSeed() {
  const char* const given = std::getenv("PLIMSOLL_SEED");
  if (given != nullptr) return static_cast<uint32_t>(std::strtoul(given, nullptr, 10));
  return std::random_device()();
}

}  // namespace plimsoll::tests
