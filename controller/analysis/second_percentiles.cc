#include "controller/analysis/second_percentiles.h"

namespace plimsoll {

void ClusterPercentiles::Add(uint32_t second, const Histogram& part) {
  if (closed_.Get(second).closed) {
    closed_[second].spoilt = true;
    return;
  }
  open_[second].Merge(part);
  while (open_.size() > kOpenSeconds) CloseOldest();
}

void ClusterPercentiles::Spoil(uint32_t second) {
  closed_[second].spoilt = true;
}

void ClusterPercentiles::CloseOldest() {
  const auto oldest = open_.begin();
  Closed& closed = closed_[oldest->first];
  closed.quantiles = {oldest->second.PercentileNs(50), oldest->second.PercentileNs(99)};
  closed.closed = true;
  open_.erase(oldest);
}

void ClusterPercentiles::Finish() {
  while (!open_.empty()) CloseOldest();
}

SecondQuantiles ClusterPercentiles::Get(uint32_t second) const {
  const Closed closed = closed_.Get(second);
  return closed.spoilt ? SecondQuantiles{} : closed.quantiles;
}

void HostPercentiles::Add(uint32_t second, const v1::Distribution& latency) {
  if (latency.count() == 0) return;
  if (closed_.Get(second).closed) {
    Spoil(second);
    return;
  }
  open_[second].push_back(latency);
  while (open_.size() > kOpenSeconds) CloseOldest();
}

void HostPercentiles::Spoil(uint32_t second) {
  closed_[second].spoilt = true;
  cluster_.Spoil(second);
}

void HostPercentiles::CloseBelow(uint32_t second) {
  while (!open_.empty() && open_.begin()->first < second) CloseOldest();
}

void HostPercentiles::CloseOldest() {
  const auto oldest = open_.begin();
  Histogram& scratch = cluster_.scratch();
  scratch.Clear();
  Closed& closed = closed_[oldest->first];
  for (const v1::Distribution& latency : oldest->second) {
    if (!scratch.Merge(latency).ok()) closed.spoilt = true;
  }
  closed.quantiles = {scratch.PercentileNs(50), scratch.PercentileNs(99)};
  closed.closed = true;
  cluster_.Add(oldest->first, scratch);
  open_.erase(oldest);
}

SecondQuantiles HostPercentiles::Get(uint32_t second) const {
  const Closed closed = closed_.Get(second);
  return closed.spoilt ? SecondQuantiles{} : closed.quantiles;
}

}  // namespace plimsoll
