// Versions that both sides of the protocol tell each other.
#pragma once

#include <cstdint>

namespace plimsoll {

// Version of this build, the project's version in CMakeLists.txt.
inline constexpr char kVersion[] = PLIMSOLL_VERSION;

// Raised with every change after which an older peer would misunderstand; peers of another number are refused.
inline constexpr uint32_t kProtocolVersion = 5;

// Port of an agent where an address names none.
inline constexpr uint16_t kDefaultPort = 7461;

}  // namespace plimsoll
