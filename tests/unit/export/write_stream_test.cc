#include "controller/export/write_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <tuple>

#include "common/trace.h"
#include "controller/export/formats.h"
#include "controller/export/run_index.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/export/traced_journal.h"

namespace plimsoll {
namespace {

class WriteStreamTest : public ::testing::Test {
 protected:
  std::unique_ptr<RunIndex> Index(const std::vector<v1::JournalRecord>& records) {
    std::filesystem::remove(path_);
    tests::WriteJournal(path_, records);
    auto index = RunIndex::Read(path_);
    EXPECT_THAT(index, IsOk());
    return std::move(index).value();
  }
  std::vector<ExportedWrite> Export(const RunIndex& index, const WriteFilter& filter = {}) {
    auto stream = WriteStream::Open(index, filter);
    EXPECT_THAT(stream, IsOk());
    return ReadAll(**stream);
  }

  tests::TempDirectory directory_;
  std::string path_ = directory_.Sub("journal");
};

// Exported operations by host, queue manager and step.
std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<ExportedWrite>> ByWriterAndStep(
    const RunIndex& index, const std::vector<ExportedWrite>& exported) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<ExportedWrite>> found;
  for (const ExportedWrite& one : exported) {
    const IndexedWriter& writer = index.writers().at(one.writer);
    found[{writer.host, writer.qm, one.step}].push_back(one);
  }
  return found;
}

// Compares with the writes of which the journal was made. `tolerance_ns` allows for the clocks.
void ExpectComplete(const SimRun& run, const RunIndex& index, const std::vector<ExportedWrite>& writes, bool warmup,
                    int64_t tolerance_ns) {
  auto found = ByWriterAndStep(index, writes);
  for (uint32_t host = 0; host < run.hosts.size(); ++host) {
    for (uint32_t step = 0; step < run.block_sizes.size(); ++step) {
      for (uint32_t qm = 1; qm <= run.hosts[host].steps[step].size(); ++qm) {
        const std::vector<ExportedWrite>& mine = found[{host, qm, step}];
        size_t next = 0;
        uint64_t seq = 0;
        for (const SimWrite& write : run.hosts[host].steps[step][qm - 1]) {
          ++seq;
          // A write belongs to the part in which it completes.
          const bool is_warmup = write.end_ns() < 0;
          if (is_warmup && !warmup) continue;
          ASSERT_LT(next, mine.size());
          const ExportedWrite& got = mine[next++];
          ASSERT_EQ(got.seq, seq);
          ASSERT_EQ(got.warmup, is_warmup);
          ASSERT_EQ(got.latency_ns, static_cast<uint64_t>(write.latency_ns));
          const int64_t start_ns = index.steps().at(step).measured_start_ns() + write.start_ns;
          ASSERT_LE(std::abs(got.start_ns - start_ns), std::min(tolerance_ns, got.error_ns));
        }
        ASSERT_EQ(next, mine.size());
      }
    }
  }
}

TEST_F(WriteStreamTest, GivesEveryWriteOnceInTheTotalOrderHoweverTracesAreCut) {
  constexpr uint64_t kSeed = 11;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 6; ++i) {
    SimRun run = tests::TwoHosts(random);
    run.hosts[1].coalesce = i % 2 == 0 ? 1 : 3;
    std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
    AddTraces(run, records, random);
    const auto index = Index(records);
    EXPECT_TRUE(index->problems().empty());
    EXPECT_EQ(index->damage(), "");
    for (const bool warmup : {false, true}) {
      const std::vector<ExportedWrite> writes = Export(*index, {std::nullopt, warmup});
      ASSERT_TRUE(std::is_sorted(writes.begin(), writes.end(),
                                 [](const ExportedWrite& a, const ExportedWrite& b) {
                                   return std::tie(a.start_ns, a.writer, a.step, a.seq) <
                                          std::tie(b.start_ns, b.writer, b.step, b.seq);
                                 }))
          << "seed " << kSeed << ", case " << i;
      ExpectComplete(run, *index, writes, warmup, 200'000);
    }
  }
}

TEST_F(WriteStreamTest, OfTheMeasuredPartAgreesWithTheReport) {
  std::mt19937_64 random(12);
  const SimRun run = tests::TwoHosts(random);
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  AddTraces(run, records, random);
  const auto index = Index(records);
  const std::vector<ExportedWrite> writes = Export(*index);
  for (const v1::StepReport& step : index->report().steps()) {
    for (const v1::ScopeReport& scope : step.scopes()) {
      Histogram latency;
      for (const ExportedWrite& write : writes) {
        const IndexedWriter& writer = index->writers()[write.writer];
        const std::string& host = index->hosts().at(writer.host).label;
        if (write.step + 1 != step.number() || (!scope.host().empty() && scope.host() != host) ||
            (scope.qm() != 0 && scope.qm() != writer.qm) ||
            (scope.kind() == v1::SCOPE_KIND_STORAGE &&
             index->report().hosts(static_cast<int>(writer.host)).storage() != scope.storage())) {
          continue;
        }
        latency.Record(write.latency_ns);
      }
      EXPECT_GT(latency.count(), 0U);
      EXPECT_EQ(latency.count(), scope.latency().count());
      EXPECT_EQ(latency.sum_ns(), scope.latency().sum_ns());
      EXPECT_EQ(latency.min_ns(), scope.latency().min_ns());
      EXPECT_EQ(latency.max_ns(), scope.latency().max_ns());
      EXPECT_EQ(latency.PercentileNs(99), scope.latency().p99_ns());
    }
  }
}

TEST_F(WriteStreamTest, OneStepOrOneWriterAloneIsPartOfTheWhole) {
  std::mt19937_64 random(13);
  const SimRun run = tests::TwoHosts(random);
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  AddTraces(run, records, random);
  const auto index = Index(records);
  const std::vector<ExportedWrite> all = Export(*index);
  const std::vector<ExportedWrite> second = Export(*index, {1, false});
  EXPECT_EQ(static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const auto& w) { return w.step == 1; })),
            second.size());
  EXPECT_TRUE(std::all_of(second.begin(), second.end(), [](const auto& w) { return w.step == 1; }));
  auto stream = WriteStream::Open(*index, {});
  ASSERT_THAT(stream, IsOk());
  size_t alone = 0;
  for (uint32_t place = 0; place < index->writers().size(); ++place) {
    EXPECT_THAT((*stream)->ForWriter(place,
                                     [&](const ExportedWrite& write) {
                                       EXPECT_EQ(write.writer, place);
                                       ++alone;
                                       return absl::OkStatus();
                                     }),
                IsOk());
  }
  EXPECT_EQ(alone, all.size());
  EXPECT_THAT((*stream)->ForWriter(0, [](const ExportedWrite&) { return absl::AbortedError("enough"); }),
              StatusIs(absl::StatusCode::kAborted, "enough"));
}

