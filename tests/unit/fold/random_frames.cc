#include "tests/unit/fold/random_frames.h"

#include <algorithm>
#include <optional>
#include <string>

#include "common/protocol.h"
#include "controller/fold/aged_seconds.h"

namespace plimsoll::tests {
namespace {

constexpr uint64_t kBlockBytes = 4'096;

// One operation of a writer, interval by interval.
class WriterFrames {
 public:
  WriterFrames(const FrameScene& scene, uint32_t host, uint32_t qm, uint32_t operation, Random& random)
      : scene_(scene), host_(host), qm_(qm), operation_(operation), random_(random) {}

  std::vector<v1::Frame> Make() {
    const int64_t per_second = kNsPerSecond / scene_.interval_ns;
    const int64_t end = scene_.to_second * per_second;
    int64_t next = scene_.from_second * per_second;
    clock_ns_ = FrameScene::MeasuredStartNs(host_) + next * scene_.interval_ns;
    while (next < end) {
      int64_t count = 1;
      if (scene_.frames_of_coalesced > 0 && Between(random_, 1, scene_.frames_of_coalesced) == 1) {
        count = std::min(Between(random_, 1, 3 * per_second), end - next);
      }
      frames_.push_back(Cut(next, count));
      next += count;
    }
    v1::Frame closing = Cut(end, 1);
    closing.set_closing(true);
    closing.clear_interval_count();
    frames_.push_back(std::move(closing));
    return std::move(frames_);
  }

