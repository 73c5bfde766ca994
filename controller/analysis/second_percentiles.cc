#include "controller/analysis/second_percentiles.h"

#include <algorithm>

#include "common/stable_sort.h"

namespace plimsoll {

void MergedPercentiles::Add(uint32_t second, const Histogram& part) {
  if (table_.closed(second)) return Spoil(second);
  open_[second].Merge(part);
  while (open_.size() > open_seconds_) CloseOldest();
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

}  // namespace plimsoll