// Makes the probes of the step's last second say that the hosts' clocks have jumped ahead by half a second, so that
// what they show then was earlier on the timeline than what they showed before.
void LetClocksJump(const SimRun& run, std::vector<v1::JournalRecord>& records) {
  const int64_t jump_ns = 500 * kNsPerMs;
  int64_t measured_ns = 0;
  for (v1::JournalRecord& record : records) {
    if (record.has_step_begin()) measured_ns = record.step_begin().start_ns() + run.warmup_ns;
    if (!record.has_probes() || measured_ns == 0) continue;
    for (v1::ProbeResult& probe : *record.mutable_probes()->mutable_probes()) {
      if (probe.sent_ns() < measured_ns + 2 * kNsPerSecond) continue;
      probe.set_agent_received_ns(probe.agent_received_ns() + jump_ns);
      probe.set_agent_sent_ns(probe.agent_sent_ns() + jump_ns);
    }
  }
}

TEST_F(WriteStreamTest, AWriterWhoseClockStepsBackKeepsItsOrderAndItsErrorsHoldTheMove) {
  std::mt19937_64 random(14);
  SimRun run = tests::TwoHosts(random);
  run.hosts.pop_back();
  run.block_sizes = {4096};
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  AddTraces(run, records, random);
  LetClocksJump(run, records);
  const auto index = Index(records);
  auto stream = WriteStream::Open(*index, {});
  ASSERT_THAT(stream, IsOk());
  const std::vector<ExportedWrite> writes = ReadAll(**stream);
  EXPECT_GT((*stream)->moved(), 0U);
  std::map<uint32_t, ExportedWrite> last;
  for (const ExportedWrite& write : writes) {
    if (last.contains(write.writer)) {
      ASSERT_EQ(write.seq, last[write.writer].seq + 1);
      ASSERT_GE(write.start_ns, last[write.writer].start_ns);
    }
    last[write.writer] = write;
  }
  EXPECT_EQ(writes.size(), index->report().steps(0).scopes().rbegin()->latency().count());
}

