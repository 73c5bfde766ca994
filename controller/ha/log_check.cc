#include "controller/ha/log_check.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll {
namespace {

using FaultyKind = v1::HaFaultyBlock::Kind;

// No log has more places: 511 extents of 1 TiB in blocks of 4 KiB have 2^37, too many to scan.
constexpr uint64_t kMostPlaces = uint64_t{1} << 32;

void CountFaulty(FaultyKind kind, HaLogFindings& findings) {
  switch (kind) {
    case v1::HaFaultyBlock::KIND_TORN:
    case v1::HaFaultyBlock::KIND_MIXED:
      ++findings.torn;
      return;
    case v1::HaFaultyBlock::KIND_MISPLACED:
      ++findings.misplaced;
      return;
    case v1::HaFaultyBlock::KIND_MISSING:
      ++findings.missing;
      ++findings.order_broken;
      return;
    case v1::HaFaultyBlock::KIND_EPOCH_REVERSED:
      ++findings.missing;
      ++findings.order_broken;
      return;
    default:
      ++findings.missing;
  }
}

// The block that should lie at a place.
struct Expected {
  uint64_t sequence = 0;
  const HaAcknowledged* by = nullptr;
};

const HaAcknowledged* OfEpoch(const std::vector<HaAcknowledged>& acknowledged, uint32_t epoch) {
  const auto found = std::find_if(acknowledged.begin(), acknowledged.end(),
                                  [epoch](const HaAcknowledged& one) { return one.epoch == epoch; });
  return epoch == 0 || found == acknowledged.end() ? nullptr : &*found;
}

// A block of `old` beyond what it had acknowledged when the next instance was granted the lock, and beyond what the
// replay after that reported.
bool IsLate(const HaAcknowledged& old, uint64_t sequence) {
  return old.next_replayed != UINT64_MAX && sequence > std::max(old.last_before_next, old.next_replayed);
}

// A late block; `over`: the acknowledged one that should be in its place, if any.
void CountLate(const HaAcknowledged& old, uint64_t sequence, const Expected& over, HaLogFindings& findings) {
  // One write was under way: behind what was acknowledged, or, where its acknowledgement came with a later one or not
  // at all, behind what the replay found.
  const bool in_flight = sequence == std::max(old.last_before_next, old.next_replayed) + 1;
  ++(in_flight ? findings.in_doubt_late : findings.late);
  if (over.by == nullptr) return;
  ++findings.overwritten;
  findings.overwritten_by[old.epoch].Add({1, in_flight ? 1U : 0U, over.sequence, over.by->epoch});
}

class ReadBackCheck {
 public:
  ReadBackCheck(const HaReadings& readings, const std::vector<HaAcknowledged>& acknowledged, const HaLogShape& shape,
                std::set<uint64_t>& known)
      : readings_(readings), acknowledged_(acknowledged), shape_(shape), known_(known) {}

  HaLogFindings Run() {
    if (shape_.lap_blocks == 0) {
      findings_.unknown = "the log has a shape that cannot be checked";
      return findings_;
    }
    for (const HaReadings::Run& run : readings_.runs) {
      if (!CheckRun(run)) findings_.unknown = "more blocks of an old epoch were read back than can be counted";
    }
    for (const HaReadings::Wrong& wrong : readings_.wrong) CheckWrong(wrong);
    if (readings_.left_out) {
      findings_.unknown = "more was wrong with the blocks that were read back than can be kept";
    } else if (findings_.unknown.empty()) {
      CheckCoverage();
    }
    return findings_;
  }

 private:
  // No reader looks at more of them one by one.
  static constexpr uint64_t kMostMismatches = 1'000'000;

  // The newest entry that acknowledged the block; null if none did.
  const HaAcknowledged* ExpectedOf(uint64_t sequence) const {
    for (auto one = acknowledged_.rbegin(); one != acknowledged_.rend(); ++one) {
      if (one->last != 0 && sequence >= one->first && sequence <= one->last) return &*one;
    }
    return nullptr;
  }

