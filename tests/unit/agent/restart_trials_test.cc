// What each phase of a restart reads and writes, on real files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "agent/restart/restart_layout.h"
#include "tests/testing.h"
#include "tests/unit/agent/restart_fixture.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
using RestartTrialsTest = RestartWorkTest;

constexpr int kDataLoss = static_cast<int>(StatusCode::kDataLoss);
constexpr char kSecondExtent[] = "qm1/active/S0000001.LOG";

TEST_F(RestartTrialsTest, PerRecordMakesExactlyTheConfiguredCalls) {
  CreateAndPrepare();
  const v1::RestartTrialDone half = Complete(Redo(v1::RESTART_REDO_WAY_PER_RECORD, 500));
  EXPECT_EQ(half.queue_reads().count() + half.queue_writes().count(), 1200U);
  // Two calls are a read and a write; the third one reads the queue file's first page.
  EXPECT_EQ(half.queue_writes().count(), 500U);
  const v1::RestartTrialDone whole = Complete(Redo(v1::RESTART_REDO_WAY_PER_RECORD, 1000));
  EXPECT_EQ(whole.queue_reads().count(), 1400U);
  EXPECT_EQ(whole.queue_writes().count(), 1000U);
  EXPECT_GT(whole.queue_writes().sum_ns(), 0);
  EXPECT_GE(whole.queue_writes().sum_ns(), whole.queue_writes().max_ns());
  EXPECT_EQ(whole.flushes().count(), kQueues);
  EXPECT_FALSE(whole.has_log_writes());
}

TEST_F(RestartTrialsTest, FourCallsARecordAlsoWriteTheFirstPageOfItsQueueFile) {
  CreateAndPrepare();
  const std::string before = ReadPage(PathOf("qm1/queues/queue1"), 0);
  v1::RestartTrial trial = Redo(v1::RESTART_REDO_WAY_PER_RECORD, 1);
  trial.mutable_redo()->set_round_trips_per_record(3);
  const v1::RestartTrialDone three = Complete(trial);
  EXPECT_EQ(three.queue_reads().count(), 2U);
  EXPECT_EQ(three.queue_writes().count(), 1U);
  EXPECT_EQ(three.flushes().count(), 1U);
  EXPECT_EQ(ReadPage(PathOf("qm1/queues/queue1"), 0), before);
  trial = Redo(v1::RESTART_REDO_WAY_PER_RECORD, 1);
  trial.mutable_redo()->set_round_trips_per_record(4);
  EXPECT_EQ(Complete(trial).queue_writes().count(), 2U);
  const std::string after = ReadPage(PathOf("qm1/queues/queue1"), 0);
  EXPECT_NE(after, before);
  EXPECT_EQ(StampOf(after), StampOf(before));
}

TEST_F(RestartTrialsTest, CoalescedMakesAtMostATenthOfTheCallsOfPerRecord) {
  CreateAndPrepare();
  const v1::RestartTrialDone done = Complete(Redo(v1::RESTART_REDO_WAY_COALESCED, 500));
  EXPECT_LE(done.queue_reads().count() + done.queue_writes().count(), 120U);
  // The 50 records of a queue are neighbours: 139,900 bytes, in 35 pages.
  EXPECT_EQ(done.queue_reads().count(), kQueues);
  EXPECT_EQ(done.queue_writes().count(), kQueues);
  EXPECT_EQ(done.queue_reads().bytes(), kQueues * 35 * kPage);
  EXPECT_EQ(done.queue_writes().bytes(), kQueues * 35 * kPage);
  EXPECT_EQ(done.flushes().count(), kQueues);
}

