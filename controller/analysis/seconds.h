// Everything by second of a step: what a scope wrote, the percentiles and the distribution of its latencies, without
// keeping a histogram for each second, and how far all of several hosts have come.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "plimsoll/v1/frame.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Values by second. Memory is that of the seconds that something was put into, in chunks of 64, however late they are.
template <typename T>
class BySecond {
 public:
  // The second's value, made where there is none.
  T& operator[](uint32_t second) {
    const uint32_t number = second / kChunk;
    auto found = Find(chunks_.begin(), chunks_.end(), number);
    if (found == chunks_.end() || found->first != number) {
      found = chunks_.insert(found, {number, std::make_unique<std::array<T, kChunk>>()});
    }
    return (*found->second)[second % kChunk];
  }
  // The second's value, or nothing but zeros.
  T Get(uint32_t second) const {
    const uint32_t number = second / kChunk;
    const auto found = Find(chunks_.begin(), chunks_.end(), number);
    return found == chunks_.end() || found->first != number ? T{} : (*found->second)[second % kChunk];
  }
  // Calls visit(second, value) for every second that may hold something, in order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [number, chunk] : chunks_) {
      for (uint32_t i = 0; i < kChunk; ++i) visit(number * kChunk + i, (*chunk)[i]);
    }
  }
  // Calls visit(second, value) for every second from `first` on that may hold something, in order.
  template <typename Visit>
  void ForEachFrom(uint32_t first, Visit visit) const {
    for (auto chunk = Find(chunks_.begin(), chunks_.end(), first / kChunk); chunk != chunks_.end(); ++chunk) {
      for (uint32_t i = 0; i < kChunk; ++i) {
        const uint32_t second = chunk->first * kChunk + i;
        if (second >= first) visit(second, (*chunk->second)[i]);
      }
    }
  }
  // Forgets most of the seconds below that one.
  void DropBelow(uint32_t second) {
    chunks_.erase(chunks_.begin(), Find(chunks_.begin(), chunks_.end(), second / kChunk));
  }
  // Seconds that it has room for.
  size_t capacity() const { return chunks_.size() * kChunk; }
  // Forgets most of the seconds from `first` on and below `end`; `first` <= `end`.
  void DropBetween(uint32_t first, uint32_t end) {
    const auto begin = Find(chunks_.begin(), chunks_.end(), (first + kChunk - 1) / kChunk);
    const auto last = Find(chunks_.begin(), chunks_.end(), end / kChunk);
    if (begin < last) chunks_.erase(begin, last);
  }

 private:
  static constexpr uint32_t kChunk = 64;
  using Chunk = std::pair<uint32_t, std::unique_ptr<std::array<T, kChunk>>>;

  // The first chunk that is not before `number`. Most look-ups are in the last one, or behind it.
  template <typename Iterator>
  static Iterator Find(Iterator begin, Iterator end, uint32_t number) {
    if (begin == end || (end - 1)->first < number) return end;
    if ((end - 1)->first == number) return end - 1;
    return std::lower_bound(begin, end, number, [](const Chunk& chunk, uint32_t n) { return chunk.first < n; });
  }

  std::vector<Chunk> chunks_;  // by their numbers
};

// Which time of a write: that of its system call, or the one from its scheduled start to its end.
enum class TimeKind : uint8_t { kService, kResponse };

// The times that a step has: `rated`, whether some queue manager of it has a target rate.
inline std::span<const TimeKind> TimeKindsOf(bool rated) {
  static constexpr TimeKind kBoth[] = {TimeKind::kService, TimeKind::kResponse};
  return std::span(kBoth).first(rated ? 2 : 1);
}

// Something for each of them; of a step without a rate the second one is empty.
template <typename T>
class PerTime {
 public:
  // Constructs each of the two from these arguments.
  template <typename... Arguments>
  explicit PerTime(const Arguments&... arguments) : service_(arguments...), response_(arguments...) {}
  PerTime(T service, T response) : service_(std::move(service)), response_(std::move(response)) {}
  T& operator[](TimeKind kind) { return kind == TimeKind::kService ? service_ : response_; }
  const T& operator[](TimeKind kind) const { return kind == TimeKind::kService ? service_ : response_; }