  // False: it has too many blocks of another epoch than the one that acknowledged them.
  bool CheckRun(const HaReadings::Run& run) {
    for (const HaAcknowledged& one : acknowledged_) {
      // The run is of a later epoch: the takeover before it had found less of the log, and that was counted then.
      if (one.last == 0 || run.epoch >= one.epoch) continue;
      const uint64_t last = std::min(run.last, one.last);
      for (uint64_t sequence = std::max(run.first, one.first); sequence <= last; ++sequence) {
        if (++mismatches_ > kMostMismatches) return false;
        if (ExpectedOf(sequence) != &one || !known_.insert(sequence).second) continue;
        const HaAcknowledged* old = OfEpoch(acknowledged_, run.epoch);
        if (old != nullptr && IsLate(*old, sequence)) {
          CountLate(*old, sequence, {sequence, &one}, findings_);
        } else {
          CountFaulty(v1::HaFaultyBlock::KIND_MISSING, findings_);
        }
      }
    }
    return true;
  }

  void CheckWrong(const HaReadings::Wrong& wrong) {
    const HaAcknowledged* expected = ExpectedOf(wrong.sequence);
    if (expected == nullptr || known_.contains(wrong.sequence)) return;
    const HaAcknowledged* old = OfEpoch(acknowledged_, wrong.found_epoch);
    const bool in_place = wrong.found_sequence % shape_.lap_blocks == wrong.sequence % shape_.lap_blocks;
    if (in_place && old != nullptr && old->epoch <= expected->epoch && IsLate(*old, wrong.found_sequence)) {
      known_.insert(wrong.sequence);
      return CountLate(*old, wrong.found_sequence, {wrong.sequence, expected}, findings_);
    }
    // A later lap's: it was read back before that, by another instance, or not at all.
    if (in_place && wrong.found_sequence > wrong.sequence) return;
    known_.insert(wrong.sequence);
    CountFaulty(wrong.kind, findings_);
  }

  // Every acknowledged block that the final scan cannot find any more was read.
  void CheckCoverage() {
    uint64_t newest = 0;
    for (const HaAcknowledged& one : acknowledged_) newest = std::max(newest, one.last);
    if (newest <= shape_.lap_blocks) return;
    const uint64_t overwritten = newest - shape_.lap_blocks;
    std::vector<std::pair<uint64_t, uint64_t>> pieces;
    for (const HaReadings::Run& run : readings_.runs) pieces.emplace_back(run.first, run.last);
    for (const uint64_t sequence : known_) pieces.emplace_back(sequence, sequence);
    std::sort(pieces.begin(), pieces.end());
    // From where to where all were read, by the first of them.
    std::map<uint64_t, uint64_t> read;
    for (const auto& [from, to] : pieces) {
      if (!read.empty() && from <= read.rbegin()->second + 1) {
        read.rbegin()->second = std::max(read.rbegin()->second, to);
      } else {
        read.emplace(from, to);
      }
    }
    for (const HaAcknowledged& one : acknowledged_) {
      const uint64_t last = std::min(one.last, overwritten);
      if (one.last == 0 || one.first > last) continue;
      const auto after = read.upper_bound(one.first);
      const uint64_t to = after == read.begin() ? 0 : std::prev(after)->second;
      const uint64_t next = std::max(to + 1, one.first);
      if (next > last) continue;
      findings_.unknown = absl::StrCat("block ", next, " of its log was written again before it was read back");
      return;
    }
  }

  const HaReadings& readings_;
  const std::vector<HaAcknowledged>& acknowledged_;
  const HaLogShape& shape_;
  std::set<uint64_t>& known_;
  uint64_t mismatches_ = 0;
  HaLogFindings findings_;
};

class Scan {
 public:
  Scan(const v1::HaScanned& scanned, const std::vector<HaAcknowledged>& acknowledged, const HaLogShape& shape,
       const std::set<uint64_t>& known)
      : scanned_(scanned), acknowledged_(acknowledged), shape_(shape), known_(known) {
    for (const HaAcknowledged& one : acknowledged_) {
      if (one.last > 0) newest_ = one.last;
    }
  }

