#include "controller/export/frame_blocks.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/histogram.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/analysis/step_shape.h"

namespace plimsoll {
namespace {

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

// Sums over the blocks of a frame.
struct Figures {
  uint64_t writes = 0;
  Uint128 sum_ns = 0;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
};

absl::Status AddBlock(const std::vector<TracedWrite>& writes, Figures& figures) {
  for (const TracedWrite& write : writes) {
    if (!IsSaneMoment(write.start_ns) || write.latency_ns > static_cast<uint64_t>(kMaxMomentNs)) {
      return Bad("a trace with a moment that no clock shows");
    }
    figures.sum_ns += write.latency_ns;
    figures.min_ns = std::min(figures.min_ns, write.latency_ns);
    figures.max_ns = std::max(figures.max_ns, write.latency_ns);
  }
  figures.writes += writes.size();
  return absl::OkStatus();
}

absl::Status Compare(const Figures& figures, const v1::Frame& frame) {
  const v1::Distribution& latency = frame.latency();
  const uint64_t traced = latency.count() - std::min(frame.untraced_writes(), latency.count());
  if (figures.writes != traced) {
    return Bad(absl::StrCat("its trace holds ", FormatCount(figures.writes), " writes, not ", FormatCount(traced)));
  }
  if (figures.writes == 0) return absl::OkStatus();
  const bool inside = figures.min_ns >= latency.min_ns() && figures.max_ns <= latency.max_ns();
  const bool equal = figures.min_ns == latency.min_ns() && figures.max_ns == latency.max_ns() &&
                     figures.sum_ns == static_cast<Uint128>(SumNs(latency));
  if (!inside || (frame.untraced_writes() == 0 && !equal)) return Bad("its trace has other latencies than it tells");
  return absl::OkStatus();
}

// Number of the first write of a block of a frame that has writes in no block; 0: not known.
uint64_t FirstSeq(const std::vector<TracedWrite>& block, const v1::Frame& frame) {
  if (frame.first_seq() == 0) return 0;
  if (block.front().start_ns == frame.first_start_ns()) return frame.first_seq();
  const TracedWrite& last = block.back();
  const bool is_end = last.start_ns + static_cast<int64_t>(last.latency_ns) == frame.last_end_ns();
  if (!is_end || frame.latency().count() < block.size()) return 0;
  return frame.first_seq() + frame.latency().count() - block.size();
}

}  // namespace

absl::StatusOr<std::vector<BlockContents>> ReadFrameBlocks(const v1::Frame& frame, std::vector<TracedWrite>& scratch) {
  std::vector<BlockContents> blocks;
  Figures figures;
  // Only then the numbers follow from the frame's first one.
  const bool complete = frame.untraced_writes() == 0 && frame.first_seq() != 0;
  uint64_t next_seq = complete ? frame.first_seq() : 0;
  for (const std::string& block : frame.trace()) {
    scratch.clear();
    PLIMSOLL_RETURN_IF_ERROR(DecodeTrace(block, scratch));
    if (scratch.empty()) return Bad("an empty trace block");
    PLIMSOLL_RETURN_IF_ERROR(AddBlock(scratch, figures));
    blocks.push_back({scratch.size(), complete ? next_seq : FirstSeq(scratch, frame)});
    if (complete) next_seq += scratch.size();
  }
  PLIMSOLL_RETURN_IF_ERROR(Compare(figures, frame));
  return blocks;
}

}  // namespace plimsoll