 private:
  T service_;
  T response_;
};

// The writes that completed in a range of time.
struct WriteSums {
  uint64_t writes = 0;
  // UINT64_MAX where it is more, as only response times can be.
  uint64_t latency_sum_ns = 0;
  uint64_t latency_max_ns = 0;
  uint64_t bytes = 0;

  void Merge(const WriteSums& other);
};

// Seconds [first, last] of which only the sum is known.
struct WideRange {
  uint32_t first = 0;
  uint32_t last = 0;
  bool operator==(const WideRange&) const = default;
};

// Sum and extremes, over whole seconds, of the writes or of their bytes. A wide range counts each of its seconds with
// its average.
struct SecondExtremes {
  uint32_t seconds = 0;
  uint32_t averaged_seconds = 0;
  uint64_t sum = 0;
  uint64_t min = 0;
  uint64_t max = 0;
  // The worst second has at most so many, whatever the seconds of wide ranges were.
  uint64_t most_min = 0;
};

// One row of a series: seconds [first, last] and what completed in them.
struct SeriesRow {
  uint32_t first = 0;
  uint32_t last = 0;
  WriteSums sums;
};

inline constexpr uint32_t kSecondsPerMinute = 60;

// Per-second sums of a writer, or of any number of them merged. Seconds that are long over can be aged: then only their
// minutes and extremes are kept. Not thread-safe.
class SecondSeries {
 public:
  void Add(uint32_t second, const WriteSums& sums) {
    AddSums(second, sums);
    CountFrames(1);
  }
  // The sums of one second, of frames that CountFrames counts.
  void AddSums(uint32_t second, const WriteSums& sums) {
    if (IsAged(second)) {
      aged_->minutes[second / kSecondsPerMinute].Merge(sums);
    } else {
      seconds_[second].Merge(sums);
    }
  }
  void CountFrames(uint64_t frames) { frames_ += frames; }
  // What cannot be split into seconds. `first` < `last`.
  void AddWide(uint32_t first, uint32_t last, const WriteSums& sums);
  // A series that has aged seconds is merged into an empty one only: extremes of sums do not follow from extremes.
  void Merge(const SecondSeries& other);

  // Ages seconds from `from` on, the same in all calls, and below `second`; both are multiples of 60. Nothing more
  // comes for these seconds, or Extremes does not count it. What is not over stays: the second of the last write with
  // its minute, all that follow, and those of wide ranges that reach beyond the seconds to age.
  void AgeBelow(uint32_t from, uint32_t second);
  // The series by minute: its "seconds" are minutes. A wide range that reaches into another minute is one of minutes.
  SecondSeries ByMinute() const;

  // Forgets most of what is below that second.
  void ForgetBelow(uint32_t second) {
    seconds_.DropBelow(second);
    std::erase_if(wide_, [second](const WideRange& range) { return range.last < second; });
  }

  // What completed in that second, which is not aged; what cannot be split into seconds counts in its first one.
  WriteSums At(uint32_t second) const { return seconds_.Get(second); }
  // How many frames it was made of, with writes or without.
  uint64_t frames() const { return frames_; }
  // A frame covered time in which no write completed.
  void AddSilent() { ++frames_; }
  // How many single seconds the memory is for, aged ones not counted.
  size_t capacity() const { return seconds_.capacity(); }
  // How many rows ForEachRow(seconds) makes.
  uint64_t RowCount(uint32_t seconds) const;
  // The second after the last one with a write.
  uint32_t EndSecond() const;
  // The extremes over seconds 0 ... whole_seconds - 1, of writes or, with &WriteSums::bytes, of bytes. The second of
  // the last write is not aged, so that `whole_seconds` is not below aged seconds.
  SecondExtremes Extremes(uint32_t whole_seconds, uint64_t WriteSums::* figure = &WriteSums::writes) const;
  // Rows for seconds 0 ... seconds - 1, which are not aged, zeros included; where wide ranges overlap, they are one
  // row.
  void ForEachRow(uint32_t seconds, const std::function<void(const SeriesRow&)>& visit) const;

