// What it would cost to parse a message that somebody else made.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/descriptor.h"

namespace plimsoll {

// Memory that one parsed message may take, in bytes. Parsed messages are larger than their bytes: an empty submessage
// takes two bytes on the wire and some hundred in memory. The largest message that an agent sends (64 MiB of frames)
// stays below it.
inline constexpr uint64_t kParseBudgetBytes = uint64_t{512} << 20;

// RESOURCE_EXHAUSTED where parsing `bytes` as a message of `type` would take more than `budget` bytes of memory, by an
// estimate that is made without parsing: time in proportion to the bytes, no memory. Bytes that are no such message are
// left to the parser to refuse.
absl::Status CheckParseBudget(const google::protobuf::Descriptor& type, std::string_view bytes,
                              uint64_t budget = kParseBudgetBytes);

}  // namespace plimsoll
