#include "controller/fold/step_fold.h"

#include <algorithm>
#include <utility>

#include "common/protocol.h"

namespace plimsoll {
namespace {

constexpr int64_t kSecondsOfMinute = 60;
constexpr int64_t kSecondsOfHour = 3'600;

// What the analysis takes for a stall where the plan sets no threshold (controller/analysis/host_stalls.h).
constexpr int64_t kLeastOfStallNs = 100 * kNsPerMs;
constexpr int64_t kMediansOfAStall = 20;

int64_t LongestOf(const v1::StalledInterval& stall) {
  const int64_t length_ns = stall.end_ns() - stall.begin_ns();
  return stall.longest_ns() > 0 ? std::min(stall.longest_ns(), length_ns) : length_ns;
}

// Whether differences of it and another one fit.
bool IsUsableMoment(int64_t moment_ns) {
  return moment_ns > 0 && moment_ns <= int64_t{1} << 61;
}

}  // namespace

int64_t SecondOf(const v1::Frame& frame, const FoldRules& rules) {
  return frame.first_interval() / (kNsPerSecond / rules.interval_ns);
}

bool WaitsToBeFolded(const v1::Frame& frame, const FoldRules& rules) {
  const int64_t second = SecondOf(frame, rules);
  return frame.first_interval() >= 0 && second >= rules.whole_seconds && second < rules.end_second;
}

StepFold::StepFold(const FoldRules& rules, Emit emit)
    : rules_(rules),
      emit_(std::move(emit)),
      intervals_per_second_(kNsPerSecond / rules.interval_ns),
      settled_(rules.whole_seconds),
      minute_(rules.whole_seconds / kSecondsOfMinute) {}

void StepFold::Expect(uint32_t host, const std::vector<uint32_t>& qms, int64_t measured_start_ns) {
  if (qms.empty()) return;
  Host& expected = hosts_[host];
  expected.measured_start_ns = measured_start_ns;
  for (const uint32_t qm : qms) expected.passed.try_emplace(qm, 0);
}

void StepFold::Take(uint32_t host, v1::Frame frame) {
  const Key key{host, frame.qm(), frame.operation()};
  const int64_t second = SecondOf(frame, rules_);
  NoteStalls(key, frame, second);
  NotePassed(key, frame);
  if (!WaitsToBeFolded(frame, rules_)) {
    emit_(host, std::move(frame));
  } else if (second < settled_) {
    // It came too late to be folded.
    CloseFolded(key, StreamOf(key));
    emit_(host, std::move(frame));
  } else {
    waiting_[second][key].push_back(std::move(frame));
  }
  SettlePassed();
}

void StepFold::Leave(uint32_t host) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return;
  found->second.left = true;
  SettlePassed();
}

void StepFold::Finish() {
  SettleBelow(INT64_MAX);
}

void StepFold::Restore(uint32_t host, const v1::Frame& frame) {
  const Key key{host, frame.qm(), frame.operation()};
  NotePassed(key, frame);
  // All that a fold gave out was known before it settled what follows.
  NoteStalls(key, frame, 0);
  if (!frame.has_aged() || frame.latency().count() == 0) return;
  Histogram latency;
  if (!latency.Merge(frame.latency()).ok()) return;
  if (const auto median_ns = static_cast<int64_t>(latency.PercentileNs(50)); median_ns > 0) {
    StreamOf(key).usual_ns = median_ns;
  }
}

void StepFold::Resume(const Mark& mark) {
  settled_ = std::max(settled_, mark.settled_seconds);
  minute_ = settled_ / kSecondsOfMinute;
  hour_ = settled_ / kSecondsOfHour;
  whole_of_hour_ = mark.whole_of_hour;
  near_.erase(near_.begin(), near_.lower_bound(settled_));
}

void StepFold::NotePassed(const Key& key, const v1::Frame& frame) {
  if (key.operation != kMainOperation) return;
  const auto host = hosts_.find(key.host);
  if (host == hosts_.end()) return;
  const auto passed = host->second.passed.find(key.qm);
  if (passed == host->second.passed.end()) return;
  const int64_t next = frame.first_interval() + std::max<int64_t>(frame.interval_count(), 1);
  passed->second = std::max(passed->second, frame.closing() ? INT64_MAX : next / intervals_per_second_);
}