  HaLogFindings Run() {
    if (shape_.lap_blocks == 0 || shape_.lap_blocks > kMostPlaces) {
      findings_.unknown = "the log has a shape that cannot be checked";
      return findings_;
    }
    for (const v1::HaFaultyBlock& block : scanned_.faults().blocks()) {
      const uint64_t place =
          uint64_t{block.extent()} * shape_.extent_blocks + block.offset_bytes() / shape_.block_bytes;
      if (place < shape_.lap_blocks) faulty_.emplace(place, &block);
    }
    uint64_t next = 0;
    for (const v1::HaLogRange& range : scanned_.ranges()) {
      if (range.first_place() < next || range.blocks() > shape_.lap_blocks ||
          range.first_place() > shape_.lap_blocks - range.blocks()) {
        findings_.unknown = "the scan contradicts itself";
        return findings_;
      }
      while (next < range.first_place()) OutsideRanges(next++);
      for (uint64_t i = 0; i < range.blocks(); ++i) {
        InRange(next++, range.epoch(), range.epoch() == 0 ? 0 : range.first_sequence() + i);
      }
    }
    while (next < shape_.lap_blocks) OutsideRanges(next++);
    // What is missing although a later block is there was not written in order.
    for (const uint64_t sequence : missing_) {
      if (sequence < newest_found_) ++findings_.order_broken;
    }
    return findings_;
  }

 private:
  // The newest acknowledged block of a place; by null: none was.
  Expected ExpectedAt(uint64_t place) const {
    for (auto one = acknowledged_.rbegin(); one != acknowledged_.rend(); ++one) {
      if (one->last == 0) continue;
      const uint64_t behind = ((one->last - 1) % shape_.lap_blocks + shape_.lap_blocks - place) % shape_.lap_blocks;
      if (one->last <= behind) continue;
      const uint64_t sequence = one->last - behind;
      if (sequence < one->first || sequence + shape_.lap_blocks <= newest_) continue;
      return {sequence, &*one};
    }
    return {};
  }

  void InRange(uint64_t place, uint32_t epoch, uint64_t sequence) {
    const Expected expected = ExpectedAt(place);
    const HaAcknowledged* found = OfEpoch(acknowledged_, epoch);
    if (expected.by == nullptr) {
      if (found != nullptr && IsLate(*found, sequence)) CountLate(*found, sequence, {}, findings_);
      return;
    }
    if (epoch == expected.by->epoch && sequence == expected.sequence) {
      newest_found_ = std::max(newest_found_, sequence);
      return;
    }
    // A write that was not acknowledged went over it as the log comes round, or continued behind it.
    if (epoch >= expected.by->epoch && sequence > expected.sequence) return;
    if (known_.contains(expected.sequence)) return;
    if (found != nullptr && epoch < expected.by->epoch && IsLate(*found, sequence)) {
      return CountLate(*found, sequence, expected, findings_);
    }
    ++findings_.missing;
    missing_.push_back(expected.sequence);
  }

  void OutsideRanges(uint64_t place) {
    const Expected expected = ExpectedAt(place);
    if (expected.by == nullptr) return;
    const auto block = faulty_.find(place);
    if (block == faulty_.end()) {
      if (findings_.unknown.empty()) findings_.unknown = "the scan left out what lies in a part of the log";
      return;
    }
    const v1::HaFaultyBlock& found = *block->second;
    // The write that was to go there next, and was never acknowledged, may be torn.
    if (found.found_sequence() == expected.sequence + shape_.lap_blocks && found.found_sequence() > expected.by->last) {
      return;
    }
    if (known_.contains(expected.sequence)) return;
    const HaAcknowledged* old = OfEpoch(acknowledged_, found.found_epoch());
    if (old != nullptr && old->epoch < expected.by->epoch && IsLate(*old, found.found_sequence())) {
      return CountLate(*old, found.found_sequence(), expected, findings_);
    }
    CountFaulty(found.kind(), findings_);
  }

