#include "controller/run/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/terminal_text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr int64_t kInPlacePeriodNs = 250 * kNsPerMs;
constexpr int64_t kLinePeriodNs = kNsPerSecond;
constexpr size_t kDefaultColumns = 100;
// A write in flight for this long is shown.
constexpr int64_t kLongInFlightNs = kNsPerSecond;

size_t Columns(std::FILE* out) {
  winsize size{};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col - size_t{1};
  return kDefaultColumns;
}

std::string Seconds(int64_t ns) {
  return absl::StrFormat("%.0f s", static_cast<double>(std::max<int64_t>(ns, 0)) / 1e9);
}

std::string Milliseconds(uint64_t ns) {
  return absl::StrFormat("%.1f ms", static_cast<double>(ns) / 1e6);
}

}  // namespace

void Progress::Update(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts, const LiveStats& live) {
  next_update_ = now + (in_place_ ? kInPlacePeriodNs : kLinePeriodNs);
  switch (phase_) {
    case Phase::kIdle:
      return;
    case Phase::kPreparing:
      return Show(PreparingLine(hosts));
    case Phase::kSettling:
      return Show(absl::StrCat("settling  ", Seconds(std::clamp<int64_t>(now - step_start_, 0, step_length_ns_)), "/",
                               Seconds(step_length_ns_), " before the first step (--settle)"));
    case Phase::kRunning:
      if (!in_place_ && !running_lines_) return;
      return Show(RunningLine(now, hosts, live));
    case Phase::kDraining:
      return Show(
          absl::StrCat("stopping (", drain_reason_, "): waiting for the last writes", InFlightText(now, hosts)));
    case Phase::kReleasing:
      return Show(absl::StrCat("removing the files", InFlightText(now, hosts)));
  }
}

void Progress::Preparing() {
  phase_ = Phase::kPreparing;
}

void Progress::Settling(MonotonicNs now, int64_t length_ns) {
  Clear();
  phase_ = Phase::kSettling;
  step_start_ = now;
  step_length_ns_ = length_ns;
  next_update_ = now;
}

void Progress::StepStarts(uint32_t step, uint32_t steps, const v1::LogStep& spec, MonotonicNs now) {
  phase_ = Phase::kRunning;
  step_text_ = absl::StrCat("step ", step + 1, "/", steps, "  ", FormatSizeForPeople(spec.block_size_bytes()));
  step_length_ns_ = spec.warmup_ns() + spec.duration_ns();
  step_start_ = now;
  // Not at once: the first figures come with the first frames.
  next_update_ = now + (in_place_ ? kInPlacePeriodNs : kLinePeriodNs);
}

void Progress::Draining(const std::string& reason) {
  phase_ = Phase::kDraining;
  drain_reason_ = reason;
  Clear();
}

void Progress::StepEnds() {
  Clear();
  phase_ = Phase::kIdle;
}

void Progress::Releasing() {
  phase_ = Phase::kReleasing;
}

void Progress::Warn(const std::string& line) {
  Line("plimsoll: " + SanitizeForTerminal(line));
}

void Progress::Line(const std::string& line) {
  Clear();
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

void Progress::Clear() {
  if (!line_shown_) return;
  std::fputs("\r\033[K", out_);
  std::fflush(out_);
  line_shown_ = false;
}

void Progress::Show(const std::string& text) {
  if (quiet_) return;
  const std::string line = SanitizeForTerminal(text);
  if (in_place_) {
    std::fprintf(out_, "\r\033[K%s", line.substr(0, Columns(out_)).c_str());
    line_shown_ = true;
  } else {
    std::fprintf(out_, "%s\n", line.c_str());
  }
  std::fflush(out_);
}

std::string Progress::PreparingLine(const std::vector<std::unique_ptr<Host>>& hosts) const {
  uint64_t done = 0;
  uint64_t total = 0;
  for (const auto& host : hosts) {
    done += host->prepare_done_bytes;
    total += host->prepare_total_bytes;
  }
  if (total == 0) return "preparing";
  const double share = 100 * static_cast<double>(done) / static_cast<double>(total);
  return absl::StrFormat("preparing  %s of %s (%.0f %%)", FormatSizeForPeople(done), FormatSizeForPeople(total), share);
}

std::string Progress::InFlightText(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts) {
  std::string text;
  for (const auto& host : hosts) {
    if (host->clock.empty()) continue;
    for (const v1::InFlight& write : host->in_flight) {
      const int64_t age_ns = host->clock.ToRemote(now.value) - write.since_ns();
      if (age_ns < kLongInFlightNs) continue;
      absl::StrAppend(&text, "  ", host->label, "/qm", write.qm(), " in one write for ", Seconds(age_ns));
    }
  }
  return text;
}

std::string Progress::RunningLine(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts,
                                  const LiveStats& live) const {
  const int64_t elapsed_ns = std::clamp<int64_t>(now - step_start_, 0, step_length_ns_);
  const LiveSnapshot snapshot = live.Snapshot(now.value);
  std::string slowest;
  for (const LiveHost& host : snapshot.hosts) {
    absl::StrAppend(&slowest, "  ", host.label, host.lost ? " lost" : " " + Milliseconds(host.max_latency_ns));
  }
  return absl::StrFormat("%s  %s/%s  %s IO/s  %.1f MB/s  max%s%s", step_text_, Seconds(elapsed_ns),
                         Seconds(step_length_ns_), FormatCount(static_cast<uint64_t>(snapshot.cluster.iops)),
                         snapshot.cluster.mb_per_second, slowest, InFlightText(now, hosts));
}

}  // namespace plimsoll