void StepFold::NoteStalls(const Key& key, const v1::Frame& frame, int64_t first_second) {
  if (key.operation != kMainOperation || frame.first_interval() < 0) return;
  for (const v1::StalledInterval& stall : frame.stalls()) {
    NoteStall(key, stall.begin_ns(), LongestOf(stall), first_second);
    NoteStall(key, stall.end_ns(), LongestOf(stall), first_second);
  }
  if (frame.has_growing_stall()) {
    NoteStall(key, frame.growing_stall().begin_ns(), LongestOf(frame.growing_stall()), first_second);
  }
}

void StepFold::NoteStall(const Key& key, int64_t moment_ns, int64_t longest_ns, int64_t first_second) {
  const auto host = hosts_.find(key.host);
  if (host == hosts_.end() || longest_ns < (rules_.stall_ns > 0 ? rules_.stall_ns : kLeastOfStallNs) ||
      !IsUsableMoment(moment_ns) || moment_ns < host->second.measured_start_ns) {
    return;
  }
  const int64_t second = (moment_ns - host->second.measured_start_ns) / kNsPerSecond;
  // A second that this writer may have passed by settle_seconds may be settled, which depends on the other writers.
  const int64_t least =
      std::max({second - rules_.around_stall_seconds, rules_.whole_seconds, first_second - rules_.settle_seconds});
  for (int64_t near = least; near <= second + rules_.around_stall_seconds && near < rules_.end_second; ++near) {
    int64_t& longest = near_[near][key];
    longest = std::max(longest, longest_ns);
  }
}

bool StepFold::StallIsNear(int64_t second) const {
  const auto near = near_.find(second);
  if (near == near_.end()) return false;
  return std::any_of(near->second.begin(), near->second.end(), [this](const auto& writer) {
    const auto stream = streams_.find(writer.first);
    const int64_t usual_ns = stream == streams_.end() ? 0 : stream->second.usual_ns;
    return rules_.stall_ns > 0 || writer.second >= kMediansOfAStall * usual_ns;
  });
}

void StepFold::SettlePassed() {
  int64_t lowest = INT64_MAX;
  for (const auto& [number, host] : hosts_) {
    if (host.left) continue;
    for (const auto& [qm, passed] : host.passed) lowest = std::min(lowest, passed);
  }
  // Without a writer that still sends, Finish settles the rest.
  if (lowest == INT64_MAX) return;
  SettleBelow(lowest - rules_.settle_seconds);
}

void StepFold::SettleBelow(int64_t second) {
  while (!waiting_.empty() && waiting_.begin()->first < second) {
    const auto first = waiting_.begin();
    CloseMinute(first->first);
    settled_ = std::max(settled_, first->first + 1);
    SettleSecond(first->first, first->second);
    waiting_.erase(first);
  }
  CloseMinute(second);
  if (second != INT64_MAX) settled_ = std::max(settled_, second);
  near_.erase(near_.begin(), near_.lower_bound(settled_));
}

void StepFold::SettleSecond(int64_t second, std::map<Key, std::vector<v1::Frame>>& frames) {
  bool whole = StallIsNear(second);
  if (whole) {
    if (second / kSecondsOfHour != hour_) whole_of_hour_ = 0;
    hour_ = second / kSecondsOfHour;
    whole = whole_of_hour_ < rules_.most_whole_of_hour;
    if (whole) ++whole_of_hour_;
  }
  for (auto& [key, of_stream] : frames) {
    Stream& stream = StreamOf(key);
    for (v1::Frame& frame : of_stream) {
      if (!whole && CanFold(frame, intervals_per_second_)) {
        if (stream.folded.Add(frame)) continue;
        CloseFolded(key, stream);
        stream.folded.Add(frame);
      } else {
        CloseFolded(key, stream);
        emit_(key.host, std::move(frame));
      }
    }
  }
}

void StepFold::CloseMinute(int64_t second) {
  if (second / kSecondsOfMinute <= minute_) return;
  for (auto& [key, stream] : streams_) CloseFolded(key, stream);
  // Minutes without a frame were not given out one by one.
  minute_ = second == INT64_MAX ? minute_ + 1 : second / kSecondsOfMinute;
  if (!on_minute_) return;
  const int64_t settled = minute_ * kSecondsOfMinute;
  on_minute_({settled, settled / kSecondsOfHour == hour_ ? whole_of_hour_ : 0});
}

void StepFold::CloseFolded(const Key& key, Stream& stream) {
  if (stream.folded.empty()) return;
  if (const int64_t median_ns = stream.folded.median_ns(); median_ns > 0) stream.usual_ns = median_ns;
  emit_(key.host, stream.folded.Take());
}

}  // namespace plimsoll
