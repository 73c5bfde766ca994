// Which pages and calls a record, a message or a transaction of a restart takes. Functions of numbers alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/page_stamp.h"

namespace plimsoll {

// Largest number of records, messages or transactions of a trial: products of two of them fit in 64 bits.
inline constexpr uint64_t kMostRestartItems = 1'000'000'000;

// Pages that so many bytes take.
constexpr uint64_t PagesOfBytes(uint64_t bytes) {
  return bytes / kStampedPageBytes + (bytes % kStampedPageBytes == 0 ? 0 : 1);
}

// Consecutive pages of one queue file.
struct QueueRange {
  uint32_t queue = 0;  // from 0
  uint64_t first = 0;  // page of the file, from 0
  uint64_t pages = 0;
  bool operator==(const QueueRange&) const = default;
};

// Records or messages of equal size that are dealt to the queues in turn: item i goes to queue i modulo their number,
// right behind the item that this queue got before.
class DealtItems {
 public:
  // `area_offset`: where the messages begin in each queue file.
  constexpr DealtItems(uint32_t queues, uint64_t area_offset, uint64_t item_bytes)
      : queues_(queues), area_offset_(area_offset), item_bytes_(item_bytes) {}

  // The pages that hold the item's bytes, as a range of whole pages.
  constexpr QueueRange PagesOf(uint64_t item) const {
    const uint64_t begin = area_offset_ + item / queues_ * item_bytes_;
    const uint64_t first = begin / kStampedPageBytes;
    return {static_cast<uint32_t>(item % queues_), first, PagesOfBytes(begin + item_bytes_) - first};
  }
  // The page that holds the item's first byte.
  constexpr QueueRange FirstPageOf(uint64_t item) const {
    const uint64_t begin = area_offset_ + item / queues_ * item_bytes_;
    return {static_cast<uint32_t>(item % queues_), begin / kStampedPageBytes, 1};
  }
  // Pages that an item can take at most, wherever it begins.
  constexpr uint64_t MostPages() const { return PagesOfBytes(item_bytes_) + 1; }

  // Whether the first `items` items fit in `area_bytes` of each queue file.
  constexpr bool Fit(uint64_t items, uint64_t area_bytes) const {
    const uint64_t of_one_queue = items / queues_ + (items % queues_ == 0 ? 0 : 1);
    return item_bytes_ == 0 || of_one_queue <= area_bytes / item_bytes_;
  }

 private:
  uint64_t queues_;
  uint64_t area_offset_;
  uint64_t item_bytes_;
};

// How many calls to queue files each log record takes, for an average that need not be a whole number: record i takes
// floor((i + 1) * average) - floor(i * average) calls.
//
// The average is rounded to millionths once, so that 2.4 is 2.4 and not the nearest binary fraction, which is smaller.
// From there on all arithmetic is in whole numbers: n records take floor(n * average) calls, for every n.
class RoundTrips {
 public:
  static constexpr double kLeast = 0.001;
  static constexpr double kMost = 1000;

  // `average` is in [kLeast, kMost].
  explicit RoundTrips(double average) : millionths_(static_cast<uint64_t>(std::llround(average * 1e6))) {}

  // Calls of all records before `record`, which is at most kMostRestartItems.
  constexpr uint64_t Before(uint64_t record) const {
    return record * (millionths_ / kMillion) + record * (millionths_ % kMillion) / kMillion;
  }
  constexpr uint64_t Of(uint64_t record) const { return Before(record + 1) - Before(record); }

 private:
  static constexpr uint64_t kMillion = 1'000'000;

  uint64_t millionths_;
};

// Of `parts` events that are spread evenly over `all` steps, the number that is due after the first `done` steps. No
// argument is above kMostRestartItems.
constexpr uint64_t PartsDue(uint64_t done, uint64_t all, uint64_t parts) {
  return done * parts / all;
}

// Bytes of the record that backing out a transaction writes to the log, in whole pages: 1000, and 12 for each of its
// messages; 1 MiB at most.
inline constexpr uint64_t kMostRollbackRecordBytes = uint64_t{1} << 20;
constexpr uint64_t RollbackRecordBytes(uint64_t messages, uint64_t transactions) {
  return std::min(PagesOfBytes(1000 + 12 * (messages / transactions)) * kStampedPageBytes, kMostRollbackRecordBytes);
}

// The pages of many records, merged into ranges, each of which is read and written in one call.
class RedoBatch {
 public:
  // 64 MiB.
  static constexpr uint64_t kMostPages = (uint64_t{64} << 20) / kStampedPageBytes;
  // 1 MiB.
  static constexpr uint64_t kMostPagesOfCall = (uint64_t{1} << 20) / kStampedPageBytes;

  // `most_pages`: pages of the largest record. All memory is allocated here.
  explicit RedoBatch(uint64_t most_pages);

  // Whether the record's pages fit in the batch. A batch takes at least one record, however large it is.
  bool Fits(const QueueRange& pages) const { return added_.empty() || pages_ + pages.pages <= kMostPages; }
  void Add(const QueueRange& pages) {
    added_.push_back(pages);
    pages_ += pages.pages;
  }
  bool empty() const { return added_.empty(); }

  // The batch's pages in the order of queues and places, each page once; neighbours are one range, which is cut after
  // kMostPagesOfCall. Empties the batch. The result is valid until the next call. Some 2 ms for a full batch of small
  // records: it sorts.
  const std::vector<QueueRange>& Merge();

 private:
  std::vector<QueueRange> added_;
  std::vector<QueueRange> merged_;
  // Of all that was added; a page that was added twice counts twice.
  uint64_t pages_ = 0;
};

}  // namespace plimsoll