 private:
  // Seconds [from, below): their sums by minute, and over seconds the extremes of the writes and of the bytes.
  struct Aged {
    uint32_t from = 0;
    uint32_t below = 0;
    BySecond<WriteSums> minutes;
    std::vector<WideRange> wide_minutes;
    SecondExtremes writes;
    SecondExtremes bytes;
    // By how many the rows of these seconds are fewer than the seconds.
    uint64_t joined_seconds = 0;
  };

  bool IsAged(uint32_t second) const { return aged_ && second >= aged_->from && second < aged_->below; }
  // Sorted, and joined where they overlap; those of aged seconds are not among them.
  std::vector<WideRange> JoinedRanges() const;
  // The extremes over seconds [first, end). The caller makes sure that no second in this range is aged.
  SecondExtremes ExtremesBetween(uint32_t first, uint32_t end, uint64_t WriteSums::* figure) const;

  BySecond<WriteSums> seconds_;  // a wide range's sums are at its first second
  std::vector<WideRange> wide_;
  // The aged seconds; null: no second is aged.
  std::unique_ptr<Aged> aged_;
  uint64_t frames_ = 0;
};

// Buckets of powers of 2^(1/32): b holds the values v with b <= 32 log2(v) < b + 1; 0 ns counts with 1 ns.
class Log32Buckets {
 public:
  // Above the bucket of 1 h, 1334.
  static constexpr uint32_t kCount = 1344;

  // Smallest value of a bucket, for `bucket` <= kCount: 2^(bucket/32), rounded up. Small buckets may share one.
  static uint64_t FromNs(uint32_t bucket);
  // `value_ns` <= 1 h.
  static uint32_t Of(uint64_t value_ns);
};

// The distribution of each second of a scope, in buckets of Log32Buckets: some 1 KB a second. The buckets of the
// histogram (0.1 % wide) are taken by their smallest value. Not thread-safe.
class SecondDistributions {
 public:
  // Once for each second, in any order.
  void Add(uint32_t second, const Histogram& latency);
  // Appends the second's row; one without buckets where nothing was added. `length`: of what is a second here, in
  // seconds.
  void Append(uint32_t second, v1::SecondDistributionsReport& report, uint32_t length = 1) const;

 private:
  struct Row {
    uint64_t begin = 0;
    uint32_t buckets = 0;
  };
  BySecond<Row> rows_;
  // Buckets of all rows, concatenated, and their counts.
  std::vector<uint16_t> bucket_;
  std::vector<uint64_t> count_;
};

// Marks that each host passes in order, and the last one that all of them have passed. A host that passes a mark costs
// the logarithm of the number of hosts. Not thread-safe.
class LowestMark {
 public:
  // The host takes part and has passed nothing yet. No effect where it takes part already.
  void Expect(uint32_t host) {
    if (hosts_.try_emplace(host, 0).second) ++count_[0];
  }
  // The host has passed everything below `mark`; it never goes back. No effect where it does not take part.
  void Pass(uint32_t host, int64_t mark) {
    const auto found = hosts_.find(host);
    if (found == hosts_.end() || mark <= found->second) return;
    Drop(found->second);
    found->second = mark;
    ++count_[mark];
  }
  // The host no longer takes part: no mark waits for it.
  void Leave(uint32_t host) {
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) return;
    Drop(found->second);
    hosts_.erase(found);
  }

  bool empty() const { return hosts_.empty(); }
  // Every host that takes part has passed everything below it; INT64_MAX where there is none.
  int64_t lowest() const { return count_.empty() ? INT64_MAX : count_.begin()->first; }

 private:
  void Drop(int64_t mark) {
    const auto found = count_.find(mark);
    if (--found->second == 0) count_.erase(found);
  }

  std::map<uint32_t, int64_t> hosts_;
  // How many hosts are at a mark.
  std::map<int64_t, uint32_t> count_;
};

