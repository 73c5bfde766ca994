#include "controller/analysis/seconds.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "common/algorithm.h"
#include "common/integers.h"

namespace plimsoll {

void WriteSums::Merge(const WriteSums& other) {
  writes += other.writes;
  latency_sum_ns = SaturatingAdd(latency_sum_ns, other.latency_sum_ns);
  latency_max_ns = std::max(latency_max_ns, other.latency_max_ns);
  bytes += other.bytes;
}

void SecondSeries::AddWide(uint32_t first, uint32_t last, const WriteSums& sums) {
  AddSums(first, sums);
  ++frames_;
  if (!IsAged(first)) {
    wide_.push_back({first, last});
  } else if (first / kSecondsPerMinute != last / kSecondsPerMinute) {
    aged_->wide_minutes.push_back({first / kSecondsPerMinute, last / kSecondsPerMinute});
  }
}

void SecondSeries::Merge(const SecondSeries& other) {
  other.seconds_.ForEach([this, &other](uint32_t second, const WriteSums& sums) {
    if (sums.writes > 0 && !other.IsAged(second)) seconds_[second].Merge(sums);
  });
  wide_.insert(wide_.end(), other.wide_.begin(), other.wide_.end());
  frames_ += other.frames_;
  if (!other.aged_) return;
  const Aged& from = *other.aged_;
  aged_ = std::make_unique<Aged>();
  aged_->from = from.from;
  aged_->below = from.below;
  from.minutes.ForEach([this](uint32_t minute, const WriteSums& sums) {
    if (sums.writes > 0) aged_->minutes[minute].Merge(sums);
  });
  aged_->wide_minutes = from.wide_minutes;
  aged_->writes = from.writes;
  aged_->bytes = from.bytes;
  aged_->joined_seconds = from.joined_seconds;
}

namespace {

constexpr SecondExtremes kNoSeconds = {.min = UINT64_MAX, .most_min = UINT64_MAX};

void JoinExtremes(const SecondExtremes& other, SecondExtremes& extremes) {
  extremes.seconds += other.seconds;
  extremes.averaged_seconds += other.averaged_seconds;
  extremes.sum += other.sum;
  extremes.min = std::min(extremes.min, other.min);
  extremes.max = std::max(extremes.max, other.max);
  extremes.most_min = std::min(extremes.most_min, other.most_min);
}

uint32_t MinuteStart(uint32_t second) {
  return second / kSecondsPerMinute * kSecondsPerMinute;
}

}  // namespace

void SecondSeries::AgeBelow(uint32_t from, uint32_t second) {
  uint32_t begin = aged_ ? aged_->below : from;
  if (second <= begin) return;
  uint32_t last_write = 0;
  seconds_.ForEachFrom(begin, [&last_write](uint32_t number, const WriteSums& sums) {
    if (sums.writes > 0) last_write = number;
  });
  uint32_t end = std::min(second, MinuteStart(last_write));
  const std::vector<WideRange> ranges = JoinedRanges();
  // The last range first: what stays for one range's sake may be in the one before it.
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    if (range->first < end && end <= range->last) end = MinuteStart(range->first);
  }
  for (const WideRange& range : ranges) {
    if (range.first < begin && begin <= range.last) begin = range.last + 1;
  }
  if (end <= begin) return;

  if (!aged_) {
    aged_ = std::make_unique<Aged>();
    aged_->from = begin;
    aged_->below = begin;
    aged_->writes = kNoSeconds;
    aged_->bytes = kNoSeconds;
  }
  JoinExtremes(ExtremesBetween(begin, end, &WriteSums::writes), aged_->writes);
  JoinExtremes(ExtremesBetween(begin, end, &WriteSums::bytes), aged_->bytes);
  seconds_.ForEachFrom(begin, [this, end](uint32_t number, const WriteSums& sums) {
    if (number < end && sums.writes > 0) aged_->minutes[number / kSecondsPerMinute].Merge(sums);
  });
  for (const WideRange& range : ranges) {
    if (range.first < begin || range.first >= end) continue;
    aged_->joined_seconds += range.last - range.first;
    if (range.first / kSecondsPerMinute == range.last / kSecondsPerMinute) continue;
    aged_->wide_minutes.push_back({range.first / kSecondsPerMinute, range.last / kSecondsPerMinute});
  }
  std::erase_if(wide_, [begin, end](const WideRange& range) { return range.first >= begin && range.first < end; });
  // Everything that is aged is dropped, not the last minute alone: a chunk is longer than a minute.
  seconds_.DropBetween(aged_->from, end);
  aged_->below = end;
}

