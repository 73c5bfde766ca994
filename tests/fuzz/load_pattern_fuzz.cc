// Any chunk of recorded writes is refused, or is one that packs to itself and that a writer can play for ever: every
// write lies in the log behind the one before, within its buffer and its extent, and every recorded write is completed
// once.
//
// An input is a byte that says how to play, and a PatternChunk.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "agent/writer/commit_model.h"
#include "agent/writer/pattern_intake.h"
#include "common/load_pattern.h"
#include "plimsoll/v1/agent.pb.h"
#include "tests/fuzz/fuzz_support.h"

namespace plimsoll::fuzz {
namespace {

constexpr std::array<double, 4> kFactors = {1, 0.01, 3.7, 1'000};
constexpr int kWrites = 100;

void CheckEntries(const v1::PatternChunk& chunk, const std::vector<PatternEntry>& entries) {
  v1::PatternChunk again;
  again.set_stream(chunk.stream());
  for (const PatternEntry& entry : entries) {
    Require(entry.gap_ns >= std::max<uint32_t>(entry.count, 1) && entry.pages <= kMostWritePages &&
                (entry.pages == 0) == (entry.count == 0),
            "an entry that no recording has");
    AddEntry(entry, again);
  }
  Require(std::equal(chunk.gap_ns().begin(), chunk.gap_ns().end(), again.gap_ns().begin(), again.gap_ns().end()) &&
              std::equal(chunk.writes().begin(), chunk.writes().end(), again.writes().begin(), again.writes().end()),
          "entries that are not those of the chunk");
}

void Play(const PlayedStream& stream, double load_factor, bool one_by_one) {
  constexpr uint64_t kBufferPages = 128;
  constexpr uint64_t kExtentPages = 640;
  const CommitLoad load{.buffer_pages = one_by_one ? stream.most_pages : kBufferPages,
                        .extent_pages = kExtentPages,
                        .copies_partial_pages = false,
                        .pattern = stream.pattern,
                        .load_factor = load_factor,
                        .one_by_one = one_by_one,
                        .key = {}};
  CommitModel model(load, 0);
  uint64_t page = 0;
  uint64_t completed_bytes = 0;
  int64_t end_ns = 0;
  int64_t arrived_ns = 0;
  for (int i = 0; i < kWrites; ++i) {
    const int64_t start_ns = model.NextStart();
    Require(start_ns >= end_ns, "a write starts before the one before has ended");
    const CommitModel::Write write = model.Begin();
    Require(!write.is_copy && write.first_page == page && write.pages > 0, "a write elsewhere");
    Require(write.pages <= load.buffer_pages && page / kExtentPages == (page + write.pages - 1) / kExtentPages,
            "a write that is too large");
    page += write.pages;
    end_ns = start_ns + 20'000;
    int commits = 0;
    model.End(end_ns, [&](const CommitModel::Commit& commit) {
      Require(commit.arrived_ns >= arrived_ns && commit.arrived_ns <= start_ns, "commits out of order");
      Require(commit.latency_ns == end_ns - commit.arrived_ns, "a latency that is none");
      arrived_ns = commit.arrived_ns;
      completed_bytes += commit.bytes;
      ++commits;
    });
    Require(!one_by_one || commits <= 1, "several recorded writes in one");
    Require(completed_bytes <= page * kPatternPageBytes, "more is completed than was written");
    Require(page * kPatternPageBytes - completed_bytes < uint64_t{kMostWritePages} * kPatternPageBytes,
            "a write that is never completed");
  }
}

void TryChunk(const uint8_t* data, size_t size) {
  if (size == 0) return;
  v1::PatternChunk chunk;
  if (!chunk.ParseFromArray(data + 1, static_cast<int>(size - 1))) return;
  const PatternEntry before{7, 1, 1};
  std::vector<PatternEntry> entries = {before};
  const bool ok = ReadChunk(chunk, entries).ok();
  Require(!entries.empty() && entries.front() == before, "an earlier entry has changed");
  entries.erase(entries.begin());
  Require(ok || entries.empty(), "a chunk was refused and taken");
  if (ok) CheckEntries(chunk, entries);

  // As an agent takes it: announced as it is, and with the length that its entries have.
  uint64_t gaps_ns = 0;
  bool any_write = false;
  for (const PatternEntry& entry : entries) {
    gaps_ns += entry.gap_ns;
    any_write |= entry.count > 0;
  }
  v1::PatternParts parts;
  parts.add_entries(static_cast<uint64_t>(chunk.gap_ns_size()));
  parts.add_length_ns(static_cast<int64_t>(std::max<uint64_t>(gaps_ns, kLeastPatternNs)));
  parts.add_stream_of_writer(0);
  Require(CheckPatternParts(parts, 1).ok(), "parts that are not accepted");
  PatternIntake intake(parts);
  const bool taken = intake.Take(chunk).ok();
  Require(taken == (ok && chunk.stream() == 0), "an agent takes other chunks");
  const auto streams = intake.Finish();
  const bool playable = taken && any_write && gaps_ns <= static_cast<uint64_t>(kLongestPatternNs);
  Require(streams.ok() == playable, "a recording that should play, or should not");
  if (!playable) return;
  Require(streams->size() == 1 && streams->front().pattern->entries == entries, "other entries are played");
  Play(streams->front(), kFactors[data[0] % kFactors.size()], (data[0] & 0x80U) != 0);
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::fuzz::Silence();
  plimsoll::fuzz::TryChunk(data, size);
  return 0;
}