 private:
  v1::Frame Cut(int64_t first, int64_t count) {
    v1::Frame frame;
    frame.set_step(1);
    frame.set_qm(qm_);
    frame.set_operation(operation_);
    frame.set_first_interval(static_cast<int32_t>(first));
    frame.set_interval_count(static_cast<uint32_t>(count));
    const int64_t end_ns = FrameScene::MeasuredStartNs(host_) + (first + count) * scene_.interval_ns;
    Histogram latency;
    Histogram response;
    const int64_t writes = Between(random_, 0, scene_.most_writes);
    for (int64_t i = 0; i < writes && clock_ns_ < end_ns; ++i) Write(end_ns - clock_ns_, frame, latency, response);
    if (held_ && end_ns >= report_at_ns_) {
      *frame.add_stalls() = *held_;
      held_.reset();
    }
    if (open_since_ns_ == 0 && !held_ && operation_ == kMainOperation && scene_.intervals_of_stall > 0 &&
        Between(random_, 1, scene_.intervals_of_stall) == 1) {
      open_since_ns_ = std::max(clock_ns_, end_ns - scene_.interval_ns / 3);
      stall_ns_ = Between(random_, 100, 4'000) * kNsPerMs;
      late_ns_ = Between(random_, 0, 1) * Between(random_, 0, scene_.latest_report_ns);
    }
    if (open_since_ns_ != 0) {
      if (open_since_ns_ + stall_ns_ <= end_ns) {
        EndStall(frame, latency, response);
      } else {
        frame.set_in_flight_since_ns(open_since_ns_);
        clock_ns_ = std::max(clock_ns_, end_ns);
        if (late_ns_ == 0 && end_ns - open_since_ns_ >= 50 * kNsPerMs)
          SetInterval(end_ns, *frame.mutable_growing_stall());
      }
    }
    clock_ns_ = std::max(clock_ns_, end_ns - scene_.interval_ns / 4);
    frame.set_cut_ns(end_ns + Between(random_, 0, kNsPerMs));
    if (latency.count() > 0) *frame.mutable_latency() = latency.ToProto();
    if (response.count() > 0) *frame.mutable_response() = response.ToProto();
    return frame;
  }

  void SetInterval(int64_t end_ns, v1::StalledInterval& interval) const {
    interval.set_begin_ns(open_since_ns_);
    interval.set_end_ns(end_ns);
    interval.set_first_seq(seq_ + 1);
    interval.set_writes(1);
    interval.set_in_flight_ns(end_ns - open_since_ns_);
    interval.set_longest_ns(end_ns - open_since_ns_);
  }

  void EndStall(v1::Frame& frame, Histogram& latency, Histogram& response) {
    const int64_t end_ns = open_since_ns_ + stall_ns_;
    v1::StalledInterval interval;
    SetInterval(end_ns, interval);
    if (late_ns_ == 0) {
      *frame.add_stalls() = interval;
    } else {
      held_ = interval;
      report_at_ns_ = end_ns + late_ns_;
    }
    Record(open_since_ns_, static_cast<uint64_t>(stall_ns_), frame, latency, response);
    clock_ns_ = end_ns;
    open_since_ns_ = 0;
  }

  void Write(int64_t most_ns, v1::Frame& frame, Histogram& latency, Histogram& response) {
    if (open_since_ns_ != 0) return;
    const int64_t latency_ns = std::min(Between(random_, 200'000, 2'000'000), most_ns);
    Record(clock_ns_, static_cast<uint64_t>(latency_ns), frame, latency, response);
    clock_ns_ += latency_ns + Between(random_, 0, 1'000'000);
  }

  void Record(int64_t start_ns, uint64_t latency_ns, v1::Frame& frame, Histogram& latency, Histogram& response) {
    ++seq_;
    const uint64_t response_ns = latency_ns + static_cast<uint64_t>(Between(random_, 0, 300'000));
    if (frame.first_seq() == 0) {
      frame.set_first_seq(seq_);
      frame.set_first_start_ns(start_ns);
      if (seq_ == 1) frame.set_first_phase_ns(Between(random_, 1, 1'000'000));
    }
    frame.set_last_end_ns(start_ns + static_cast<int64_t>(latency_ns));
    frame.set_bytes(frame.bytes() + kBlockBytes);
    frame.set_between_ns(frame.between_ns() + Between(random_, -1'000, 1'000'000));
    v1::WriteSample sample;
    sample.set_seq(seq_);
    sample.set_start_ns(start_ns);
    sample.set_latency_ns(latency_ns);
    if (scene_.rated) sample.set_response_ns(response_ns);
    if (latency.count() == 0 || latency_ns < latency.min_ns()) frame.set_fastest_seq(seq_);
    if (latency.count() == 0 || latency_ns > latency.max_ns()) *frame.mutable_slowest() = sample;
    if (Between(random_, 1, 10) == 1) *frame.add_slow() = sample;
    if (scene_.rated && Between(random_, 1, 10) == 1) *frame.add_slow_responses() = sample;
    latency.Record(latency_ns);
    if (!scene_.rated) return;
    response.Record(response_ns);
    frame.mutable_start_delay()->set_max_ns(std::max<uint64_t>(frame.start_delay().max_ns(), 50'000));
  }

  const FrameScene& scene_;
  const uint32_t host_;
  const uint32_t qm_;
  const uint32_t operation_;
  Random& random_;
  std::vector<v1::Frame> frames_;
  int64_t clock_ns_ = 0;
  uint64_t seq_ = 0;
  // Start of the write that stalls; 0: none does.
  int64_t open_since_ns_ = 0;
  int64_t stall_ns_ = 0;
  // How long after its end it is reported; 0: while it lasts.
  int64_t late_ns_ = 0;
  // A stall that is over and will be reported then.
  std::optional<v1::StalledInterval> held_;
  int64_t report_at_ns_ = 0;
};

}  // namespace

Frames MakeFrames(const FrameScene& scene, Random& random) {
  Frames frames;
  for (uint32_t host = 0; host < scene.hosts; ++host) {
    for (uint32_t qm = 1; qm <= scene.qms; ++qm) {
      for (uint32_t operation = 0; operation < scene.operations; ++operation) {
        frames.streams[{host, qm, operation}] = WriterFrames(scene, host, qm, operation, random).Make();
      }
    }
  }
  return frames;
}

std::vector<HostFrame> Arrive(const Frames& frames, Random& random, size_t most_ahead) {
  std::map<StreamKey, size_t> next;
  for (const auto& [key, all] : frames.streams) next[key] = 0;
  std::vector<HostFrame> arrived;
  while (!next.empty()) {
    size_t least = SIZE_MAX;
    for (const auto& [key, at] : next) least = std::min(least, at);
    std::vector<StreamKey> may;
    for (const auto& [key, at] : next) {
      if (at <= least + most_ahead && std::get<2>(key) == kMainOperation) may.push_back(key);
    }
    if (may.empty()) may.push_back(next.begin()->first);
    const StreamKey writer = may[static_cast<size_t>(Between(random, 0, static_cast<int64_t>(may.size()) - 1))];
    const auto [host, qm, main] = writer;
    for (uint32_t operation = main;; ++operation) {
      const auto stream = next.find({host, qm, operation});
      if (stream == next.end()) break;
      const std::vector<v1::Frame>& all = frames.streams.at(stream->first);
      arrived.emplace_back(host, all[stream->second]);
      if (++stream->second == all.size()) next.erase(stream);
    }
  }
  return arrived;
}

std::map<int64_t, SecondTruth> SecondsOf(const std::vector<v1::Frame>& frames, int64_t interval_ns) {
  const int64_t per_second = kNsPerSecond / interval_ns;
  std::map<int64_t, SecondTruth> seconds;
  const auto add = [&seconds](int64_t number, const SecondTruth& more) {
    SecondTruth& second = seconds[number];
    second.writes += more.writes;
    second.bytes += more.bytes;
    second.latency_sum_ns += more.latency_sum_ns;
    second.latency_max_ns = std::max(second.latency_max_ns, more.latency_max_ns);
    second.response_sum_ns += more.response_sum_ns;
    second.response_max_ns = std::max(second.response_max_ns, more.response_max_ns);
  };
  for (const v1::Frame& frame : frames) {
    const v1::Distribution& felt = frame.response().count() > 0 ? frame.response() : frame.latency();
    if (!frame.has_aged()) {
      add(frame.first_interval() / per_second, {frame.latency().count(), frame.bytes(), frame.latency().sum_ns(),
                                                frame.latency().max_ns(), felt.sum_ns(), felt.max_ns()});
      continue;
    }
    ForEachAgedSecond(frame, per_second, [&add](const AgedSecond& second) {
      add(second.second, {second.writes, second.bytes, second.latency_sum_ns, second.latency_max_ns,
                          second.response_sum_ns, second.response_max_ns});
    });
  }
  return seconds;
}

RecordedFold::RecordedFold(const FoldRules& rules, const FrameScene& scene)
    : fold_(rules, [this](uint32_t host, v1::Frame&& frame) { out_.emplace_back(host, std::move(frame)); }) {
  fold_.OnMinute([this](const StepFold::Mark& mark) { marks_.emplace_back(mark, out_.size()); });
  std::vector<uint32_t> qms;
  for (uint32_t qm = 1; qm <= scene.qms; ++qm) qms.push_back(qm);
  for (uint32_t host = 0; host < scene.hosts; ++host) {
    fold_.Expect(host, qms, FrameScene::MeasuredStartNs(host));
  }
}

std::map<StreamKey, std::vector<v1::Frame>> RecordedFold::ByStream() const {
  std::map<StreamKey, std::vector<v1::Frame>> streams;
  for (const auto& [host, frame] : out_) streams[{host, frame.qm(), frame.operation()}].push_back(frame);
  return streams;
}

std::vector<std::string> BytesOf(const std::vector<HostFrame>& frames) {
  std::vector<std::string> bytes;
  for (const auto& [host, frame] : frames) bytes.push_back(std::to_string(host) + ":" + frame.SerializeAsString());
  return bytes;
}

}  // namespace plimsoll::tests
