// Recorded log writes that are played again: what a queue manager wrote and when, in 8 bytes for each write.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "plimsoll/v1/group_commit.pb.h"

namespace plimsoll {

// Entries of a session and of a file, all streams together: 80 MB. Longer recordings are summarised.
inline constexpr uint64_t kMostPatternEntries = 10'000'000;
// Entries of a PatternChunk, in 128 KiB: an agent takes messages of up to 256 KiB.
inline constexpr int kMostChunkEntries = 16'384;
// The unit of recorded writes: a page of the log.
inline constexpr uint64_t kPatternPageBytes = 4096;
// Pages of the largest recorded write: 16 MiB.
inline constexpr uint16_t kMostWritePages = 4096;

// Limits of the length of a recording.
inline constexpr int64_t kLeastPatternNs = 1'000'000;
inline constexpr int64_t kLongestPatternNs = int64_t{30} * 24 * 3600 * 1'000'000'000;

// `count` writes of `pages` pages each, at even distances within `gap_ns` after the entry before (the first entry:
// after the start of the recording), the last of them at its end. `gap_ns` is at least `count`, so that each write has
// a moment of its own, and never 0. With a count of 0, which has 0 pages, the entry is a pause.
struct PatternEntry {
  uint32_t gap_ns = 0;
  uint16_t pages = 0;
  uint16_t count = 0;
  bool operator==(const PatternEntry&) const = default;
};
static_assert(sizeof(PatternEntry) == 8);

// Appends the entry to the chunk.
void AddEntry(const PatternEntry& entry, v1::PatternChunk& chunk);

// Appends the chunk's entries to `entries`. Returns INVALID_ARGUMENT, and appends nothing, if the chunk is empty or has
// more than kMostChunkEntries entries, if its lists differ in length, or if an entry is none that PatternEntry allows.
// Names the entry by its place in the chunk, from 0.
absl::Status ReadChunk(const v1::PatternChunk& chunk, std::vector<PatternEntry>& entries);

// The recorded writes of one queue manager, in the order of their moments. Immutable, so that threads share it.
struct LoadPattern {
  std::vector<PatternEntry> entries;
  // After this time it begins again. At least the sum of the gaps.
  int64_t length_ns = 0;
};

// Checks a whole stream: its length is between kLeastPatternNs and kLongestPatternNs and not below the sum of the gaps,
// it has at least one write, and ReadChunk accepts each of its entries. Returns INVALID_ARGUMENT otherwise.
absl::Status CheckPattern(const LoadPattern& pattern);

// Pages of the largest write of the pattern.
uint64_t MostPages(const LoadPattern& pattern);

}  // namespace plimsoll