// Compares with the reads and writes of which the journal was made: each writer's are in the order in which it made
// them.
void ExpectReadsAndWritesInOrder(const SimRun& run, const RunIndex& index, const std::vector<ExportedWrite>& all,
                                 bool warmup) {
  auto found = ByWriterAndStep(index, all);
  for (uint32_t host = 0; host < run.hosts.size(); ++host) {
    for (uint32_t step = 0; step < run.block_sizes.size(); ++step) {
      for (uint32_t qm = 1; qm <= run.hosts[host].steps[step].size(); ++qm) {
        const std::vector<ExportedWrite>& mine = found[{host, qm, step}];
        size_t next = 0;
        uint64_t number = 0;
        std::map<bool, uint64_t> seq;
        for (const SimWrite& made : run.hosts[host].steps[step][qm - 1]) {
          const bool read = IsRead(run, run.hosts[host], ++number);
          ++seq[read];
          if (made.end_ns() < 0 && !warmup) continue;
          ASSERT_LT(next, mine.size());
          const ExportedWrite& got = mine[next++];
          ASSERT_EQ(got.read, read);
          ASSERT_EQ(got.seq, seq[read]);
          ASSERT_EQ(got.latency_ns, static_cast<uint64_t>(made.latency_ns));
          ASSERT_EQ(got.bytes, run.block_sizes[step]);
          ASSERT_EQ(got.warmup, made.end_ns() < 0);
        }
        ASSERT_EQ(next, mine.size());
        ASSERT_GT(seq[true], 0U);
      }
    }
  }
}

TEST_F(WriteStreamTest, GivesTheReadsAndWritesOfAWriterInTheOrderInWhichItMadeThem) {
  constexpr uint64_t kSeed = 19;
  std::mt19937_64 random(kSeed);
  for (const uint32_t read_percent : {1U, 30U, 50U, 99U}) {
    SimRun run = tests::TwoHosts(random);
    run.read_percent = read_percent;
    run.hosts[1].coalesce = 3;
    std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
    AddTraces(run, records, random);
    const auto index = Index(records);
    EXPECT_TRUE(index->problems().empty());
    EXPECT_STREQ(index->OperationsText(), "reads and writes");
    for (const bool warmup : {false, true}) {
      const std::vector<ExportedWrite> all = Export(*index, {std::nullopt, warmup});
      ASSERT_TRUE(std::is_sorted(all.begin(), all.end(),
                                 [](const ExportedWrite& a, const ExportedWrite& b) {
                                   return std::tie(a.start_ns, a.writer) < std::tie(b.start_ns, b.writer);
                                 }))
          << "seed " << kSeed << ", " << read_percent << " % reads";
      ExpectReadsAndWritesInOrder(run, *index, all, warmup);
    }
    auto stream = WriteStream::Open(*index, {});
    ASSERT_THAT(stream, IsOk());
    std::vector<ExportedWrite> alone;
    for (uint32_t place = 0; place < index->writers().size(); ++place) {
      EXPECT_THAT((*stream)->ForWriter(place,
                                       [&alone](const ExportedWrite& one) {
                                         alone.push_back(one);
                                         return absl::OkStatus();
                                       }),
                  IsOk());
    }
    ExpectReadsAndWritesInOrder(run, *index, alone, false);
  }
}

TEST_F(WriteStreamTest, AWriterWhoseClockStepsBackKeepsTheOrderOfItsReadsAndWrites) {
  std::mt19937_64 random(20);
  SimRun run = tests::TwoHosts(random);
  run.hosts.pop_back();
  run.block_sizes = {4096};
  run.read_percent = 40;
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  AddTraces(run, records, random);
  LetClocksJump(run, records);
  const auto index = Index(records);
  auto stream = WriteStream::Open(*index, {});
  ASSERT_THAT(stream, IsOk());
  ExpectReadsAndWritesInOrder(run, *index, ReadAll(**stream), false);
  EXPECT_GT((*stream)->moved(), 0U);
}

