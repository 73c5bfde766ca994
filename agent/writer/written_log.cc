#include "agent/writer/written_log.h"

#include <algorithm>

#include "common/page_stamp.h"

namespace plimsoll {
namespace {

// Places that a run may have changed: the first so many.
uint64_t TouchedPlaces(const WrittenRun& run, const ExtentLayout& layout) {
  return std::min(run.acknowledged + (run.open_write ? 1 : 0), layout.blocks_per_lap());
}

std::vector<uint64_t> SizesOf(const WrittenLog& log, size_t runs) {
  std::vector<uint64_t> sizes = LogFiles::ChunkSizes(log.file_size_bytes);
  for (size_t run = 0; run < runs; ++run) sizes.push_back(log.runs[run].block_bytes);
  return sizes;
}

}  // namespace

uint64_t WrittenLog::LastWriteTo(const WrittenRun& run, uint64_t place) const {
  if (run.acknowledged <= place) return 0;
  const uint64_t lap = LayoutOf(run).blocks_per_lap();
  return (run.acknowledged - 1 - place) / lap * lap + place + 1;
}

void WrittenLog::Add(const WrittenRun& run) {
  const ExtentLayout layout = LayoutOf(run);
  const uint64_t written = std::min(run.acknowledged, layout.blocks_per_lap());
  while (!runs.empty() && runs.back().block_bytes == run.block_bytes && TouchedPlaces(runs.back(), layout) <= written) {
    runs.pop_back();
  }
  runs.push_back(run);
}

LogContents::LogContents(const WrittenLog& log, size_t runs)
    : log_(log), runs_(runs), source_(log.identity, SizesOf(log, runs)) {}

LogContents::Piece LogContents::At(uint32_t extent, uint64_t offset_bytes, uint64_t most_bytes) {
  uint64_t end_bytes = std::min(offset_bytes + most_bytes, log_.file_size_bytes);
  // The newest run first. Each has written the beginning of the extent, as far as it got.
  for (size_t number = runs_; number > 0; --number) {
    const WrittenRun& run = log_.runs[number - 1];
    const ExtentLayout layout = log_.LayoutOf(run);
    if (run.open_write) {
      const BlockPlace open = layout.PlaceOf(run.acknowledged);
      const uint64_t open_end_bytes = open.offset_bytes + run.block_bytes;
      if (open.extent == extent && offset_bytes < open_end_bytes) {
        if (offset_bytes >= open.offset_bytes)
          return {.size_bytes = std::min(end_bytes, open_end_bytes) - offset_bytes};
        end_bytes = std::min(end_bytes, open.offset_bytes);
      }
    }
    const uint64_t in_extent = offset_bytes / run.block_bytes;
    if (in_extent >= layout.blocks_per_extent()) continue;
    const uint64_t sequence = log_.LastWriteTo(run, extent * layout.blocks_per_extent() + in_extent);
    if (sequence == 0) continue;
    return PartOf({in_extent * run.block_bytes, run.block_bytes, sequence}, &run, offset_bytes, end_bytes);
  }
  const uint64_t chunks = (log_.file_size_bytes + LogFiles::kChunkBytes - 1) / LogFiles::kChunkBytes;
  const uint64_t chunk = offset_bytes / LogFiles::kChunkBytes;
  const uint64_t begin_bytes = chunk * LogFiles::kChunkBytes;
  return PartOf(
      {begin_bytes, std::min(LogFiles::kChunkBytes, log_.file_size_bytes - begin_bytes), extent * chunks + chunk + 1},
      nullptr, offset_bytes, end_bytes);
}

LogContents::Piece LogContents::PartOf(const Write& write, const WrittenRun* run, uint64_t offset_bytes,
                                       uint64_t end_bytes) {
  const uint64_t within = offset_bytes - write.offset_bytes;
  uint64_t size_bytes = std::min(end_bytes, write.offset_bytes + write.size_bytes) - offset_bytes;
  const uint64_t rest = write.size_bytes % kStampedPageBytes;
  if (const uint64_t stamped = write.size_bytes - rest; rest > 0 && rest < kStampBytes) {
    if (within >= stamped) return {.size_bytes = size_bytes};
    size_bytes = std::min(size_bytes, stamped - within);
  }
  if (made_ == nullptr || made_of_ != run || made_sequence_ != write.sequence) {
    if (run == nullptr) {
      source_.StartEpoch(0, std::min(log_.file_size_bytes, LogFiles::kChunkBytes), 1);
      made_ = source_.NextOfSize(write.sequence, write.size_bytes);
    } else {
      source_.StartEpoch(run->epoch, run->block_bytes, log_.LayoutOf(*run).blocks_per_lap());
      made_ = source_.Repeat(write.sequence);
    }
    made_of_ = run;
    made_sequence_ = write.sequence;
  }
  return {.size_bytes = size_bytes,
          .bytes = made_ + within,
          .epoch = run == nullptr ? 0 : run->epoch,
          .sequence = write.sequence};
}

}  // namespace plimsoll