SecondSeries SecondSeries::ByMinute() const {
  SecondSeries minutes;
  if (aged_) {
    aged_->minutes.ForEach([&minutes](uint32_t minute, const WriteSums& sums) {
      if (sums.writes > 0) minutes.AddSums(minute, sums);
    });
    minutes.wide_ = aged_->wide_minutes;
  }
  seconds_.ForEach([this, &minutes](uint32_t second, const WriteSums& sums) {
    if (sums.writes > 0 && !IsAged(second)) minutes.AddSums(second / kSecondsPerMinute, sums);
  });
  for (const WideRange& range : JoinedRanges()) {
    const WideRange of_minutes{range.first / kSecondsPerMinute, range.last / kSecondsPerMinute};
    if (of_minutes.first != of_minutes.last) minutes.wide_.push_back(of_minutes);
  }
  minutes.frames_ = frames_;
  return minutes;
}

uint64_t SecondSeries::RowCount(uint32_t seconds) const {
  uint64_t rows = seconds;
  for (const WideRange& range : JoinedRanges()) {
    if (range.first < seconds) rows -= std::min(range.last, seconds - 1) - range.first;
  }
  return aged_ ? rows - std::min(rows, aged_->joined_seconds) : rows;
}

uint32_t SecondSeries::EndSecond() const {
  uint32_t end = 0;
  seconds_.ForEach([&end](uint32_t second, const WriteSums& sums) {
    if (sums.writes > 0) end = second + 1;
  });
  for (const WideRange& range : wide_) end = std::max(end, range.last + 1);
  return end;
}

std::vector<WideRange> SecondSeries::JoinedRanges() const {
  std::vector<WideRange> ranges = wide_;
  std::sort(ranges.begin(), ranges.end(), [](const WideRange& a, const WideRange& b) { return a.first < b.first; });
  std::vector<WideRange> joined;
  for (const WideRange& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().last) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

SecondExtremes SecondSeries::Extremes(uint32_t whole_seconds, uint64_t WriteSums::* figure) const {
  SecondExtremes extremes;
  if (whole_seconds == 0) return extremes;
  extremes = kNoSeconds;
  if (aged_) {
    JoinExtremes(ExtremesBetween(0, std::min(whole_seconds, aged_->from), figure), extremes);
    JoinExtremes(figure == &WriteSums::bytes ? aged_->bytes : aged_->writes, extremes);
    JoinExtremes(ExtremesBetween(aged_->below, whole_seconds, figure), extremes);
  } else {
    JoinExtremes(ExtremesBetween(0, whole_seconds, figure), extremes);
  }
  extremes.seconds = whole_seconds;
  return extremes;
}

SecondExtremes SecondSeries::ExtremesBetween(uint32_t first, uint32_t end, uint64_t WriteSums::* figure) const {
  SecondExtremes extremes = kNoSeconds;
  if (end <= first) return extremes;
  extremes.seconds = end - first;
  std::vector<WideRange> ranges = JoinedRanges();
  std::erase_if(ranges, [first](const WideRange& range) { return range.first < first; });
  std::vector<uint64_t> range_sums(ranges.size());
  uint64_t seen = 0;
  const auto take = [&extremes](uint64_t value) {
    extremes.min = std::min(extremes.min, value);
    extremes.max = std::max(extremes.max, value);
    extremes.most_min = std::min(extremes.most_min, value);
  };
  size_t next = 0;
  seconds_.ForEachFrom(first, [&](uint32_t second, const WriteSums& sums) {
    while (next < ranges.size() && ranges[next].last < second) ++next;
    if (next < ranges.size() && ranges[next].first <= second) {
      range_sums[next] += sums.*figure;
      return;
    }
    if (second >= end) return;
    ++seen;
    extremes.sum += sums.*figure;
    take(sums.*figure);
  });
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].first >= end) break;
    // A range that reaches beyond the last whole second is shared out evenly; nothing better is known.
    const uint64_t length = ranges[i].last - ranges[i].first + 1;
    const uint32_t inside = std::min(ranges[i].last, end - 1) - ranges[i].first + 1;
    extremes.sum += range_sums[i] / length * inside + range_sums[i] % length * inside / length;
    extremes.averaged_seconds += inside;
    const uint64_t most_of_worst = std::min(extremes.most_min, range_sums[i] / inside);
    take(range_sums[i] / length);
    extremes.most_min = most_of_worst;
    seen += inside;
  }
  if (seen < end - first) take(0);
  return extremes;
}

