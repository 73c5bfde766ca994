#include "controller/analysis/folded_series.h"

#include <optional>

#include "common/protocol.h"
#include "controller/analysis/scope_sums.h"

namespace plimsoll {
namespace {

// Frames of one writer and minute are added up whenever there are so many, which bounds their memory.
constexpr size_t kFramesAddedUp = 16;

PerTime<PercentileSinks> MinuteSinks(FoldedStep& step, uint32_t host) {
  return PerTime(step.minutes(TimeKind::kService).SinksOf(host), step.minutes(TimeKind::kResponse).SinksOf(host));
}

}  // namespace

FoldedStep::FoldedStep(const StepShape& shape, uint32_t operations, uint32_t whole_seconds, bool keep_writer_seconds)
    : shape_(shape),
      operations_(operations),
      whole_seconds_(whole_seconds),
      keeps_writer_seconds_(keep_writer_seconds),
      cluster_(operations) {}

void FoldedStep::Expect(const std::map<uint32_t, uint32_t>& storage_of_host) {
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) minutes_[kind].Expect(storage_of_host);
  if (storages_set_) return;
  storages_set_ = true;
  std::map<uint32_t, size_t> hosts;
  for (const auto& [host, storage] : storage_of_host) {
    if (storage != 0) ++hosts[storage];
  }
  for (const auto& [storage, count] : hosts) {
    if (count > 1 && count < storage_of_host.size()) storages_.try_emplace(storage, operations_);
  }
}

void FoldedStep::Pass(uint32_t host, uint32_t second) {
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) minutes_[kind].Pass(host, second / kSecondsPerMinute);
}

void FoldedStep::Leave(uint32_t host) {
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) minutes_[kind].Leave(host);
}

void FoldedStep::Finish() {
  for (const TimeKind kind : TimeKindsOf(shape_.rated)) minutes_[kind].Finish();
}

OperationSeries* FoldedStep::JoinStorage(uint32_t storage, uint32_t host) {
  const auto found = storages_.find(storage);
  if (found == storages_.end()) return nullptr;
  found->second.hosts.insert(host);
  return &found->second.series;
}

const OperationSeries* FoldedStep::Storage(const std::set<uint32_t>& hosts) const {
  for (const auto& [number, storage] : storages_) {
    if (storage.hosts == hosts) return &storage.series;
  }
  return nullptr;
}

FoldedHost::FoldedHost(FoldedStep& step, uint32_t host, uint32_t storage, uint32_t qms)
    : step_(step),
      storage_(step.JoinStorage(storage, host)),
      series_(step.operations()),
      minutes_{HostPercentiles(qms, MinuteSinks(step, host)[TimeKind::kService]),
               HostPercentiles(qms, MinuteSinks(step, host)[TimeKind::kResponse])},
      aged_below_(step.whole_seconds()) {
  for (const TimeKind kind : TimeKindsOf(step.shape().rated)) minutes_[kind].AddUpEvery(kFramesAddedUp);
}

void FoldedHost::Add(const v1::Frame& frame, bool rated) {
  const StepShape& shape = step_.shape();
  for (OperationSeries* const scope : {&series_, storage_, &step_.cluster()}) {
    if (scope != nullptr) AddToSeries(shape, rated, frame, (*scope)[frame.operation()]);
  }
  if (frame.operation() != kMainOperation || frame.latency().count() == 0) return;
  const std::optional<WideRange> seconds = SecondsOf(shape, frame, frame.first_interval());
  if (!seconds) return;
  const uint32_t first = seconds->first / kSecondsPerMinute;
  const uint32_t last = seconds->last / kSecondsPerMinute;
  for (const TimeKind kind : TimeKindsOf(shape.rated)) {
    if (first == last) {
      minutes_[kind].Add(frame.qm(), first, TimesOf(frame, kind));
      continue;
    }
    for (uint32_t minute = first; minute <= last; ++minute) minutes_[kind].Spoil(frame.qm(), minute);
  }
}

uint32_t FoldedHost::Close(uint32_t second) {
  const uint32_t below = second / kSecondsPerMinute * kSecondsPerMinute;
  for (const TimeKind kind : TimeKindsOf(step_.shape().rated)) minutes_[kind].CloseBelow(below / kSecondsPerMinute);
  if (below <= aged_below_) return 0;
  aged_below_ = below;
  for (PerTime<SecondSeries>& of_operation : series_) {
    for (const TimeKind kind : TimeKindsOf(step_.shape().rated)) {
      of_operation[kind].AgeBelow(step_.whole_seconds(), below);
    }
  }
  return below;
}

void FoldedHost::Finish() {
  for (const TimeKind kind : TimeKindsOf(step_.shape().rated)) minutes_[kind].Finish();
}

}  // namespace plimsoll