// Percentiles of one second; all are 0 where there was no write, or where they are not known.
struct SecondQuantiles {
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
  uint64_t p99_9_ns = 0;
};

// Eight bytes a second: a percentile is kept as its bucket, and with the second's exact maximum, which the series has,
// gives the same figure as Histogram::PercentileNs. Not thread-safe.
class SecondTable {
 public:
  // All that was written in that second.
  void Close(uint32_t second, const Histogram& latency);
  bool closed(uint32_t second) const { return seconds_.Get(second).closed; }
  // Something of that second is missing: its percentiles are not known, whatever else is reported of it.
  void Spoil(uint32_t second) { seconds_[second].spoilt = true; }
  bool spoilt(uint32_t second) const { return seconds_.Get(second).spoilt; }

  // Forgets most of what is below that second.
  void ForgetBelow(uint32_t second) { seconds_.DropBelow(second); }

  // `max_ns`: the largest latency of that second.
  SecondQuantiles Get(uint32_t second, uint64_t max_ns) const;

 private:
  struct Entry {
    uint16_t p50 = 0;
    uint16_t p99 = 0;
    uint16_t p99_9 = 0;
    bool closed = false;
    bool spoilt = false;
  };
  static_assert(HistogramLayout::kBuckets <= UINT16_MAX + 1);

  BySecond<Entry> seconds_;
};

// Percentiles by second of several hosts together. A second is kept as a histogram until it is closed; what comes for a
// closed second makes that second's percentiles unknown. Not thread-safe.
class MergedPercentiles {
 public:
  // Where more than `open_seconds` are open, the oldest is closed. `keep`, which may be null and otherwise outlives the
  // object, is given the distribution of every second when it is closed.
  explicit MergedPercentiles(size_t open_seconds = 256, SecondDistributions* keep = nullptr)
      : open_seconds_(open_seconds), keep_(keep) {}

  void Add(uint32_t second, const Histogram& part);
  // Writes that were not added belong to that second: its percentiles stay unknown.
  void Spoil(uint32_t second) { table_.Spoil(second); }
  // Nothing more comes for the seconds below `second`.
  void CloseBelow(uint32_t second);
  void Finish() { CloseBelow(UINT32_MAX); }

  const SecondTable& table() const { return table_; }
  // Forgets most of what is below that second, which is closed.
  void ForgetBelow(uint32_t second) { table_.ForgetBelow(second); }
  // Quantiles of a closed second, or of what has come of an open one. `max_ns`: the largest latency of all of it.
  SecondQuantiles SoFar(uint32_t second, uint64_t max_ns) const;

 private:
  void CloseOldest();

  size_t open_seconds_;
  SecondDistributions* keep_;
  std::map<uint32_t, Histogram> open_;
  SecondTable table_;
};

// Where a host's seconds go when they are closed. A sink is null if no report has its percentiles; the others outlive
// the host.
struct PercentileSinks {
  MergedPercentiles* storage = nullptr;
  MergedPercentiles* cluster = nullptr;
  // To add a second up in, shared by all hosts: a thousand of their own would take 40 MB. Never null.
  Histogram* host_scratch = nullptr;
  Histogram* qm_scratch = nullptr;
};

// Percentiles by second of a host and of each of its writers, from their frames. A second is closed, and handed on, as
// soon as all writers have passed it. Where a host has one writer, it is added up once. Not thread-safe.
class HostPercentiles {
 public:
  static constexpr size_t kOpenSeconds = 256;

  HostPercentiles(uint32_t qms, const PercentileSinks& sinks) : sinks_(sinks), qms_(qms > 1 ? qms : 0) {}

  // Percentiles of seconds from that one on are only handed on, and not kept.
  void KeepBelow(uint32_t second) { keep_below_ = second; }
  // Adds the latencies of an open second up whenever a writer has about so many parts in it: for what is added to for
  // long.
  void AddUpEvery(size_t parts) { most_parts_ = parts * std::max<size_t>(qms_.size(), 1); }