void SecondSeries::ForEachRow(uint32_t seconds, const std::function<void(const SeriesRow&)>& visit) const {
  const std::vector<WideRange> ranges = JoinedRanges();
  size_t next = 0;
  for (uint32_t second = 0; second < seconds; ++second) {
    SeriesRow row{second, second, seconds_.Get(second)};
    if (next < ranges.size() && ranges[next].first == second) {
      row.last = ranges[next].last;
      while (second < row.last) row.sums.Merge(seconds_.Get(++second));
      ++next;
    }
    visit(row);
  }
}

namespace {

using Edges = std::array<uint64_t, Log32Buckets::kCount + 1>;

// No 2^(b/32) below 2^42 but the powers of two themselves comes closer to a whole number than a long double can resolve
// (a test looks at each of them with whole numbers alone), so that rounding up is exact.
Edges MakeEdges() {
  Edges edges{};
  for (uint32_t b = 0; b < edges.size(); ++b) {
    const uint64_t octave = uint64_t{1} << (b / 32);
    edges[b] = b % 32 == 0 ? octave
                           : static_cast<uint64_t>(std::ceil(static_cast<long double>(octave) *
                                                             std::exp2(static_cast<long double>(b % 32) / 32)));
  }
  return edges;
}

const Edges& AllEdges() {
  static const Edges edges = MakeEdges();
  return edges;
}

}  // namespace

uint64_t Log32Buckets::FromNs(uint32_t bucket) {
  return AllEdges()[bucket];
}

uint32_t Log32Buckets::Of(uint64_t value_ns) {
  const Edges& edges = AllEdges();
  // The value's octave holds 32 edges, those of the octave below do not reach it.
  const auto octave = static_cast<uint32_t>(63 - std::countl_zero(value_ns | 1));
  const auto first = edges.begin() + octave * 32;
  const auto last = edges.begin() + std::min<size_t>(octave * size_t{32} + 32, edges.size());
  const auto above = std::upper_bound(first, last, std::max<uint64_t>(value_ns, 1));
  return static_cast<uint32_t>(above - edges.begin()) - 1;
}

void SecondDistributions::Add(uint32_t second, const Histogram& latency) {
  Row& row = rows_[second];
  row.begin = bucket_.size();
  latency.ForEachBucket([this, &row](uint64_t lowest_ns, uint64_t count) {
    const auto bucket = static_cast<uint16_t>(Log32Buckets::Of(lowest_ns));
    if (row.buckets > 0 && bucket_.back() == bucket) {
      count_.back() += count;
      return;
    }
    bucket_.push_back(bucket);
    count_.push_back(count);
    ++row.buckets;
  });
}

void SecondDistributions::Append(uint32_t second, v1::SecondDistributionsReport& report, uint32_t length) const {
  const Row row = rows_.Get(second);
  report.add_second(second * length);
  report.add_buckets(row.buckets);
  for (uint64_t i = row.begin; i < row.begin + row.buckets; ++i) {
    report.add_bucket(bucket_[i]);
    report.add_count(count_[i]);
  }
}

