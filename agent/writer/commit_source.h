// What a writer writes next where clients' commits gather into log writes, and which of them each write completes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "agent/writer/block_source.h"
#include "agent/writer/commit_model.h"
#include "agent/writer/log_files.h"
#include "agent/writer/log_source.h"
#include "common/page_stamp.h"

namespace plimsoll {

// The writes of a CommitModel, at their places in the extents. The writer and its tally walk a copy each, and agree as
// long as both take the ends of the writes. Not thread-safe.
class CommitWalk {
 public:
  struct Write {
    BlockPlace place;
    uint64_t bytes = 0;
    // How often the walk has begun the first extent again, and the page of the extents with which the write begins, or
    // which it copies.
    uint64_t lap = 0;
    uint64_t page = 0;
  };

  // The last page of each extent is where copies of partly filled pages go: MQ's place for them is not public.
  CommitWalk(const CommitLoad& load, const ExtentLayout& layout, int64_t start_ns)
      : model_(WithExtents(load, layout), start_ns),
        log_pages_(LogPages(load, layout)),
        extent_pages_(layout.file_size_bytes() / kLogPageBytes),
        num_files_(layout.num_files()) {}

  // CommitModel::NextStart.
  int64_t NextStart() const { return model_.NextStart(); }

  // Returns the next write, which is settled at NextStart().
  Write Next() {
    const CommitModel::Write write = model_.Begin();
    const uint64_t extent = write.first_page / log_pages_;
    const uint64_t page = write.first_page % log_pages_;
    const auto in_lap = static_cast<uint32_t>(extent % num_files_);
    return {{in_lap, (write.is_copy ? extent_pages_ - 1 : page) * kLogPageBytes},
            write.pages * kLogPageBytes,
            extent / num_files_,
            uint64_t{in_lap} * extent_pages_ + page};
  }

  // CommitModel::End.
  template <typename Take>
  void End(int64_t end_ns, Take&& take) {
    model_.End(end_ns, take);
  }
  // CommitModel::ForEachWaiting.
  template <typename Take>
  void ForEachWaiting(int64_t end_ns, Take&& take) const {
    model_.ForEachWaiting(end_ns, take);
  }

  // Bytes of the largest write.
  static uint64_t MostBytes(const CommitLoad& load, const ExtentLayout& layout) {
    return std::min(load.buffer_pages, LogPages(load, layout)) * kLogPageBytes;
  }

 private:
  static uint64_t LogPages(const CommitLoad& load, const ExtentLayout& layout) {
    return layout.file_size_bytes() / kLogPageBytes - (load.copies_partial_pages ? 1 : 0);
  }
  static CommitLoad WithExtents(CommitLoad load, const ExtentLayout& layout) {
    load.extent_pages = LogPages(load, layout);
    return load;
  }

  CommitModel model_;
  const uint64_t log_pages_;
  const uint64_t extent_pages_;
  const uint64_t num_files_;
};

// The blocks of one step of one writer, as LogSource has them. Not thread-safe.
class CommitSource {
 public:
  // `blocks` makes the bytes, knows the size of the largest write, and must outlive the object.
  CommitSource(const CommitLoad& load, const ExtentLayout& layout, uint32_t epoch, int64_t start_ns,
               BlockSource& blocks)
      : walk_(load, layout, start_ns), blocks_(blocks) {
    blocks_.StartEpoch(epoch, CommitWalk::MostBytes(load, layout), layout.blocks_per_lap());
  }

  // Number of the block that Next has returned last, from 1.
  uint64_t sequence() const { return sequence_; }
  // When the next block may be written, in the order NextStart, Next, End.
  int64_t NextStart() const { return walk_.NextStart(); }
  // Returns the next block. Its bytes are valid until the next call.
  LogSource::Block Next() {
    const CommitWalk::Write write = walk_.Next();
    return {write.place, blocks_.AtPage(++sequence_, write.bytes, write.lap, write.page), write.bytes, 0};
  }
  template <typename Take>
  void End(int64_t end_ns, Take&& take) {
    walk_.End(end_ns, take);
  }

 private:
  CommitWalk walk_;
  BlockSource& blocks_;
  uint64_t sequence_ = 0;
};

static_assert(kLogPageBytes == kStampedPageBytes);

}  // namespace plimsoll