  const v1::HaScanned& scanned_;
  const std::vector<HaAcknowledged>& acknowledged_;
  const HaLogShape& shape_;
  const std::set<uint64_t>& known_;
  // The last block of all that was acknowledged, and the last one that was found.
  uint64_t newest_ = 0;
  uint64_t newest_found_ = 0;
  std::vector<uint64_t> missing_;
  std::map<uint64_t, const v1::HaFaultyBlock*> faulty_;
  HaLogFindings findings_;
};

}  // namespace

HaLogFindings CheckReplay(const v1::HaReplayed& replayed, uint64_t last, std::set<uint64_t>& known) {
  HaLogFindings findings;
  uint64_t faulty_in_tail = 0;
  for (const v1::HaFaultyBlock& block : replayed.faults().blocks()) {
    if (block.sequence() == 0 || block.sequence() > last) continue;
    const bool in_tail = block.sequence() > replayed.last_sequence();
    if (!in_tail && !known.insert(block.sequence()).second) continue;
    CountFaulty(block.kind(), findings);
    if (in_tail) ++faulty_in_tail;
  }
  if (last > replayed.last_sequence()) {
    const uint64_t tail = last - replayed.last_sequence();
    findings.missing += tail - std::min(tail, faulty_in_tail);
  }
  if (replayed.faults().left_out() > 0) {
    findings.unknown = absl::StrCat("reading the log left out ", replayed.faults().left_out(), " faulty blocks");
  }
  return findings;
}

void HaOverwrites::Add(const HaOverwrites& more) {
  if (blocks == 0 || more.first_sequence < first_sequence) {
    first_sequence = more.first_sequence;
    first_epoch = more.first_epoch;
  }
  blocks += more.blocks;
  in_flight += more.in_flight;
}

void HaLogFindings::Add(const HaLogFindings& more) {
  missing += more.missing;
  torn += more.torn;
  misplaced += more.misplaced;
  overwritten += more.overwritten;
  order_broken += more.order_broken;
  late += more.late;
  in_doubt_late += more.in_doubt_late;
  for (const auto& [epoch, overwrites] : more.overwritten_by) overwritten_by[epoch].Add(overwrites);
}

void HaReadings::Append(const HaReadings& more) {
  constexpr size_t kMostRuns = 100'000;
  constexpr size_t kMostWrong = 100'000;
  left_out = left_out || more.left_out;
  for (const Run& run : more.runs) {
    if (!runs.empty() && runs.back().epoch == run.epoch && runs.back().last + 1 == run.first) {
      runs.back().last = run.last;
    } else if (runs.size() < kMostRuns) {
      runs.push_back(run);
    } else {
      left_out = true;
    }
  }
  const size_t room = kMostWrong - std::min(wrong.size(), kMostWrong);
  left_out = left_out || more.wrong.size() > room;
  wrong.insert(wrong.end(), more.wrong.begin(),
               more.wrong.begin() + static_cast<std::ptrdiff_t>(std::min(more.wrong.size(), room)));
}

HaLogFindings CheckReadBack(const HaReadings& readings, const std::vector<HaAcknowledged>& acknowledged,
                            const HaLogShape& shape, std::set<uint64_t>& known) {
  return ReadBackCheck(readings, acknowledged, shape, known).Run();
}

HaLogFindings CheckScan(const v1::HaScanned& scanned, const std::vector<HaAcknowledged>& acknowledged,
                        const HaLogShape& shape, const std::set<uint64_t>& known) {
  return Scan(scanned, acknowledged, shape, known).Run();
}

}  // namespace plimsoll