namespace {

using Layout = HistogramLayout;

constexpr std::array<double, 3> kQuantiles = {50, 99, 99.9};

uint32_t BucketOf(uint64_t value_ns) {
  return Layout::IndexOf(std::min(value_ns, Layout::kMaxValueNs));
}

// Buckets of all quantiles in one walk. `latency` is not empty.
std::array<uint16_t, kQuantiles.size()> QuantileBuckets(const Histogram& latency) {
  std::array<uint16_t, kQuantiles.size()> buckets{};
  std::array<uint64_t, kQuantiles.size()> ranks{};
  for (size_t i = 0; i < ranks.size(); ++i) ranks[i] = PercentileRank(latency.count(), kQuantiles[i]);
  uint64_t seen = 0;
  size_t next = 0;
  const uint32_t last = BucketOf(latency.max_ns());
  for (uint32_t i = BucketOf(latency.min_ns()); i <= last && next < kQuantiles.size(); ++i) {
    seen += latency.CountAt(i);
    while (next < kQuantiles.size() && seen >= ranks[next]) buckets[next++] = static_cast<uint16_t>(i);
  }
  return buckets;
}

// In the bucket of the maximum nothing is above it; all other values lie in buckets of their own below.
uint64_t ValueOf(uint16_t bucket, uint64_t max_ns) {
  return bucket == BucketOf(max_ns) ? max_ns : Layout::HighestNs(bucket);
}

}  // namespace

void SecondTable::Close(uint32_t second, const Histogram& latency) {
  Entry& entry = seconds_[second];
  entry.closed = true;
  if (latency.count() == 0) return;
  const auto buckets = QuantileBuckets(latency);
  entry.p50 = buckets[0];
  entry.p99 = buckets[1];
  entry.p99_9 = buckets[2];
}

SecondQuantiles SecondTable::Get(uint32_t second, uint64_t max_ns) const {
  const Entry entry = seconds_.Get(second);
  if (!entry.closed || entry.spoilt) return {};
  return {ValueOf(entry.p50, max_ns), ValueOf(entry.p99, max_ns), ValueOf(entry.p99_9, max_ns)};
}

void MergedPercentiles::Add(uint32_t second, const Histogram& part) {
  if (table_.closed(second)) return Spoil(second);
  open_[second].Merge(part);
  while (open_.size() > open_seconds_) CloseOldest();
}

SecondQuantiles MergedPercentiles::SoFar(uint32_t second, uint64_t max_ns) const {
  const auto open = open_.find(second);
  if (open == open_.end() || table_.spoilt(second)) return table_.Get(second, max_ns);
  const Histogram& latency = open->second;
  return {latency.PercentileNs(50), latency.PercentileNs(99), latency.PercentileNs(99.9)};
}

void MergedPercentiles::CloseBelow(uint32_t second) {
  while (!open_.empty() && open_.begin()->first < second) CloseOldest();
}

void MergedPercentiles::CloseOldest() {
  const auto oldest = open_.begin();
  table_.Close(oldest->first, oldest->second);
  if (keep_ != nullptr) keep_->Add(oldest->first, oldest->second);
  open_.erase(oldest);
}

void HostPercentiles::Add(uint32_t qm, uint32_t second, const v1::Distribution& latency) {
  if (latency.count() == 0) return;
  if (host_.closed(second)) return Spoil(qm, second);
  std::vector<Part>& parts = open_[second];
  parts.push_back({qm, latency});
  if (parts.size() > most_parts_) AddUpParts(second, parts);
  while (open_.size() > kOpenSeconds) CloseOldest();
}

void HostPercentiles::AddUpParts(uint32_t second, std::vector<Part>& parts) {
  StableSort(parts, [](const Part& a, const Part& b) { return a.qm < b.qm; });
  std::vector<Part> sums;
  Histogram& one = *sinks_.qm_scratch;
  for (auto first = parts.cbegin(); first != parts.cend();) {
    const uint32_t qm = first->qm;
    const auto last = std::find_if(first, parts.cend(), [qm](const Part& part) { return part.qm != qm; });
    if (!AddUp(first, last, one)) Spoil(qm, second);
    sums.push_back({qm, one.ToProto()});
    first = last;
  }
  parts = std::move(sums);
}

void HostPercentiles::Spoil(uint32_t qm, uint32_t second) {
  if (second < keep_below_) {
    if (qm >= 1 && qm <= qms_.size()) qms_[qm - 1].Spoil(second);
    host_.Spoil(second);
  }
  if (sinks_.storage != nullptr) sinks_.storage->Spoil(second);
  if (sinks_.cluster != nullptr) sinks_.cluster->Spoil(second);
}

void HostPercentiles::CloseBelow(uint32_t second) {
  while (!open_.empty() && open_.begin()->first < second) CloseOldest();
}

bool HostPercentiles::AddUp(std::vector<Part>::const_iterator first, std::vector<Part>::const_iterator last,
                            Histogram& sum) {
  bool whole = true;
  sum.Clear();
  for (; first != last; ++first) whole = sum.Merge(first->latency).ok() && whole;
  return whole;
}

