// The journal of a run whose steps fold their frames by age, however the program or the machine stops.
#include "controller/live/run_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/units.h"
#include "controller/analysis/host_facts.h"
#include "controller/analysis/step_folding.h"
#include "controller/fold/step_fold.h"
#include "controller/timeline/timeline.h"
#include "tests/random_seed.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"
#include "tests/unit/analysis/random_numbers.h"
#include "tests/unit/run/journal_disk.h"

namespace plimsoll::tests {
namespace {

namespace fs = std::filesystem;

using Records = std::vector<v1::JournalRecord>;

constexpr int64_t kWholeSeconds = 60;
constexpr int64_t kSecondsOfFile = 60;

// Writers of some hosts whose steps, which are alike, fold their frames from the second minute on. The last host is
// lost, if it is given how late; a host's kernel is sampled.
SimRun FoldedRun(Random& random, int64_t seconds, uint32_t hosts, std::optional<int64_t> lost_after_s = std::nullopt) {
  SimRun run;
  run.block_sizes = {4096, 8192};
  run.duration_ns = seconds * kNsPerSecond;
  run.warmup_ns = 2 * kNsPerSecond;
  run.interval_ns = kNsPerSecond;
  run.criteria = {"p99<50ms", "stalls==0"};
  std::vector<std::string> labels;
  for (uint32_t host = 0; host < hosts; ++host) labels.push_back("host" + std::to_string(host));
  for (const std::string& label : labels) {
    SimHost host;
    host.label = label;
    host.sees = labels;
    host.clock_ahead_ns = Between(random, 0, 1'000) * kNsPerSecond;
    host.sample = [](uint32_t /*step*/, int64_t /*since_start_ns*/) { return v1::HostSample(); };
    host.steps.resize(2);
    for (int64_t qm = Between(random, 1, 2); qm > 0; --qm) {
      const int64_t at_ns = Between(random, 20, seconds - 10) * kNsPerSecond;
      const auto seed = static_cast<uint64_t>(Between(random, 1, 1'000'000));
      const auto latency = [seed](uint64_t n, int64_t /*start_ns*/) {
        return static_cast<int64_t>(200'000 + (n * 7'919 + seed) % 1'800'000);
      };
      host.steps[0].push_back(ClosedLoop(run.duration_ns, Between(random, 80, 150) * kNsPerMs,
                                         WithStalls(latency, {{at_ns, at_ns + Between(random, 50, 3'000) * kNsPerMs}}),
                                         run.warmup_ns));
    }
    host.steps[1] = host.steps[0];
    run.hosts.push_back(std::move(host));
  }
  if (lost_after_s) run.hosts.back().lost_after_ns = *lost_after_s * kNsPerSecond;
  return run;
}

Records RecordsOf(const SimRun& run) {
  return WithFold(MakeJournal(run), kWholeSeconds);
}

// A journal that was written, and how far it was written out after each call of the system.
class Written {
 public:
  // `flush`: whether the journal's thread rests behind a record.
  Written(const Records& records, const std::string& directory, const std::function<bool()>& flush) {
    fs::create_directories(directory);
    auto file = JournalWriter::Create(directory + "/journal", /*directory=*/-1, disk_.calls());
    EXPECT_THAT(file, IsOk());
    RunJournal journal(*std::move(file), kSecondsOfFile);
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_THAT(journal.Append(records[i]), IsOk());
      most_bytes_ = std::max(most_bytes_, journal.bytes());
      if (!flush()) continue;
      EXPECT_THAT(journal.Flush(), IsOk());
      flushed_[disk_.calls_done()] = i + 1;
    }
    EXPECT_THAT(journal.Flush(), IsOk());
  }

  const JournalDisk& disk() const { return disk_; }
  uint64_t most_bytes() const { return most_bytes_; }
  // Records that were written out once so many calls were done.
  size_t FlushedAfter(size_t calls) const {
    const auto next = flushed_.upper_bound(calls);
    return next == flushed_.begin() ? 0 : std::prev(next)->second;
  }

 private:
  JournalDisk disk_;
  std::map<size_t, size_t> flushed_;
  uint64_t most_bytes_ = 0;
};

// What a reader finds.
struct Found {
  Records records;
  // Records of the run that were taken into account, without a gap.
  size_t taken = 0;
  bool cut = false;
  absl::Status status;
};

Found ReadAll(const std::string& path, const Records& run) {
  Found found;
  uint64_t last_number = 0;
  size_t unnumbered = 0;
  const auto end = ReadJournal(path, [&](const v1::JournalRecord& record) {
    found.records.push_back(record);
    last_number = std::max(last_number, record.number());
    unnumbered += record.number() == 0 ? 1U : 0U;
  });
  found.status = end.status();
  found.cut = !end.ok() || end->trailing_bytes > 0;
  found.taken = unnumbered + last_number;
  EXPECT_LE(found.taken, run.size());
  return found;
}

// Frames of the records that no fold has touched, or that it gave out: how often each interval of a writer is there.
void ExpectEachIntervalOnce(const Records& records) {
  std::set<std::tuple<uint32_t, uint32_t, uint32_t, int64_t>> seen;
  for (const v1::JournalRecord& record : records) {
    for (const v1::Frame& frame : record.frames().frames()) {
      if (frame.closing()) continue;
      const int64_t intervals = std::max<int64_t>(frame.interval_count(), 1);
      for (int64_t i = 0; i < intervals; ++i) {
        const auto [place, first] =
            seen.insert({frame.step(), record.frames().host(), frame.qm(), frame.first_interval() + i});
        ASSERT_TRUE(first) << "interval " << frame.first_interval() + i << " of a writer counts twice";
      }
    }
  }
}

// What the report is made of: what the fold gives out, by writer, and the other records.
std::string Outcome(const Records& records) {
  std::map<std::pair<uint32_t, uint32_t>, std::string> of_writers;
  std::string others;
  v1::RunBegin run;
  HostTable hosts;
  std::unique_ptr<StepFold> fold;
  const auto take = [&of_writers](uint32_t host, const v1::Frame& frame) {
    of_writers[{host, frame.qm()}] += frame.SerializeAsString();
  };
  const auto finish = [&fold] {
    if (fold != nullptr) fold->Finish();
    fold.reset();
  };
  for (v1::JournalRecord record : records) {
    if (record.has_run_begin()) run = record.run_begin();
    if (record.has_host_joined()) hosts[record.host_joined().host()].joined = record.host_joined();
    if (record.has_host_lost()) hosts[record.host_lost().host()].lost = record.host_lost();
    if (record.has_step_begin()) {
      finish();
      const v1::StepBegin& begin = record.step_begin();
      const v1::LogStep& spec = *SpecOf(run, begin);
      const FoldRules rules =
          FoldRulesOf(begin.fold(), run.frame_interval_ns(), StallOf(run.plan()), spec.duration_ns()).value();
      fold = std::make_unique<StepFold>(rules, [&](uint32_t host, v1::Frame&& frame) { take(host, frame); });
      ExpectWriters(begin, spec, hosts, *fold);
    }
    if (record.has_minutes_settled()) {
      fold->Resume({record.minutes_settled().settled_seconds(), record.minutes_settled().whole_of_hour()});
      continue;
    }
    const v1::HostFrames& frames = record.frames();
    for (const v1::Frame& frame : frames.frames()) {
      if (frames.settled()) {
        fold->Restore(frames.host(), frame);
        take(frames.host(), frame);
      } else {
        fold->Take(frames.host(), frame);
      }
    }
    if (fold != nullptr && record.has_host_lost()) fold->Leave(record.host_lost().host());
    if (fold != nullptr && record.has_step_done()) fold->Leave(record.step_done().host());
    if (record.has_frames() && !frames.has_sample()) continue;
    record.clear_number();
    if (record.has_frames()) {
      record.mutable_frames()->clear_frames();
      record.mutable_frames()->clear_split();
    }
    others += record.SerializeAsString();
  }
  finish();
  for (const auto& [writer, bytes] : of_writers) others += "|" + bytes;
  return others;
}

// What the run's first records lead to. Kept, since many moments share it.
class Expected {
 public:
  explicit Expected(const Records& run) : run_(run) {}
  const std::string& Of(size_t records) {
    std::string& outcome = outcomes_[records];
    if (outcome.empty()) outcome = Outcome(First(records));
    return outcome;
  }
  std::string ReportOf(size_t records) const { return Analyze(First(records)).SerializeAsString(); }

 private:
  Records First(size_t records) const { return {run_.begin(), run_.begin() + static_cast<std::ptrdiff_t>(records)}; }

  const Records& run_;
  std::map<size_t, std::string> outcomes_;
};

class RunJournalTest : public ::testing::Test {
 protected:
  const uint32_t seed_ = RandomSeed();
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(seed_)};
  Random random_{seed_};
  TempDirectory directory_;
  const std::string written_ = directory_.path() + "/written";
  const std::string left_ = directory_.path() + "/left";
};

TEST_F(RunJournalTest, HoldsWhatTheFoldMadeAndNothingElseOnceTheRunIsOver) {
  const Records run = RecordsOf(FoldedRun(random_, 250, 2));
  const Written written(run, written_, [&] { return Between(random_, 0, 3) == 0; });
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(written_)) names.push_back(entry.path().filename().string());
  EXPECT_THAT(names, ElementsAre("journal"));
  const Found found = ReadAll(written_ + "/journal", run);
  EXPECT_THAT(found.status, IsOk());
  EXPECT_FALSE(found.cut);
  EXPECT_EQ(found.taken, run.size());
  ExpectEachIntervalOnce(found.records);
  uint64_t marks = 0;
  uint64_t folded = 0;
  for (const v1::JournalRecord& record : found.records) {
    marks += record.has_minutes_settled() ? 1U : 0U;
    folded += record.frames().settled() ? 1U : 0U;
    for (const v1::Frame& frame : record.frames().frames()) {
      EXPECT_EQ(record.frames().settled(), frame.first_interval() >= kWholeSeconds);
    }
  }
  EXPECT_GE(marks, 3U);
  EXPECT_GT(folded, 0U);
  EXPECT_EQ(Analyze(found.records).SerializeAsString(), Analyze(run).SerializeAsString());
}

TEST_F(RunJournalTest, UsesAFileAgainOnlyOnceTheJournalIsOnTheDisk) {
  const Records run = RecordsOf(FoldedRun(random_, 300, 1));
  const Written written(run, written_, [] { return true; });
  // In each step four minutes in two files; and at its end.
  EXPECT_GE(written.disk().Count("clear"), 8U);
  EXPECT_GE(written.disk().Count("sync"), 6U);
  EXPECT_LT(fs::file_size(written_ + "/journal"), written.most_bytes());
}

TEST_F(RunJournalTest, OfStepsThatDoNotFoldIsWhatItWas) {
  Records run = RecordsOf(FoldedRun(random_, 100, 2));
  for (v1::JournalRecord& record : run) {
    if (record.has_step_begin()) record.mutable_step_begin()->clear_fold();
  }
  const Written written(run, written_, [] { return false; });
  auto plain = JournalWriter::Create(directory_.path() + "/plain");
  ASSERT_THAT(plain, IsOk());
  for (const v1::JournalRecord& record : run) ASSERT_THAT((*plain)->Append(record), IsOk());
  ASSERT_THAT((*plain)->Flush(), IsOk());
  const auto bytes = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  EXPECT_TRUE(bytes(written_ + "/journal") == bytes(directory_.path() + "/plain"));
}

TEST_F(RunJournalTest, OfAStepThatEndsBeforeAnythingIsFoldedHasNoOtherFile) {
  const Records run = RecordsOf(FoldedRun(random_, 45, 1));
  const Written written(run, written_, [] { return true; });
  EXPECT_EQ(written.disk().Count("clear"), 0U);
  const Found found = ReadAll(written_ + "/journal", run);
  for (const v1::JournalRecord& record : found.records) EXPECT_FALSE(record.has_minutes_settled());
  EXPECT_EQ(Analyze(found.records).SerializeAsString(), Analyze(run).SerializeAsString());
}

// Killed at a thousand moments, in runs with and without a lost host: the report is that of the records that had come,
// all of those that were written out among them.
TEST_F(RunJournalTest, KilledAtAnyMomentCountsNothingTwiceAndLosesNothing) {
  constexpr uint32_t kRuns = 5;
  constexpr int kKills = 200;
  // A report takes far longer than all that it is made of.
  constexpr int kReportEach = 20;
  for (uint32_t i = 0; i < kRuns; ++i) {
    const bool loses = i % 2 == 1;
    const Records run = RecordsOf(FoldedRun(random_, Between(random_, 130, 220), loses ? 2 : 1 + i / 2,
                                            loses ? std::optional(Between(random_, 70, 120)) : std::nullopt));
    const int rarely = static_cast<int>(Between(random_, 1, 20));
    fs::remove_all(written_);
    const Written written(run, written_, [&] { return Between(random_, 0, rarely) == 0; });
    Expected expected(run);
    for (int kill = 0; kill < kKills; ++kill) {
      const auto calls = static_cast<size_t>(Between(random_, 1, static_cast<int64_t>(written.disk().calls_done())));
      const double share = static_cast<double>(Between(random_, 0, 1'000)) / 1'000;
      SCOPED_TRACE("run " + std::to_string(i) + ", after call " + std::to_string(calls));
      JournalDisk::Put(written.disk().AfterKill(calls, share), left_);
      const Found found = ReadAll(left_ + "/journal", run);
      ASSERT_THAT(found.status, IsOk());
      ASSERT_GE(found.taken, written.FlushedAfter(calls));
      ExpectEachIntervalOnce(found.records);
      ASSERT_TRUE(Outcome(found.records) == expected.Of(found.taken)) << found.taken;
      if (kill % kReportEach != 0) continue;
      ASSERT_TRUE(Analyze(found.records).SerializeAsString() == expected.ReportOf(found.taken)) << found.taken;
    }
  }
}

// A machine that loses power, or files that were cut, may leave less. What is left counts once, and a report that lacks
// records in the middle says that it was cut off.
TEST_F(RunJournalTest, AfterALossOfPowerOrACutCountsNothingTwiceAndHidesNoGap) {
  const Records run = RecordsOf(FoldedRun(random_, 200, 2, 150));
  const Written written(run, written_, [&] { return Between(random_, 0, 10) == 0; });
  Expected expected(run);
  const auto up_to = [&](uint64_t most) {
    return static_cast<uint64_t>(Between(random_, 0, static_cast<int64_t>(most)));
  };
  for (int loss = 0; loss < 300; ++loss) {
    const auto calls = static_cast<size_t>(Between(random_, 1, static_cast<int64_t>(written.disk().calls_done())));
    SCOPED_TRACE("after call " + std::to_string(calls));
    JournalDisk::Files files = written.disk().AfterPowerLoss(calls, up_to);
    if (loss % 3 == 0) {
      files = written.disk().AfterKill(calls, 0);
      for (auto& [name, bytes] : files) {
        if (up_to(1) == 0) bytes.resize(up_to(bytes.size()));
      }
    }
    if (files["journal"].size() < 8) continue;
    JournalDisk::Put(files, left_);
    const Found found = ReadAll(left_ + "/journal", run);
    ASSERT_THAT(found.status, IsOk());
    ExpectEachIntervalOnce(found.records);
    if (!found.cut && files.size() > 1) {
      ASSERT_TRUE(Outcome(found.records) == expected.Of(found.taken)) << found.taken;
    }
    if (found.taken < run.size() && loss % 30 == 0) {
      EXPECT_NE(Analyze(found.records).verdict().outcome(), v1::OUTCOME_PASS);
    }
  }
}

TEST_F(RunJournalTest, NamesTheFileOfFramesThatIsDamaged) {
  const Records run = RecordsOf(FoldedRun(random_, 200, 1));
  const Written written(run, written_, [] { return true; });
  JournalDisk::Files files;
  for (size_t calls = written.disk().calls_done(); files[std::string("journal") + kRecentSuffixes[0]].size() < 5'000;) {
    ASSERT_GT(calls, 0U);
    files = written.disk().AfterKill(--calls, 0);
  }
  std::string& recent = files[std::string("journal") + kRecentSuffixes[0]];
  // In the payload of the first record.
  recent[40] = static_cast<char>(recent[40] ^ 1);
  JournalDisk::Put(files, left_);
  const Found found = ReadAll(left_ + "/journal", run);
  EXPECT_THAT(found.status, StatusIs(absl::StatusCode::kDataLoss, "journal.recent-0: record 1 at byte 8 is damaged"));
  EXPECT_FALSE(found.records.empty());
  ExpectEachIntervalOnce(found.records);
  recent = "something else";
  JournalDisk::Put(files, left_);
  const Found other = ReadAll(left_ + "/journal", run);
  EXPECT_THAT(other.status, StatusIs(absl::StatusCode::kDataLoss, "journal.recent-0 is damaged"));
  EXPECT_FALSE(other.records.empty());
}

}  // namespace
}  // namespace plimsoll::tests