TEST_F(WriteStreamTest, MarksEachOperationAsAReadWhereAllRead) {
  std::mt19937_64 random(21);
  SimRun run = tests::TwoHosts(random);
  run.read_percent = 100;
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  AddTraces(run, records, random);
  const auto index = Index(records);
  EXPECT_STREQ(index->OperationsText(), "reads");
  const std::vector<ExportedWrite> reads = Export(*index, {std::nullopt, true});
  EXPECT_TRUE(std::all_of(reads.begin(), reads.end(), [](const ExportedWrite& one) { return one.read; }));
  ExpectComplete(run, *index, reads, true, 200'000);
}

TEST_F(WriteStreamTest, CountsReadsInNoTraceAndLeavesOutThoseThatContradictTheirFrame) {
  std::mt19937_64 random(22);
  SimRun run = tests::TwoHosts(random);
  run.read_percent = 50;
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  AddTraces(run, records, random);
  uint64_t dropped = 0;
  uint64_t left_out = 0;
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames()) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.operation() == 0 || frame.closing()) continue;
      if (frame.first_interval() == 1) {
        frame.clear_trace();
        frame.set_untraced_writes(frame.latency().count());
        dropped += frame.latency().count();
      } else if (frame.first_interval() == 2) {
        TraceEncoder encoder;
        encoder.Add(frame.first_start_ns(), 1);
        frame.clear_trace();
        frame.add_trace(encoder.Finish());
        left_out += frame.latency().count();
      }
    }
  }
  ASSERT_GT(dropped, 0U);
  ASSERT_GT(left_out, 0U);
  const auto index = Index(records);
  EXPECT_TRUE(index->contradicted());
  ASSERT_FALSE(index->problems().empty());
  EXPECT_THAT(index->problems()[0], HasSubstr(" reads of a frame of alpha/qm1, step 1: its trace holds 1 reads, not "));
  uint64_t untraced = 0;
  for (const auto& [step, counts] : index->untraced()) untraced += counts.measured;
  EXPECT_EQ(untraced, dropped);
  uint64_t reported = 0;
  for (const v1::StepReport& step : index->report().steps()) {
    ASSERT_EQ(step.operations_size(), 1);
    reported += step.scopes().rbegin()->latency().count() + step.operations(0).scopes().rbegin()->latency().count();
  }
  EXPECT_EQ(Export(*index).size() + dropped + left_out, reported);
}

TEST_F(WriteStreamTest, ReportsHowManyWritesAreInNoTraceAndKeepsTheNumbersOfTheOthers) {
  std::mt19937_64 random(15);
  SimRun run = tests::TwoHosts(random);
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  AddTraces(run, records, random);
  uint64_t dropped = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    if (!records[i].has_frames() || i % 3 != 0) continue;
    for (v1::Frame& frame : *records[i].mutable_frames()->mutable_frames()) {
      if (frame.first_interval() < 0) continue;
      frame.clear_trace();
      frame.set_untraced_writes(frame.latency().count());
      dropped += frame.latency().count();
    }
  }
  ASSERT_GT(dropped, 0U);
  const auto index = Index(records);
  EXPECT_TRUE(index->problems().empty());
  uint64_t untraced = 0;
  for (const auto& [step, counts] : index->untraced()) untraced += counts.measured;
  EXPECT_EQ(untraced, dropped);
  const std::vector<ExportedWrite> writes = Export(*index);
  uint64_t reported = 0;
  for (const v1::StepReport& step : index->report().steps()) reported += step.scopes().rbegin()->latency().count();
  EXPECT_EQ(writes.size() + dropped, reported);
  for (const ExportedWrite& write : writes) {
    const IndexedWriter& writer = index->writers()[write.writer];
    const SimWrite& made = run.hosts[writer.host].steps[write.step][writer.qm - 1].at(write.seq - 1);
    ASSERT_EQ(write.latency_ns, static_cast<uint64_t>(made.latency_ns));
  }
}

