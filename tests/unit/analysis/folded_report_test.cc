// Reports of steps whose frames are folded by age.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/analysis/analyzer.h"
#include "controller/fold/step_fold.h"
#include "tests/random_seed.h"
#include "tests/unit/analysis/journal_builder.h"
#include "tests/unit/analysis/random_numbers.h"

namespace plimsoll::tests {
namespace {

using Records = std::vector<v1::JournalRecord>;

// What a journal with a step that folds its frames holds once its minutes were settled: folded frames in place of those
// that came, up to the mark number `marks`, from 0; then what is not settled, and the rest. Nothing where there is no
// such mark.
Records Settled(const Records& records, const SimRun& run, size_t marks) {
  Records out;
  std::vector<std::pair<uint32_t, v1::Frame>> taken;
  std::optional<StepFold::Mark> stop;
  int64_t now_ns = 0;
  std::unique_ptr<StepFold> fold;
  const auto add_frame = [&](uint32_t host, const v1::Frame& frame, bool settled) {
    v1::JournalRecord& record = out.emplace_back();
    record.set_time_ns(now_ns);
    record.mutable_frames()->set_host(host);
    record.mutable_frames()->set_settled(settled);
    *record.mutable_frames()->add_frames() = frame;
  };
  for (const v1::JournalRecord& record : records) {
    now_ns = record.time_ns();
    if (record.has_step_begin()) {
      FoldRules rules;
      rules.interval_ns = run.interval_ns;
      rules.stall_ns = run.stall_given ? run.stall_ns : 0;
      rules.whole_seconds = record.step_begin().fold().whole_seconds();
      rules.settle_seconds = record.step_begin().fold().settle_seconds();
      rules.around_stall_seconds = record.step_begin().fold().around_stall_seconds();
      rules.most_whole_of_hour = record.step_begin().fold().most_whole_of_hour();
      fold = std::make_unique<StepFold>(rules, [&](uint32_t host, v1::Frame&& frame) {
        if (!stop) add_frame(host, frame, true);
      });
      fold->OnMinute([&, passed = size_t{0}](const StepFold::Mark& mark) mutable {
        if (passed++ == marks) stop = mark;
      });
      for (uint32_t host = 0; host < run.hosts.size(); ++host) {
        std::vector<uint32_t> qms;
        for (uint32_t qm = 1; qm <= run.hosts[host].steps[0].size(); ++qm) qms.push_back(qm);
        fold->Expect(host, qms, record.step_begin().host_start_ns(static_cast<int>(host)) + run.warmup_ns);
      }
    }
    if (!record.has_frames() || stop) {
      out.push_back(record);
      if (stop || !fold) continue;
      if (record.has_host_lost()) fold->Leave(record.host_lost().host());
      if (record.has_step_done()) fold->Leave(record.step_done().host());
    } else {
      for (const v1::Frame& frame : record.frames().frames()) {
        taken.emplace_back(record.frames().host(), frame);
        fold->Take(record.frames().host(), frame);
      }
      if (record.frames().has_sample()) {
        out.push_back(record);
        out.back().mutable_frames()->clear_frames();
      }
    }
    if (!stop || taken.empty()) continue;
    v1::MinutesSettled& mark = *out.emplace_back().mutable_minutes_settled();
    out.back().set_time_ns(now_ns);
    mark.set_settled_seconds(stop->settled_seconds);
    mark.set_whole_of_hour(stop->whole_of_hour);
    for (const auto& [host, frame] : taken) {
      const int64_t second = frame.first_interval() / (kNsPerSecond / run.interval_ns);
      if (frame.first_interval() >= 0 && second >= stop->settled_seconds) add_frame(host, frame, false);
    }
    taken.clear();
  }
  return stop ? out : Records();
}

// A random run of some minutes, of which one step.
SimRun RandomRun(Random& random) {
  SimRun run;
  run.duration_ns = Between(random, 150, 260) * kNsPerSecond;
  run.warmup_ns = Between(random, 0, 1) * 2 * kNsPerSecond;
  run.interval_ns = Between(random, 0, 1) == 0 ? kNsPerSecond : 500 * kNsPerMs;
  run.criteria = {"p99<50ms", "stalls==0"};
  const bool rated = Between(random, 0, 1) == 1;
  const int64_t hosts = Between(random, 1, 2);
  std::vector<std::string> labels;
  for (int64_t host = 0; host < hosts; ++host) labels.push_back("host" + std::to_string(host));
  for (int64_t number = 0; number < hosts; ++number) {
    SimHost host;
    host.label = labels[static_cast<size_t>(number)];
    host.sees = labels;
    host.clock_ahead_ns = Between(random, 0, 1'000) * kNsPerSecond;
    host.rate_per_second = rated ? 10 : 0;
    host.steps.resize(1);
    for (int64_t qm = Between(random, 1, 2); qm > 0; --qm) {
      std::vector<SimStall> stalls;
      for (int64_t at_ns = 0; at_ns < run.duration_ns;) {
        at_ns += Between(random, 5, 120) * kNsPerSecond;
        const int64_t end_ns = at_ns + Between(random, 50, 3'000) * kNsPerMs;
        stalls.push_back({at_ns, end_ns});
        at_ns = end_ns;
      }
      const auto seed = static_cast<uint64_t>(Between(random, 1, 1'000'000));
      host.steps[0].push_back(ClosedLoop(
          run.duration_ns, Between(random, 50, 150) * kNsPerMs,
          WithStalls(
              [seed](uint64_t n, int64_t) { return static_cast<int64_t>(200'000 + (n * 7'919 + seed) % 1'800'000); },
              stalls),
          run.warmup_ns));
    }
    run.hosts.push_back(std::move(host));
  }
  if (hosts > 1 && Between(random, 0, 2) == 0) {
    run.hosts[1].lost_after_ns = Between(random, 10, 149) * kNsPerSecond;
  }
  return run;
}

constexpr int kRuns = 5;
constexpr int64_t kMinuteNs = 60 * kNsPerSecond;

// A run that stopped after any minute and is analysed again from what was settled has the same report, byte for byte.
TEST(FoldedReportProperty, IsTheSameFromTheSettledMinutesAfterEachOfThem) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int i = 0; i < kRuns; ++i) {
    const SimRun run = RandomRun(random);
    const Records records = WithFold(MakeJournal(run));
    const v1::Report report = Analyze(records);
    size_t mark = 0;
    for (;; ++mark) {
      const Records settled = Settled(records, run, mark);
      if (settled.empty()) break;
      const v1::Report again = Analyze(settled);
      std::string differences;
      google::protobuf::util::MessageDifferencer differencer;
      differencer.ReportDifferencesToString(&differences);
      differencer.Compare(report, again);
      ASSERT_TRUE(report.SerializeAsString() == again.SerializeAsString()) << i << ", " << mark << ": " << differences;
    }
    // A run ends when it loses a host, which may be before the second minute is settled.
    if (run.hosts.size() == 1 || !run.hosts[1].lost_after_ns) {
      EXPECT_GE(mark, 1U) << i;
    }
  }
}

// A run of 90 minutes, the last 30 of which are folded, with a stall across the end of a minute.
TEST(FoldedReport, IsTheSameFromTheSettledMinutesAfterTheFirstHour) {
  SimRun run;
  run.duration_ns = 5'400 * kNsPerSecond;
  run.interval_ns = kNsPerSecond;
  run.criteria = {"p99<50ms"};
  SimHost host;
  host.label = "alpha";
  const auto latency = WithStalls([](uint64_t n, int64_t) { return static_cast<int64_t>(1'000'000 + n % 777'777); },
                                  {{3'000 * kNsPerSecond, 3'001 * kNsPerSecond},
                                   {4'200 * kNsPerSecond, 4'202 * kNsPerSecond},
                                   {4'859 * kNsPerSecond, 4'861 * kNsPerSecond}});
  host.steps = {{ClosedLoop(run.duration_ns, 900 * kNsPerMs, latency)}};
  run.hosts.push_back(host);
  const Records records = WithFold(MakeJournal(run), 3'600);
  const std::string report = Analyze(records).SerializeAsString();
  for (const size_t mark : {size_t{0}, size_t{20}, size_t{21}}) {
    const Records settled = Settled(records, run, mark);
    ASSERT_FALSE(settled.empty());
    EXPECT_LT(settled.size(), records.size());
    EXPECT_TRUE(report == Analyze(settled).SerializeAsString()) << mark;
  }
}

// Leaves out the rows from a second on.
void EndSeries(uint32_t second, v1::SeriesReport& series) {
  int rows = 0;
  while (rows < series.second_size() && series.second(rows) < second) ++rows;
  series.mutable_second()->Truncate(rows);
  for (auto* const column :
       {series.mutable_writes(), series.mutable_bytes(), series.mutable_latency_sum_ns(),
        series.mutable_latency_max_ns(), series.mutable_p50_ns(), series.mutable_p99_ns(), series.mutable_p99_9_ns()}) {
    if (column->size() > rows) column->Truncate(rows);
  }
  while (!series.irregular().empty() && series.irregular().rbegin()->row() >= static_cast<uint32_t>(rows)) {
    series.mutable_irregular()->RemoveLast();
  }
}

// Leaves out what a step without a fold has by second where one with a fold has minutes, and these.
void EndSeriesBySecond(uint32_t second, v1::StepReport& step) {
  const auto end = [second](auto& all) {
    for (v1::SeriesReport& series : all) {
      if (series.kind() != v1::SCOPE_KIND_CLUSTER) EndSeries(second, series);
    }
  };
  end(*step.mutable_series());
  if (step.has_response()) end(*step.mutable_response()->mutable_series());
  for (v1::OperationReport& operation : *step.mutable_operations()) {
    end(*operation.mutable_series());
    operation.clear_minutes();
  }
  step.clear_whole_seconds();
  step.clear_minutes();
  step.clear_minute_distributions();
  if (!step.has_response()) return;
  step.mutable_response()->clear_minutes();
  step.mutable_response()->clear_minute_distributions();
}

// Clears what is known of the first minute alone.
void ClearPercentilesBySecond(v1::StepReport& step) {
  step.clear_seconds();
  for (v1::SeriesReport& series : *step.mutable_series()) {
    series.clear_p50_ns();
    series.clear_p99_ns();
    series.clear_p99_9_ns();
  }
  if (!step.has_response()) return;
  step.mutable_response()->clear_seconds();
  for (v1::SeriesReport& series : *step.mutable_response()->mutable_series()) {
    series.clear_p50_ns();
    series.clear_p99_ns();
    series.clear_p99_9_ns();
  }
}

// Every figure but percentiles by second, and single seconds of hosts and queue managers, is that of the report without
// a fold.
TEST(FoldedReportProperty, LacksNothingButSingleSeconds) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int i = 0; i < kRuns; ++i) {
    const SimRun run = RandomRun(random);
    const Records records = MakeJournal(run);
    v1::Report whole = Analyze(records);
    v1::Report folded = Analyze(WithFold(records));
    ASSERT_EQ(folded.steps_size(), 1);
    // A run that lost a host early has nothing to fold.
    const bool minutes = folded.steps(0).has_whole_seconds();
    ASSERT_EQ(minutes, whole.steps(0).measured_ns() > kMinuteNs) << i;
    ASSERT_NE(minutes, google::protobuf::util::MessageDifferencer::Equals(whole.steps(0), folded.steps(0))) << i;
    for (v1::Report* report : {&whole, &folded}) {
      v1::StepReport& step = *report->mutable_steps(0);
      if (minutes) EndSeriesBySecond(60, step);
      ClearPercentilesBySecond(step);
      // What other hosts show of a stall is a bound, which a fold may widen.
      step.mutable_stalls()->clear_classes();
      for (v1::StallReport& stall : *step.mutable_stalls()->mutable_stalls()) {
        stall.clear_stall_class();
        stall.clear_others();
      }
    }
    std::string differences;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&differences);
    EXPECT_TRUE(differencer.Compare(whole.steps(0), folded.steps(0))) << i << ": " << differences;
    EXPECT_EQ(whole.verdict().outcome(), folded.verdict().outcome());
  }
}

// Live views show each second when it is complete, long before the fold gives it out.
TEST(FoldedReport, ShowsTheLastSecondLive) {
  SimRun run = TwoHosts(200 * kNsPerSecond);
  for (SimHost& host : run.hosts) {
    for (SimWriter& writer : host.steps[0]) writer = Steady(run.duration_ns, 2'000'000, 98'000'000);
  }
  Analyzer analyzer;
  Analyzer unfolded;
  int64_t compared = 0;
  for (const v1::JournalRecord& record : WithFold(MakeJournal(run))) {
    v1::JournalRecord plain = record;
    if (plain.has_step_begin()) plain.mutable_step_begin()->clear_fold();
    ASSERT_TRUE(analyzer.Add(record));
    ASSERT_TRUE(unfolded.Add(plain));
    if (!record.has_frames() || record.frames().frames(0).first_interval() % 40 != 3) continue;
    const LiveSnapshot live = analyzer.Live(record.time_ns(), compared);
    const LiveSnapshot expected = unfolded.Live(record.time_ns(), compared);
    ASSERT_EQ(live.seconds.size(), expected.seconds.size());
    for (size_t i = 0; i < live.seconds.size(); ++i) {
      EXPECT_EQ(live.seconds[i].number, expected.seconds[i].number);
      EXPECT_EQ(live.seconds[i].cluster.writes, expected.seconds[i].cluster.writes);
      EXPECT_EQ(live.seconds[i].cluster.p99_ns, expected.seconds[i].cluster.p99_ns);
      compared = live.seconds[i].number;
    }
  }
  EXPECT_GT(compared, 150);
}

std::vector<IntervalRow> RowsOfTenSeconds(const Records& records) {
  std::vector<IntervalRow> rows;
  Analyzer analyzer;
  analyzer.SetIntervalListener(10 * kNsPerSecond, [&rows](const IntervalRow& row) { rows.push_back(row); });
  for (const v1::JournalRecord& record : records) analyzer.Add(record);
  analyzer.Finish();
  return rows;
}

// The rows of --interval lose nothing but percentiles, and the moment of the smallest latency to within a minute.
TEST(FoldedReport, HasTheSumsOfEveryIntervalFromTheSettledMinutes) {
  SimRun run = TwoHosts(250 * kNsPerSecond);
  for (SimHost& host : run.hosts) {
    for (SimWriter& writer : host.steps[0]) {
      writer = ClosedLoop(run.duration_ns, 90 * kNsPerMs,
                          [](uint64_t n, int64_t) { return static_cast<int64_t>(1'000'000 + n * 7'919 % 777'777); });
    }
  }
  const Records records = WithFold(MakeJournal(run));
  const Records settled = Settled(records, run, 1);
  ASSERT_FALSE(settled.empty());
  const std::vector<IntervalRow> rows = RowsOfTenSeconds(records);
  const std::vector<IntervalRow> again = RowsOfTenSeconds(settled);
  ASSERT_EQ(rows.size(), 25U);
  ASSERT_EQ(again.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(again[i].end_ns, rows[i].end_ns);
    EXPECT_EQ(again[i].interval.writes, rows[i].interval.writes) << i;
    EXPECT_EQ(again[i].interval.latency_sum_ns, rows[i].interval.latency_sum_ns) << i;
    EXPECT_EQ(again[i].interval.latency_max_ns, rows[i].interval.latency_max_ns) << i;
    EXPECT_EQ(again[i].total.writes, rows[i].total.writes) << i;
    EXPECT_FALSE(again[i].blurred);
    const bool aged = i >= 6 && i < 18;
    EXPECT_EQ(again[i].p99_ns, aged ? 0 : rows[i].p99_ns) << i;
  }
  EXPECT_EQ(again.back().total.latency_min_ns, rows.back().total.latency_min_ns);
}

TEST(FoldedReport, RefusesFoldedFramesThatAnAgentSent) {
  SimRun run = TwoHosts();
  Records records = MakeJournal(run);
  for (v1::JournalRecord& record : records) {
    if (record.has_frames()) record.mutable_frames()->mutable_frames(0)->mutable_aged()->add_writes(1);
  }
  const v1::Report report = Analyze(records);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), ::testing::Contains(::testing::HasSubstr("folded, as no agent sends it")));
}

}  // namespace
}  // namespace plimsoll::tests