void HostPercentiles::CloseOldest() {
  const auto oldest = open_.begin();
  const uint32_t second = oldest->first;
  std::vector<Part>& parts = oldest->second;
  const bool kept = second < keep_below_;
  Histogram& all = *sinks_.host_scratch;
  if (qms_.empty()) {
    if (!AddUp(parts.cbegin(), parts.cend(), all)) Spoil(1, second);
  } else {
    all.Clear();
    StableSort(parts, [](const Part& a, const Part& b) { return a.qm < b.qm; });
    for (auto first = parts.cbegin(); first != parts.cend();) {
      const uint32_t qm = first->qm;
      const auto last = std::find_if(first, parts.cend(), [qm](const Part& part) { return part.qm != qm; });
      Histogram& one = *sinks_.qm_scratch;
      if (!AddUp(first, last, one)) Spoil(qm, second);
      if (kept && qm >= 1 && qm <= qms_.size()) qms_[qm - 1].Close(second, one);
      all.Merge(one);
      first = last;
    }
  }
  if (kept) host_.Close(second, all);
  if (sinks_.storage != nullptr) sinks_.storage->Add(second, all);
  if (sinks_.cluster != nullptr) sinks_.cluster->Add(second, all);
  open_.erase(oldest);
}

namespace {

// Histograms that the cluster, and all storages together, keep open: 50 KiB each.
constexpr size_t kOpenSeconds = 256;
// Hosts cross a second's end at nearly the same moment.
constexpr size_t kFewestOpenSeconds = 4;

}  // namespace

StepPercentiles::StepPercentiles(bool keep_seconds)
    : keeps_seconds_(keep_seconds), cluster_(kOpenSeconds, keep_seconds ? &seconds_ : nullptr) {}

void StepPercentiles::Expect(const std::map<uint32_t, uint32_t>& storage_of_host) {
  std::map<uint32_t, std::set<uint32_t>> hosts_of_storage;
  for (const auto& [host, storage] : storage_of_host) {
    passed_.Expect(host);
    if (storage != 0) hosts_of_storage[storage].insert(host);
  }
  if (storages_set_) return;
  storages_set_ = true;
  std::erase_if(hosts_of_storage, [&storage_of_host](const auto& storage) {
    return storage.second.size() < 2 || storage.second.size() == storage_of_host.size();
  });
  const size_t open_seconds = std::max(kFewestOpenSeconds, kOpenSeconds / std::max<size_t>(hosts_of_storage.size(), 1));
  for (auto& [storage, hosts] : hosts_of_storage) {
    storages_.push_back({std::move(hosts), std::make_unique<MergedPercentiles>(open_seconds)});
  }
}

PercentileSinks StepPercentiles::SinksOf(uint32_t host) {
  const auto shared = std::find_if(storages_.begin(), storages_.end(),
                                   [host](const Shared& storage) { return storage.hosts.contains(host); });
  return {shared == storages_.end() ? nullptr : shared->merged.get(), &cluster_, &host_scratch_, &qm_scratch_};
}

void StepPercentiles::Pass(uint32_t host, uint32_t second) {
  const int64_t before = passed_.lowest();
  passed_.Pass(host, second);
  if (passed_.lowest() > before) ClosePassed();
}

void StepPercentiles::Leave(uint32_t host) {
  passed_.Leave(host);
  ClosePassed();
}

void StepPercentiles::ClosePassed() {
  // No host is left: what hosts still hand on comes before the end.
  if (passed_.empty()) return;
  const auto second = static_cast<uint32_t>(std::min<int64_t>(passed_.lowest(), UINT32_MAX));
  cluster_.CloseBelow(second);
  for (const Shared& storage : storages_) storage.merged->CloseBelow(second);
}

void StepPercentiles::Finish() {
  cluster_.Finish();
  for (const Shared& storage : storages_) storage.merged->Finish();
}

const SecondTable* StepPercentiles::Storage(const std::set<uint32_t>& hosts) const {
  for (const Shared& storage : storages_) {
    if (storage.hosts == hosts) return &storage.merged->table();
  }
  return nullptr;
}

}  // namespace plimsoll
