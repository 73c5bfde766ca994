#include "controller/live/live_feed.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"
#include "controller/render/plain_text.h"
#include "controller/report/main_operation.h"
#include "controller/report/swept_load.h"

namespace plimsoll {
namespace {

// The analysis is awaited for so long: while a step runs, and at its end.
constexpr int64_t kPatienceNs = 20 * kNsPerMs;
constexpr int64_t kPatienceAtEndNs = 200 * kNsPerMs;
constexpr int64_t kLookPeriodNs = kNsPerSecond;
// A look that took a millisecond is followed by so many without one.
constexpr int64_t kRestPerLook = 50;
// Other hosts' additions to a stall have arrived by then.
constexpr int64_t kSettledNs = 700 * kNsPerMs;
constexpr size_t kSecondsKept = 600;
constexpr size_t kStallsKept = 50;
constexpr size_t kWritesNamed = 3;

std::string Seconds(int64_t ns) {
  return absl::StrFormat("%.0f s", static_cast<double>(std::max<int64_t>(ns, 0)) / 1e9);
}

std::string PreparingLine(const std::vector<std::unique_ptr<Host>>& hosts) {
  uint64_t done = 0;
  uint64_t total = 0;
  const Host* slowest = nullptr;
  const auto share = [](const Host& host) {
    return 100 * static_cast<double>(host.prepare_done_bytes) / static_cast<double>(host.prepare_total_bytes);
  };
  for (const auto& host : hosts) {
    done += host->prepare_done_bytes;
    total += host->prepare_total_bytes;
    if (host->prepare_total_bytes == 0 || host->prepare_done_bytes == host->prepare_total_bytes) continue;
    if (slowest == nullptr || share(*host) < share(*slowest)) slowest = host.get();
  }
  if (total == 0) return "preparing";
  std::string line =
      absl::StrFormat("preparing  %s of %s (%.0f %%)", FormatSizeForPeople(done), FormatSizeForPeople(total),
                      100 * static_cast<double>(done) / static_cast<double>(total));
  if (hosts.size() > 1 && slowest != nullptr) {
    absl::StrAppend(&line, absl::StrFormat("  slowest %s: %.0f %%", slowest->label, share(*slowest)));
  }
  return line;
}

std::string InFlightText(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts) {
  std::string text;
  size_t writes = 0;
  for (const auto& host : hosts) {
    if (host->clock.empty()) continue;
    for (const v1::InFlight& write : host->in_flight) {
      const int64_t age_ns = host->clock.ToRemote(now.value) - write.since_ns();
      if (age_ns < kLongInFlightNs || ++writes > kWritesNamed) continue;
      absl::StrAppend(&text, "  ", InOneWriteText(host->WriterName(write.qm()), age_ns, write.read_percent()));
    }
  }
  if (writes > kWritesNamed) absl::StrAppend(&text, "  and ", writes - kWritesNamed, " more");
  return text;
}

}  // namespace

bool SettledStalls::Take(const LiveStall& stall) {
  const auto shown = [this](const auto& key) { return keys_.contains(key); };
  if (std::all_of(stall.keys.begin(), stall.keys.end(), shown)) return false;
  const size_t replaced = std::erase_if(latest_, [&](const LiveStall& part) {
    return std::find_first_of(part.keys.begin(), part.keys.end(), stall.keys.begin(), stall.keys.end()) !=
           part.keys.end();
  });
  count_ = count_ + 1 - replaced;
  keys_.insert(stall.keys.begin(), stall.keys.end());
  latest_.push_back(stall);
  if (latest_.size() > kStallsKept) latest_.pop_front();
  return true;
}

void LiveFeed::Attach(RunLog& log) {
  log_ = &log;
  Analyzer& analyzer = log.analyzer();
  for (const auto& view : views_) view->OnBegin(analyzer);
  analyzer.SetStepListener([this](const v1::StepReport& step) {
    for (const auto& view : views_) view->OnStep(step);
  });
  log.Watch([this](const v1::JournalRecord& record) {
    for (const auto& view : views_) view->OnRecord(record);
  });
}

void LiveFeed::Update(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts) {
  if (moment_.phase == LivePhase::kStarting) moment_.phase = LivePhase::kRunning;
  next_update_ = now + Wanted().period_ns;
  moment_.now = now;
  switch (moment_.phase) {
    case LivePhase::kIdle:
      return;
    case LivePhase::kPreparing:
      moment_.text = PreparingLine(hosts);
      break;
    case LivePhase::kSettling:
      moment_.text = absl::StrCat("settling  ", Seconds(std::clamp<int64_t>(now - settle_start_, 0, settle_length_ns_)),
                                  "/", Seconds(settle_length_ns_), " before the first step (--settle)");
      break;
    case LivePhase::kDraining:
      moment_.view.phase = absl::StrCat("stopping (", drain_reason_, "): waiting for the last ",
                                        AnyOperation(moment_.view.read_percent), "s");
      moment_.text = absl::StrCat(moment_.view.phase, InFlightText(now, hosts));
      Read(now, hosts, kPatienceNs);
      break;
    case LivePhase::kReleasing:
      moment_.text = absl::StrCat(releasing_, InFlightText(now, hosts));
      break;
    case LivePhase::kBetween:
      break;
    default:
      if (!Read(now, hosts, kPatienceNs)) return;
  }
  Publish();
}

void LiveFeed::Settling(MonotonicNs now, int64_t length_ns) {
  settle_start_ = now;
  settle_length_ns_ = length_ns;
  next_update_ = now;
  Enter(LivePhase::kSettling);
}

void LiveFeed::StepStarts(uint32_t step, uint32_t steps, uint32_t round_steps, const v1::LogStep& spec,
                          MonotonicNs now) {
  moment_ = {};
  moment_.now = now;
  moment_.view.outlook = std::exchange(outlook_, "");
  moment_.view.left_ns = left_ns_;
  moment_.view.read_percent = spec.read_percent();
  moment_.view.now.step = step + 1;
  moment_.view.now.steps = steps;
  moment_.view.now.round_steps = round_steps;
  moment_.view.now.block_size_bytes = spec.block_size_bytes();
  moment_.view.now.swept = SweptParts(spec);
  settled_ = SettledStalls();
  Enter(LivePhase::kStarting);
  // Not at once: the first figures come with the first frames.
  next_update_ = now + Wanted().period_ns;
}

void LiveFeed::Draining(const std::string& reason) {
  drain_reason_ = reason;
  Enter(LivePhase::kDraining);
}

void LiveFeed::StepMeasured(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts) {
  moment_.phase = LivePhase::kMeasured;
  moment_.text.clear();
  moment_.now = now;
  if (!Read(now, hosts, kPatienceAtEndNs)) return;
  SettleStalls(/*all=*/true);
  Publish();
}

void LiveFeed::StepEnds() {
  const LiveSnapshot& now = moment_.view.now;
  moment_.view.phase = now.round_steps == 0 && now.step < now.steps ? "ended, the next step follows" : "ended";
  Enter(LivePhase::kBetween);
}

void LiveFeed::Releasing(const std::string& what) {
  releasing_ = what;
  Enter(LivePhase::kReleasing);
}

void LiveFeed::End() {
  for (const auto& view : views_) view->OnEnd();
}

void LiveFeed::Report(const v1::Report& report) {
  for (const auto& view : views_) view->OnReport(report);
}

void LiveFeed::Line(const std::string& line) {
  const std::string shown = reword_ ? reword_(line) : line;
  for (const auto& view : views_) view->OnLine(shown);
}

void LiveFeed::Warn(const std::string& line) {
  Line("plimsoll: " + SanitizeForTerminal(line));
}

void LiveFeed::ShowOutlook(const std::string& text, int64_t left_ns) {
  outlook_ = text;
  left_ns_ = left_ns;
  const std::string line = SanitizeForTerminal(absl::StrCat("next, ", text, "; ", BudgetText(left_ns)));
  for (const auto& view : views_) view->OnOutlook(line);
}

void LiveFeed::Enter(LivePhase phase) {
  moment_.phase = phase;
  moment_.text.clear();
  moment_.begins = true;
  Publish();
  moment_.begins = false;
}

LiveWant LiveFeed::Wanted() const {
  LiveWant all;
  for (const auto& view : views_) {
    const LiveWant want = view->Wants(moment_.phase);
    all = {std::min(all.period_ns, want.period_ns), std::max(all.need, want.need)};
  }
  return all;
}

bool LiveFeed::Read(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts, int64_t patience_ns) {
  const LiveNeed need = Wanted().need;
  if (need == LiveNeed::kPhase || log_ == nullptr) return false;
  const Analyzer* const analyzer = log_->AnalyzerWithin(patience_ns);
  if (analyzer == nullptr) return false;
  LiveView& view = moment_.view;
  const int64_t known = view.seconds.empty() ? -1 : view.seconds.back().number;
  LiveSnapshot snapshot = analyzer->Live(now.value, known);
  if (snapshot.step != view.now.step) return false;
  view.now = std::move(snapshot);
  for (LiveSecond& second : view.now.seconds) view.seconds.push_back(std::move(second));
  view.now.seconds.clear();
  if (view.seconds.size() > kSecondsKept) view.seconds.erase(view.seconds.begin(), view.seconds.end() - kSecondsKept);
  for (size_t i = 0; i < std::min(hosts.size(), view.now.hosts.size()); ++i) {
    LiveHost& host = view.now.hosts[i];
    if (!hosts[i]->clock.empty()) host.clock_error_ns = hosts[i]->clock.OffsetAtLocal(now.value).error_ns;
    if (!host.lost && !host.done) host.silent_ns = std::max<int64_t>(now - hosts[i]->last_message, 0);
  }
  if (const int64_t began_ns = SystemClock::Read().value; need == LiveNeed::kCriteria && began_ns >= next_look_ns_) {
    criteria_ = analyzer->LiveCriteria();
    const int64_t ended_ns = SystemClock::Read().value;
    next_look_ns_ = ended_ns + std::max(kLookPeriodNs, kRestPerLook * (ended_ns - began_ns));
  }
  view.criteria = criteria_;
  SettleStalls(/*all=*/false);
  return true;
}

void LiveFeed::SettleStalls(bool all) {
  LiveView& view = moment_.view;
  view.stalls.clear();
  for (const LiveStall& stall : view.now.stalls) {
    const bool over = all || (!stall.open && stall.end_ns + kSettledNs < view.now.elapsed_ns);
    if (!over) {
      view.stalls.push_back(stall);
    } else if (settled_.Take(stall)) {
      moment_.settled.push_back(stall);
    }
  }
  if (all) view.now.stalls.clear();
  view.stalls_so_far = settled_.count();
  view.stalls.insert(view.stalls.begin(), settled_.latest().begin(), settled_.latest().end());
}

void LiveFeed::Publish() {
  const auto moment = std::make_shared<const LiveMoment>(moment_);
  moment_.settled.clear();
  for (const auto& view : views_) view->OnMoment(moment);
}

}  // namespace plimsoll
