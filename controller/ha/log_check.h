// Holds what a replay or a scan found in a log against what was acknowledged: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plimsoll/v1/ha.pb.h"

namespace plimsoll {

// Shape of a log: block n lies at place (n - 1) modulo lap_blocks.
struct HaLogShape {
  uint64_t block_bytes = 4096;
  uint64_t extent_blocks = 1;
  uint64_t lap_blocks = 1;
};

// The blocks that one active instance acknowledged, in the order of epochs.
struct HaAcknowledged {
  uint32_t epoch = 0;
  // 0 and 0: none.
  uint64_t first = 0;
  uint64_t last = 0;
  // What it had acknowledged when the next instance was granted the lock; the block behind it may have been in flight.
  uint64_t last_before_next = 0;
  // The last block that the next instance's replay reported; UINT64_MAX: there was no next one.
  uint64_t next_replayed = UINT64_MAX;
};

// What the active instances read back of a log before they wrote its places again.
struct HaReadings {
  // Whole blocks with their own numbers, of one epoch each; in no order.
  struct Run {
    uint32_t epoch = 0;
    uint64_t first = 0;
    uint64_t last = 0;
  };
  struct Wrong {
    uint64_t sequence = 0;
    v1::HaFaultyBlock::Kind kind = v1::HaFaultyBlock::KIND_UNSPECIFIED;
    uint32_t found_epoch = 0;
    uint64_t found_sequence = 0;
  };
  std::vector<Run> runs;
  std::vector<Wrong> wrong;
  // More was read than is kept here.
  bool left_out = false;

  // Adds what was read later; runs that continue one another become one.
  void Append(const HaReadings& more);
};

// Acknowledged blocks that one old active instance overwrote after it had been replaced.
struct HaOverwrites {
  uint64_t blocks = 0;
  // Blocks among these that the write in flight at the fault overwrote: at most one.
  uint64_t in_flight = 0;
  // The first of them, and the epoch that had acknowledged it.
  uint64_t first_sequence = 0;
  uint32_t first_epoch = 0;

  void Add(const HaOverwrites& more);
};

// What is wrong with acknowledged blocks. A block counts once.
struct HaLogFindings {
  uint64_t missing = 0;
  uint64_t torn = 0;
  uint64_t misplaced = 0;
  // By an older epoch, after the newer one had acknowledged the block; and by which.
  uint64_t overwritten = 0;
  std::map<uint32_t, HaOverwrites> overwritten_by;
  uint64_t order_broken = 0;
  // Blocks of an older epoch beyond what the replay had reported, which the write in flight at the fault does not
  // account for. Those that overwrote acknowledged blocks are counted, too.
  uint64_t late = 0;
  // The write in flight landed after the replay. The acknowledged block that it destroyed, if any, is overwritten.
  uint64_t in_doubt_late = 0;
  // Why not all could be known; empty: it could.
  std::string unknown;

  // Adds the counts.
  void Add(const HaLogFindings& more);
};

// The replay of the instance that took over, against what had been acknowledged up to `last` (0: nothing). Blocks in
// `known` were counted before; those that it finds, and that are not written again, are added to it.
HaLogFindings CheckReplay(const v1::HaReplayed& replayed, uint64_t last, std::set<uint64_t>& known);

// What was read back against what all active instances acknowledged. Blocks in `known` were counted before; those that
// it finds are added. `unknown` describes blocks that were written again without having been read.
HaLogFindings CheckReadBack(const HaReadings& readings, const std::vector<HaAcknowledged>& acknowledged,
                            const HaLogShape& shape, std::set<uint64_t>& known);

// The final scan against what all active instances acknowledged, but for blocks that are known to be wrong. Time is
// proportional to the blocks of a lap.
HaLogFindings CheckScan(const v1::HaScanned& scanned, const std::vector<HaAcknowledged>& acknowledged,
                        const HaLogShape& shape, const std::set<uint64_t>& known);

}  // namespace plimsoll