TEST_F(RestartTrialsTest, RedoReadsTheLogInCallsOfAMebibyteThatEndWithTheirExtent) {
  CreateAndPrepare();
  for (const auto way : {v1::RESTART_REDO_WAY_COALESCED, v1::RESTART_REDO_WAY_PER_RECORD}) {
    const v1::RestartTrialDone done = Complete(Redo(way, 1000));
    // Of both full extents 1 MiB and the rest of 256 KiB; of the last one what 2,798,000 bytes need beyond.
    EXPECT_EQ(done.log_reads().count(), 5U);
    EXPECT_EQ(done.log_reads().bytes(), 684U * kPage);
  }
}

TEST_F(RestartTrialsTest, ARecordMayBeLongerThanACallThatReadsTheLog) {
  restart().set_queues(2);
  restart().set_queue_bytes(kPage + kMetadataBytes + 2 * kMiB);
  CreateAndPrepare();
  v1::RestartTrial trial = Redo(v1::RESTART_REDO_WAY_COALESCED, 2);
  trial.mutable_redo()->set_record_bytes(kMiB + 1);
  const v1::RestartTrialDone coalesced = Complete(trial);
  // 257 pages: the range of a call has 256.
  EXPECT_EQ(coalesced.queue_reads().count(), 4U);
  EXPECT_EQ(coalesced.queue_reads().bytes(), 2U * 257 * kPage);
  trial = Redo(v1::RESTART_REDO_WAY_PER_RECORD, 2);
  trial.mutable_redo()->set_record_bytes(kMiB + 1);
  trial.mutable_redo()->set_round_trips_per_record(2);
  const v1::RestartTrialDone per_record = Complete(trial);
  EXPECT_EQ(per_record.queue_reads().count(), 2U);
  EXPECT_EQ(per_record.queue_reads().bytes(), 2U * 257 * kPage);
}

