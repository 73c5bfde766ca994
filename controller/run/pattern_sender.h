// Gives the hosts of a run the recorded log writes that their writers play.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "controller/fleet/fleet.h"
#include "controller/run/session_driver.h"
#include "plimsoll/v1/group_commit.pb.h"

namespace plimsoll {

// A recording, and what each host gets of it.
struct PatternSource {
  using Take = std::function<absl::Status(v1::PatternChunk chunk)>;

  // By host: streams of the recording, in the order of the host's PatternParts.
  std::vector<std::vector<uint32_t>> streams;
  // Calls `take` with each chunk of these streams, and returns its first error (PatternFile::Read). Empty: there is no
  // recording.
  std::function<absl::Status(const std::set<uint32_t>& streams, const Take& take)> read;
};

// Reads the recording once, and sends each chunk to the hosts that play its stream, numbered as in their PatternParts.
// A chunk waits for the slowest of them, so that memory is bounded (SessionDriver::HasRoomFor); sessions are kept
// meanwhile. Called on the thread that drives, before any host fills. CANCELLED if `give_up` returns true, or at a
// second interrupt.
absl::Status SendPattern(const PatternSource& source, Fleet& fleet, SessionDriver& driver,
                         const std::function<bool()>& give_up);

}  // namespace plimsoll
