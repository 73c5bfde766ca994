#include "controller/analysis/second_percentiles.h"

#include <algorithm>
#include <array>

#include "common/algorithm.h"

namespace plimsoll {
namespace {

using Layout = HistogramLayout;

constexpr std::array<double, 3> kQuantiles = {50, 99, 99.9};

uint32_t BucketOf(uint64_t value_ns) {
  return Layout::IndexOf(std::min(value_ns, Layout::kMaxValueNs));
}

// Buckets of all quantiles in one walk. `latency` is not empty.
std::array<uint16_t, kQuantiles.size()> QuantileBuckets(const Histogram& latency) {
  std::array<uint16_t, kQuantiles.size()> buckets{};
  uint64_t seen = 0;
  size_t next = 0;
  const uint32_t last = BucketOf(latency.max_ns());
  for (uint32_t i = BucketOf(latency.min_ns()); i <= last && next < kQuantiles.size(); ++i) {
    seen += latency.CountAt(i);
    while (next < kQuantiles.size()) {
      if (seen < PercentileRank(latency.count(), kQuantiles[next])) break;
      buckets[next++] = static_cast<uint16_t>(i);
    }
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
  open_[second].push_back({qm, latency});
  while (open_.size() > kOpenSeconds) CloseOldest();
}

void HostPercentiles::Spoil(uint32_t qm, uint32_t second) {
  if (qm >= 1 && qm <= qms_.size()) qms_[qm - 1].Spoil(second);
  host_.Spoil(second);
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
      if (qm >= 1 && qm <= qms_.size()) qms_[qm - 1].Close(second, one);
      all.Merge(one);
      first = last;
    }
  }
  host_.Close(second, all);
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
  // Nobody is left: what hosts still hand on comes before the end.
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
