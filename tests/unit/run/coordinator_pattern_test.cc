// Recorded log writes on their way from the controller to the hosts that play them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/testing.h"
#include "tests/unit/run/coordinator_fixture.h"

namespace plimsoll::tests {
namespace {

class CoordinatorPattern : public CoordinatorTest {
 protected:
  CoordinatorPattern() : got_(2) {
    for (size_t i = 0; i < 2; ++i) {
      scripts_[i].on_preparing = [this, i](const std::string& what) { got_[i].push_back(what); };
      scripts_[i].on_chunk = [this, i](const v1::PatternChunk& chunk) {
        got_[i].push_back(absl::StrCat("chunk ", chunk.stream(), ":", chunk.gap_ns(0)));
      };
    }
  }

  // A recording of these chunks: the stream of each, in order. The first gap of each is its place.
  void Record(const std::vector<uint32_t>& streams) {
    pattern_.read = [this, streams](const std::set<uint32_t>& wanted, const PatternSource::Take& take) {
      wanted_ = wanted;
      for (size_t i = 0; i < streams.size(); ++i) {
        if (!wanted.contains(streams[i])) continue;
        v1::PatternChunk chunk;
        chunk.set_stream(streams[i]);
        chunk.add_gap_ns(static_cast<uint32_t>(i));
        chunk.add_writes(65'537);
        taken_ = take(std::move(chunk));
        if (!taken_.ok()) return taken_;
      }
      return end_;
    };
  }

  // What each host got of the preparation, in order.
  std::vector<std::vector<std::string>> got_;
  // Streams that the recording was read for, what its reader was answered last, and what it returns at its end.
  std::set<uint32_t> wanted_;
  absl::Status taken_;
  absl::Status end_;
};

TEST_F(CoordinatorPattern, EachHostGetsTheChunksOfItsOwnStreamsInOrderBeforeItFills) {
  pattern_.streams = {{0, 2}, {1, 2}};
  Record({0, 0, 1, 2, 2, 3});
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(wanted_, ElementsAre(0U, 1U, 2U)) << "no writer plays the last one";
  // Numbered as the host knows them.
  const std::vector<std::string> chunks[] = {{"chunk 0:0", "chunk 0:1", "chunk 1:3", "chunk 1:4", "fill"},
                                             {"chunk 0:2", "chunk 1:3", "chunk 1:4", "fill"}};
  for (size_t i = 0; i < 2; ++i) {
    const auto first = std::ranges::find(got_[i], chunks[i].front());
    EXPECT_EQ(std::vector<std::string>(first, got_[i].end()), chunks[i]);
    EXPECT_THAT(std::vector<std::string>(got_[i].begin(), first), Contains("look")) << "all have their directories";
    EXPECT_THAT(diaries_[i], ElementsAre("open", "prepare", "arm 0", "release"));
  }
}

TEST_F(CoordinatorPattern, ASlowHostHasTwoChunksUnderWayAtMostAndSessionsAreKept) {
  constexpr uint32_t kChunks = 100;
  pattern_.streams = {{0}, {0}};
  Record(std::vector<uint32_t>(kChunks, 0));
  scripts_[1].chunks = FakeScript::Chunks::kWithHeartbeat;
  uint32_t chunks = 0;
  uint32_t unsent = 0;
  uint32_t heartbeats = 0;
  scripts_[1].on_chunk = [&](const v1::PatternChunk& /*chunk*/) {
    ++chunks;
    EXPECT_LE(++unsent, 2U);
  };
  scripts_[1].on_heartbeat = [&] {
    unsent = 0;
    heartbeats += chunks < kChunks ? 1 : 0;
  };
  EXPECT_FALSE(Run().has_value());
  EXPECT_EQ(chunks, kChunks);
  // Two with each: it takes five leases, and no host is lost.
  EXPECT_GE(heartbeats, kChunks / 2 - 1);
  EXPECT_TRUE(Records(v1::JournalRecord::kHostLost).empty());
}

TEST_F(CoordinatorPattern, ThePartsInMemoryAreBoundedOverAllHosts) {
  constexpr size_t kHosts = 200;
  AddHostsUpTo(kHosts);
  pattern_.streams.assign(kHosts, {0});
  Record({0, 0, 0});
  std::vector<size_t> unsent(kHosts);
  size_t all = 0;
  size_t most = 0;
  for (size_t i = 0; i < kHosts; ++i) {
    scripts_[i].chunks = FakeScript::Chunks::kWithHeartbeat;
    scripts_[i].on_chunk = [&, i](const v1::PatternChunk& /*chunk*/) {
      ++unsent[i];
      most = std::max(most, ++all);
    };
    scripts_[i].on_heartbeat = [&, i] { all -= std::exchange(unsent[i], 0); };
  }
  EXPECT_FALSE(Run().has_value());
  // Two of each host would be 400.
  EXPECT_EQ(most, SessionDriver::kMostUnsent);
}

TEST_F(CoordinatorPattern, AHostThatDoesNotTakeItsPartsIsLostAfterTheHangLimit) {
  plan_.set_hang_limit_ns(20 * kNsPerSecond);
  pattern_.streams = {{0}, {0}};
  Record({0, 0, 0});
  scripts_[1].chunks = FakeScript::Chunks::kNever;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kCannotRun);
  EXPECT_THAT(failure->lines, Contains(HasSubstr("was lost while preparing")));
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().host(), 1U);
  EXPECT_EQ(lost[0].host_lost().reason(), "no progress for 20s (--hang-limit) while it received the recording");
  EXPECT_EQ(taken_.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(got_[0], ::testing::Not(Contains("fill")));
}

TEST_F(CoordinatorPattern, AFileThatHasChangedEndsTheRunBeforeAnyHostFills) {
  pattern_.streams = {{0}, {0}};
  Record({0});
  end_ = absl::DataLossError("/var/watched/pattern.plimsoll has changed since it was opened");
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kWrong);
  EXPECT_THAT(failure->lines, ElementsAre("/var/watched/pattern.plimsoll has changed since it was opened"));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_THAT(got_[i], ::testing::Not(Contains("fill")));
    EXPECT_THAT(diaries_[i], ElementsAre("open", "prepare", "release"));
  }
}

TEST_F(CoordinatorPattern, AnInterruptEndsTheSending) {
  pattern_.streams = {{0}, {0}};
  Record(std::vector<uint32_t>(10, 0));
  scripts_[0].on_chunk = [this](const v1::PatternChunk& chunk) {
    if (chunk.gap_ns(0) == 3) events_.Interrupt();
  };
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kInconclusive);
  EXPECT_EQ(taken_.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(got_[1], ::testing::Not(Contains("chunk 0:5")));
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "release"));
}

TEST_F(CoordinatorPattern, WhatAReaderMustKnowOfTheRecordingIsInTheReport) {
  notes_ = {"The recording has 12 log writes.", "Each step plays the first 1s of it."};
  EXPECT_FALSE(Run().has_value());
  Analyzer again;
  for (const v1::JournalRecord& record : records_) EXPECT_TRUE(again.Add(record));
  const v1::Report report = again.Finish();
  EXPECT_THAT(report.notes(), ::testing::IsSupersetOf(notes_));
}

}  // namespace
}  // namespace plimsoll::tests
