#include "common/load_pattern.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr uint32_t kCountShift = 16;
constexpr uint32_t kPagesMask = 0xFFFF;

// `number`: place of the entry, for the message.
absl::Status CheckEntry(const PatternEntry& entry, size_t number) {
  const auto bad = [number](const auto&... text) {
    return absl::InvalidArgumentError(absl::StrCat("entry ", number, " of the recorded writes ", text...));
  };
  if (entry.gap_ns == 0) return bad("takes no time: each one takes at least 1 ns");
  if (entry.count == 0 && entry.pages > 0) return bad("is a pause of ", entry.pages, " pages: a pause has none");
  if (entry.count > 0 && entry.pages == 0) return bad("has ", entry.count, " writes of no page");
  if (entry.pages > kMostWritePages) {
    return bad("has writes of ", entry.pages, " pages: a write has at most ", kMostWritePages);
  }
  if (entry.gap_ns < entry.count) return bad("has ", entry.count, " writes in ", entry.gap_ns, " ns");
  return absl::OkStatus();
}

}  // namespace

void AddEntry(const PatternEntry& entry, v1::PatternChunk& chunk) {
  chunk.add_gap_ns(entry.gap_ns);
  chunk.add_writes(uint32_t{entry.count} << kCountShift | entry.pages);
}

absl::Status ReadChunk(const v1::PatternChunk& chunk, std::vector<PatternEntry>& entries) {
  const int count = chunk.gap_ns_size();
  if (chunk.writes_size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("a chunk of recorded writes has ", count, " gaps and ",
                                                   chunk.writes_size(), " writes: it needs as many of both"));
  }
  if (count == 0 || count > kMostChunkEntries) {
    return absl::InvalidArgumentError(
        absl::StrCat("a chunk of recorded writes has ", count, " entries: it needs 1 to ", kMostChunkEntries));
  }
  const size_t before = entries.size();
  for (int i = 0; i < count; ++i) {
    const uint32_t writes = chunk.writes(i);
    const PatternEntry entry{chunk.gap_ns(i), static_cast<uint16_t>(writes & kPagesMask),
                             static_cast<uint16_t>(writes >> kCountShift)};
    if (absl::Status status = CheckEntry(entry, static_cast<size_t>(i)); !status.ok()) {
      entries.resize(before);
      return status;
    }
    entries.push_back(entry);
  }
  return absl::OkStatus();
}

absl::Status CheckPattern(const LoadPattern& pattern) {
  if (pattern.length_ns < kLeastPatternNs || pattern.length_ns > kLongestPatternNs) {
    return absl::InvalidArgumentError(
        absl::StrCat("a recording takes 1ms to 30d; it takes ", FormatDuration(pattern.length_ns)));
  }
  uint64_t gaps_ns = 0;
  bool any_write = false;
  for (size_t i = 0; i < pattern.entries.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(CheckEntry(pattern.entries[i], i));
    any_write |= pattern.entries[i].count > 0;
    gaps_ns += pattern.entries[i].gap_ns;
  }
  if (!any_write) return absl::InvalidArgumentError("the recording has no write");
  if (gaps_ns > static_cast<uint64_t>(pattern.length_ns)) {
    return absl::InvalidArgumentError(absl::StrCat("the recorded writes take ", gaps_ns,
                                                   " ns, longer than their recording of ", pattern.length_ns, " ns"));
  }
  return absl::OkStatus();
}

uint64_t MostPages(const LoadPattern& pattern) {
  uint64_t most = 0;
  for (const PatternEntry& entry : pattern.entries) most = std::max<uint64_t>(most, entry.pages);
  return most;
}

}  // namespace plimsoll