TEST_F(RestartTrialsTest, LoadReadsExactlyTheMetadataOfEveryQueueInBothWays) {
  CreateAndPrepare();
  for (const auto way : {v1::RESTART_LOAD_WAY_SERIAL, v1::RESTART_LOAD_WAY_PARALLEL}) {
    const v1::RestartTrialDone done = Complete(Load(way, 200'000));
    // 49 pages: three calls of 64 KiB and one of 4 KiB.
    EXPECT_EQ(done.queue_reads().count(), kQueues * 4U);
    EXPECT_EQ(done.queue_reads().bytes(), kQueues * 49 * kPage);
    EXPECT_FALSE(done.has_log_reads());
    EXPECT_FALSE(done.has_queue_writes());
    EXPECT_FALSE(done.has_flushes());
  }
}

TEST_F(RestartTrialsTest, UndoMakesTwoCallsAMessageAndOneWriteToTheLogATransaction) {
  CreateAndPrepare();
  const v1::RestartTrialDone done = Complete(Undo(300, 7));
  EXPECT_EQ(done.queue_reads().count(), 300U);
  EXPECT_EQ(done.queue_writes().count(), 300U);
  EXPECT_EQ(done.queue_writes().bytes(), 300U * kPage);
  EXPECT_EQ(done.log_writes().count(), 7U);
  EXPECT_EQ(done.log_writes().bytes(), 7 * RollbackRecordBytes(300, 7));
  EXPECT_EQ(done.flushes().count(), kQueues);
  EXPECT_FALSE(done.has_log_reads());
}

TEST_F(RestartTrialsTest, WritesToTheLogStartAgainAtItsBeginningWhenItIsFull) {
  CreateAndPrepare();
  // 1 MiB holds 256 of them.
  EXPECT_EQ(Complete(Undo(300, 300)).log_writes().count(), 300U);
  for (const uint64_t page : {0U, 43U, 255U}) {
    EXPECT_EQ(StampOf(ReadPage(PathOf("files/rollback.log"), page)).sequence, page + 1);
  }
  EXPECT_EQ(std::filesystem::file_size(PathOf("files/rollback.log")), kMiB);
}

TEST_F(RestartTrialsTest, UndoChangesTheFirstPageOfEveryMessage) {
  CreateAndPrepare();
  const std::string path = PathOf("qm1/queues/queue3");
  std::set<std::string> before;
  for (uint64_t page = 0; page < 16; ++page) before.insert(ReadPage(path, 1 + 64 + page));
  // 30 messages of 2 KiB a queue: 15 pages.
  Complete(Undo(300, 1));
  for (uint64_t page = 0; page < 16; ++page) {
    EXPECT_EQ(before.count(ReadPage(path, 1 + 64 + page)), page < 15 ? 0U : 1U) << page;
  }
}

TEST_F(RestartTrialsTest, PagesThatOneTrialChangedAreWholeForTheNext) {
  CreateAndPrepare();
  for (int round = 0; round < 2; ++round) {
    Complete(Redo(v1::RESTART_REDO_WAY_PER_RECORD, 100));
    Complete(Redo(v1::RESTART_REDO_WAY_COALESCED, 1000));
    Complete(Undo(300, 10));
    Complete(Load(v1::RESTART_LOAD_WAY_PARALLEL, kMetadataBytes));
  }
}

TEST_F(RestartTrialsTest, QueueFilesMayBeReadAndWrittenThroughThePageCache) {
  restart().set_queue_io(v1::RESTART_QUEUE_IO_BUFFERED);
  CreateAndPrepare();
  const v1::RestartTrialDone redo = Complete(Redo(v1::RESTART_REDO_WAY_PER_RECORD, 500));
  EXPECT_EQ(redo.queue_reads().count() + redo.queue_writes().count(), 1200U);
  EXPECT_EQ(redo.flushes().count(), kQueues);
  EXPECT_EQ(Complete(Redo(v1::RESTART_REDO_WAY_COALESCED, 5)).flushes().count(), 5U);
  EXPECT_EQ(Complete(Load(v1::RESTART_LOAD_WAY_SERIAL, kPage)).queue_reads().bytes(), kQueues * kPage);
  EXPECT_EQ(Complete(Undo(3, 1)).flushes().count(), 3U);
}

TEST_F(RestartTrialsTest, TheKernelCountsAtLeastWhatIsReadFromTheLogWithODirect) {
  ASSERT_THAT(Create(), IsOk());
  const auto prepared = Prepare();
  ASSERT_THAT(prepared, IsOk());
  const v1::RestartTrialDone done = Complete(Redo(v1::RESTART_REDO_WAY_COALESCED, 1000));
  if (!prepared->direct() || !done.has_storage_read_bytes()) GTEST_SKIP() << "no O_DIRECT, or no counter";
  EXPECT_GE(done.storage_read_bytes(), done.log_reads().bytes() + done.queue_reads().bytes());
}

TEST_F(RestartTrialsTest, ATornPageOfTheLogIsNamed) {
  CreateAndPrepare();
  std::string page = ReadPage(PathOf(kSecondExtent), 3);
  page[2000] = static_cast<char>(page[2000] ^ 1);
  WritePage(PathOf(kSecondExtent), 3, page);
  const v1::RestartTrialDone done = Run(Redo(v1::RESTART_REDO_WAY_COALESCED, 1000));
  EXPECT_EQ(done.code(), kDataLoss);
  EXPECT_EQ(done.message(), PathOf(kSecondExtent) +
                                ": page 3 (offset 12288) is torn: its content is not what its stamp was written with");
  // Records in front of it do not need that page.
  Complete(Redo(v1::RESTART_REDO_WAY_COALESCED, 400));
}

TEST_F(RestartTrialsTest, AMissingPageOfTheLogIsNamed) {
  CreateAndPrepare();
  WritePage(PathOf(kSecondExtent), 3, std::string(kPage, '\0'));
  v1::RestartTrialDone done = Run(Redo(v1::RESTART_REDO_WAY_PER_RECORD, 1000));
  EXPECT_EQ(done.code(), kDataLoss);
  EXPECT_THAT(done.message(), AllOf(StartsWith(PathOf(kSecondExtent)), HasSubstr("page 3 "), HasSubstr("is missing")));
  std::filesystem::resize_file(PathOf(kSecondExtent), 2 * kPage);
  done = Run(Redo(v1::RESTART_REDO_WAY_COALESCED, 1000));
  EXPECT_EQ(done.code(), kDataLoss);
  EXPECT_THAT(done.message(), AllOf(StartsWith(PathOf(kSecondExtent)), HasSubstr("page 2 is missing")));
}

TEST_F(RestartTrialsTest, AForeignPageOfTheLogIsNamedWithWhatItIs) {
  CreateAndPrepare();
  // The page of another place, of another file, and of another run.
  const std::string of_queue = ReadPage(PathOf("qm1/queues/queue1"), 3);
  const std::string elsewhere = ReadPage(PathOf(kSecondExtent), 5);
  const std::pair<std::string, std::string> cases[] = {
      {elsewhere, "it is page 326 (counted from 1), and page 324 was written here"},
      {of_queue, "it belongs to another file of the directory"},
      {ExtentPage(), "another run wrote it"},
  };
  for (const auto& [page, wrong] : cases) {
    WritePage(PathOf(kSecondExtent), 3, page);
    const v1::RestartTrialDone done = Run(Redo(v1::RESTART_REDO_WAY_COALESCED, 1000));
    EXPECT_EQ(done.code(), kDataLoss);
    EXPECT_EQ(done.message(), PathOf(kSecondExtent) + ": page 3 (offset 12288) is foreign: " + wrong);
  }
}

TEST_F(RestartTrialsTest, APageOfAnotherDirectoryIsForeign) {
  restart().add_dirs(temp_.MakeDirectory("second"));
  CreateAndPrepare();
  WritePage(PathOf(kSecondExtent), 0,
            ReadPage(temp_.Sub(std::string("second/plimsoll-0a1b/alpha/") + kSecondExtent), 0));
  v1::RestartTrial trial = Redo(v1::RESTART_REDO_WAY_COALESCED, 1000);
  EXPECT_THAT(Run(trial).message(), HasSubstr("it belongs to directory 2 of the plan, this is directory 1"));
  trial = Redo(v1::RESTART_REDO_WAY_COALESCED, 1000);
  trial.set_side(1);
  Complete(trial);
}

TEST_F(RestartTrialsTest, AFaultyPageOfAQueueFileEndsEveryPhaseThatReadsIt) {
  CreateAndPrepare();
  const std::string path = PathOf("qm1/queues/queue2");
  // Pages of the metadata and of the first message.
  for (const uint64_t page : {10U, 65U}) WritePage(path, page, std::string(kPage, '\0'));
  const std::string in_metadata = path + ": page 10 (offset 40960) is missing: it carries no stamp of a run";
  const std::string in_messages = path + ": page 65 (offset 266240) is missing: it carries no stamp of a run";
  for (const auto& [trial, message] : {std::pair(Load(v1::RESTART_LOAD_WAY_SERIAL, kMetadataBytes), in_metadata),
                                       {Load(v1::RESTART_LOAD_WAY_PARALLEL, kMetadataBytes), in_metadata},
                                       {Redo(v1::RESTART_REDO_WAY_PER_RECORD, 20), in_messages},
                                       {Redo(v1::RESTART_REDO_WAY_COALESCED, 20), in_messages},
                                       {Undo(20, 1), in_messages}}) {
    const v1::RestartTrialDone done = Run(trial);
    EXPECT_EQ(done.code(), kDataLoss) << trial.ShortDebugString();
    EXPECT_EQ(done.message(), message) << trial.ShortDebugString();
  }
  // Metadata in front of it can be read.
  Complete(Load(v1::RESTART_LOAD_WAY_PARALLEL, 9 * kPage));
}

}  // namespace
}  // namespace plimsoll