TEST_F(WriteStreamTest, LeavesOutATraceThatContradictsItsFrameAndSaysSo) {
  std::mt19937_64 random(16);
  const SimRun run = tests::TwoHosts(random);
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  AddTraces(run, records, random);
  uint64_t left_out = 0;
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames() || record.frames().frames(0).first_interval() != 2) continue;
    v1::Frame& frame = *record.mutable_frames()->mutable_frames(0);
    left_out += frame.latency().count();
    frame.clear_trace();
    TraceEncoder encoder;
    for (uint64_t i = 0; i < frame.latency().count(); ++i) encoder.Add(frame.first_start_ns(), 1);
    frame.add_trace(encoder.Finish());
  }
  ASSERT_GT(left_out, 0U);
  const auto index = Index(records);
  EXPECT_TRUE(index->contradicted());
  ASSERT_FALSE(index->problems().empty());
  EXPECT_NE(index->problems()[0].find("differs from its latencies"), std::string::npos) << index->problems()[0];
  uint64_t reported = 0;
  for (const v1::StepReport& step : index->report().steps()) reported += step.scopes().rbegin()->latency().count();
  EXPECT_EQ(Export(*index).size() + left_out, reported);
}

TEST_F(WriteStreamTest, LeavesOutAStepOfWhichTheBeginIsNotKnownAndSaysSo) {
  std::mt19937_64 random(17);
  const SimRun run = tests::TwoHosts(random);
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  AddTraces(run, records, random);
  for (v1::JournalRecord& record : records) {
    if (record.has_step_begin() && record.step_begin().step() == 1)
      record.mutable_step_begin()->set_start_ns(INT64_MAX);
  }
  const auto index = Index(records);
  EXPECT_TRUE(index->frames_left_out());
  ASSERT_FALSE(index->problems().empty());
  EXPECT_NE(index->problems()[0].find(" writes of step 2, whose beginning is not in the journal."), std::string::npos)
      << index->problems()[0];
  const std::vector<ExportedWrite> writes = Export(*index);
  EXPECT_EQ(writes.size(), index->report().steps(0).scopes().rbegin()->latency().count());
  auto stream = WriteStream::Open(*index, {});
  ASSERT_THAT(stream, IsOk());
  std::ostringstream text;
  EXPECT_THAT(ExportCsv(*index, {}, **stream, *MakeStreamOutput(text)), IsOk());
}

TEST_F(WriteStreamTest, OfACutOffJournalGivesWhatIsWhole) {
  std::mt19937_64 random(17);
  const SimRun run = tests::TwoHosts(random);
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  AddTraces(run, records, random);
  tests::WriteJournal(path_, records);
  const auto size = std::filesystem::file_size(path_);
  size_t last = SIZE_MAX;
  for (int i = 9; i > 1; --i) {
    std::filesystem::resize_file(path_, size * static_cast<uintmax_t>(i) / 10);
    const auto index = RunIndex::Read(path_);
    ASSERT_THAT(index, IsOk());
    EXPECT_NE((*index)->damage(), "");
    const std::vector<ExportedWrite> writes = Export(**index);
    EXPECT_LE(writes.size(), last);
    last = writes.size();
    uint64_t reported = 0;
    for (const v1::StepReport& step : (*index)->report().steps()) reported += step.scopes().rbegin()->latency().count();
    EXPECT_EQ(writes.size(), reported);
  }
}

TEST_F(WriteStreamTest, NoticesAJournalThatChangesMeanwhile) {
  std::mt19937_64 random(18);
  const SimRun run = tests::TwoHosts(random);
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  AddTraces(run, records, random);
  const auto index = Index(records);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  auto stream = WriteStream::Open(*index, {});
  ASSERT_THAT(stream, IsOk());
  std::vector<ExportedWrite> writes;
  absl::Status status;
  do {
    status = (*stream)->Next(writes);
  } while (status.ok() && !writes.empty());
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, "shrank while"));
}