  // Adds latencies of writer `qm`, from 1.
  void Add(uint32_t qm, uint32_t second, const v1::Distribution& latency);
  // Writes of that writer are not known by second.
  void Spoil(uint32_t qm, uint32_t second);
  // Every writer has passed the seconds below `second`.
  void CloseBelow(uint32_t second);
  void Finish() { CloseBelow(UINT32_MAX); }
  // Forgets most of what is below that second, which is closed.
  void ForgetBelow(uint32_t second) {
    host_.ForgetBelow(second);
    for (SecondTable& qm : qms_) qm.ForgetBelow(second);
  }

  const SecondTable& host() const { return host_; }
  const SecondTable& qm(uint32_t qm) const { return qm >= 1 && qm <= qms_.size() ? qms_[qm - 1] : host_; }

 private:
  struct Part {
    uint32_t qm = 0;
    v1::Distribution latency;
  };
  void CloseOldest();
  // Makes each writer's parts of that second a single one.
  void AddUpParts(uint32_t second, std::vector<Part>& parts);
  // Adds up [first, last) in `sum`; false where something could not be added.
  static bool AddUp(std::vector<Part>::const_iterator first, std::vector<Part>::const_iterator last, Histogram& sum);

  PercentileSinks sinks_;
  std::map<uint32_t, std::vector<Part>> open_;
  SecondTable host_;
  // Empty where there is one writer: it is the host.
  std::vector<SecondTable> qms_;
  uint32_t keep_below_ = UINT32_MAX;
  size_t most_parts_ = SIZE_MAX;
};

// Adds up what hosts hand on, and closes a second when all hosts that still run have passed it. A storage is added up
// only where it has several hosts and not all of them: its one host's seconds, or the cluster's, are its own. Not
// thread-safe.
class StepPercentiles {
 public:
  // `keep_seconds`: the distribution of every second of the cluster is kept.
  explicit StepPercentiles(bool keep_seconds);
  StepPercentiles(const StepPercentiles&) = delete;
  StepPercentiles& operator=(const StepPercentiles&) = delete;

  // The hosts that were ordered to start, each with its storage (0: not known). Where hosts are armed again, the first
  // call decides about the storages.
  void Expect(const std::map<uint32_t, uint32_t>& storage_of_host);
  // Where the host hands its seconds on, for as long as the object lives.
  PercentileSinks SinksOf(uint32_t host);
  // The host has handed on all seconds below `second`.
  void Pass(uint32_t host, uint32_t second);
  // The host has handed on all that it ever will.
  void Leave(uint32_t host);
  // All hosts have.
  void Finish();
  // Forgets most of what is below that second, which all hosts have passed.
  void ForgetBelow(uint32_t second) {
    cluster_.ForgetBelow(second);
    for (const Shared& storage : storages_) storage.merged->ForgetBelow(second);
  }

  // All hosts that still run have passed the seconds below it; INT64_MAX: none runs.
  int64_t passed_seconds() const { return passed_.lowest(); }

  const SecondTable& cluster() const { return cluster_.table(); }
  // The cluster's second, also while hosts have not passed it.
  SecondQuantiles ClusterSoFar(uint32_t second, uint64_t max_ns) const { return cluster_.SoFar(second, max_ns); }
  // Seconds of a storage with exactly these hosts; null where none was added up.
  const SecondTable* Storage(const std::set<uint32_t>& hosts) const;
  bool keeps_seconds() const { return keeps_seconds_; }
  // The cluster's seconds; empty unless they are kept.
  const SecondDistributions& seconds() const { return seconds_; }

 private:
  struct Shared {
    std::set<uint32_t> hosts;
    std::unique_ptr<MergedPercentiles> merged;
  };
  void ClosePassed();

  const bool keeps_seconds_;
  SecondDistributions seconds_;
  MergedPercentiles cluster_;
  std::vector<Shared> storages_;
  bool storages_set_ = false;
  LowestMark passed_;
  Histogram host_scratch_;
  Histogram qm_scratch_;
};

}  // namespace plimsoll