// Frames of which only some writes are in a block.
class PartialFrame : public ::testing::Test {
 protected:
  PartialFrame() {
    frame_.set_first_seq(100);
    frame_.set_first_start_ns(1'000);
    frame_.set_last_end_ns(1'000 + 9 * 20 + 10);
    frame_.mutable_latency()->set_count(10);
    frame_.mutable_latency()->set_sum_ns(100);
    frame_.mutable_latency()->set_min_ns(10);
    frame_.mutable_latency()->set_max_ns(10);
  }
  // Adds writes [from, to) of the ten as a block.
  void AddBlock(int from, int to) {
    TraceEncoder encoder;
    for (int i = from; i < to; ++i) encoder.Add(1'000 + 20 * i, 10);
    frame_.add_trace(encoder.Finish());
  }
  std::vector<uint64_t> Numbers(uint64_t untraced) {
    frame_.set_untraced_writes(untraced);
    std::vector<TracedWrite> scratch;
    const auto blocks = ReadFrameBlocks(frame_, 4096, false, scratch);
    EXPECT_THAT(blocks, IsOk());
    std::vector<uint64_t> numbers;
    if (blocks.ok()) {
      for (const BlockContents& block : *blocks) numbers.push_back(block.first_seq);
    }
    return numbers;
  }

  v1::Frame frame_;
};

TEST_F(PartialFrame, WhoseTraceStoppedNumbersFromItsBeginning) {
  AddBlock(0, 4);
  EXPECT_EQ(Numbers(6), std::vector<uint64_t>({100}));
}

TEST_F(PartialFrame, WhoseFirstTracesWereDroppedNumbersFromItsEnd) {
  AddBlock(7, 10);
  EXPECT_EQ(Numbers(7), std::vector<uint64_t>({107}));
}

TEST_F(PartialFrame, DoesNotGuessWhatLiesBetween) {
  AddBlock(0, 2);
  AddBlock(4, 5);
  AddBlock(8, 10);
  EXPECT_EQ(Numbers(5), std::vector<uint64_t>({100, 0, 108}));
}

TEST_F(PartialFrame, SizesAreInTheTracesOfAMixAndNowhereElse) {
  AddBlock(0, 10);
  std::vector<TracedWrite> scratch;
  EXPECT_THAT(ReadFrameBlocks(frame_, 0, false, scratch), StatusIs(absl::StatusCode::kInvalidArgument, "has no sizes"));
  TraceEncoder encoder({4096, 8192});
  for (int i = 0; i < 10; ++i) encoder.Add(1'000 + 20 * i, 10, static_cast<uint32_t>(i % 2));
  frame_.set_trace(0, encoder.Finish());
  EXPECT_THAT(ReadFrameBlocks(frame_, 4096, false, scratch), StatusIs(absl::StatusCode::kInvalidArgument, "has sizes"));
  frame_.set_bytes(5 * 4096 + 5 * 8192);
  EXPECT_THAT(ReadFrameBlocks(frame_, 0, false, scratch), IsOk());
  frame_.set_bytes(10 * 4096);
  EXPECT_THAT(ReadFrameBlocks(frame_, 0, false, scratch),
              StatusIs(absl::StatusCode::kInvalidArgument, "differ from its bytes"));
}

TEST_F(PartialFrame, TimesOfWriteCallsAreRefusedWhereTheStepDoesNotMeasureThem) {
  TraceEncoder encoder({}, /*parts=*/true);
  for (int i = 0; i < 10; ++i) encoder.Add(1'000 + 20 * i, 10, 0, 4);
  frame_.add_trace(encoder.Finish());
  std::vector<TracedWrite> scratch;
  EXPECT_THAT(ReadFrameBlocks(frame_, 4096, true, scratch), IsOk());
  EXPECT_THAT(ReadFrameBlocks(frame_, 4096, false, scratch),
              StatusIs(absl::StatusCode::kInvalidArgument, "times of write calls"));
}

TEST_F(PartialFrame, RefusesAnotherNumberOfWrites) {
  AddBlock(0, 4);
  frame_.set_untraced_writes(5);
  std::vector<TracedWrite> scratch;
  EXPECT_THAT(ReadFrameBlocks(frame_, 4096, false, scratch),
              StatusIs(absl::StatusCode::kInvalidArgument, "holds 4 writes, not 5"));
}

}  // namespace
}  // namespace plimsoll
