// What the tests of playback send to an agent.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/writer/pattern_intake.h"
#include "agent/writer/work_setup.h"
#include "common/load_pattern.h"
#include "common/protocol.h"
#include "common/units.h"
#include "plimsoll/v1/agent.pb.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_plan.h"

namespace plimsoll::tests {

inline v1::PatternChunk ChunkOf(uint32_t stream, const std::vector<PatternEntry>& entries) {
  v1::PatternChunk chunk;
  chunk.set_stream(stream);
  for (const PatternEntry& entry : entries) AddEntry(entry, chunk);
  return chunk;
}

// Announces a stream.
inline void AddStream(uint64_t entries, int64_t length_ns, v1::PatternParts& parts) {
  parts.add_entries(entries);
  parts.add_length_ns(length_ns);
}

// Makes the step play a recording.
inline void PlayPattern(v1::PlaybackMode mode, double load_factor, v1::LogStep& step) {
  step.clear_block_size_bytes();
  v1::GroupCommit& commits = *step.mutable_group_commit();
  commits.Clear();
  commits.set_pattern("/var/recorded/pattern.plimsoll");
  commits.set_playback(mode);
  commits.set_load_factor(load_factor);
  commits.set_log_buffer_pages(128);
  SetOperations(/*parts=*/false, step);
}

// A step of 1.3 s of two writers, which both play one stream of `entries` entries.
inline v1::HostPlan PlaybackPlan(v1::PlaybackMode mode, double load_factor, uint64_t entries, int64_t length_ns) {
  v1::HostPlan plan = TwoQueueManagers();
  v1::LogStep& step = *plan.mutable_log()->mutable_steps(0);
  step.set_warmup_ns(300 * kNsPerMs);
  PlayPattern(mode, load_factor, step);
  v1::PatternParts& parts = *plan.mutable_log()->mutable_pattern();
  AddStream(entries, length_ns, parts);
  parts.add_stream_of_writer(0);
  parts.add_stream_of_writer(0);
  return plan;
}

// The plan, with the recording that it plays.
inline WorkSetup SetUpPlayback(const v1::HostPlan& plan, const std::vector<PatternEntry>& entries) {
  absl::StatusOr<WorkSetup> setup = MakeWorkSetup(plan);
  EXPECT_THAT(setup, IsOk());
  PatternIntake intake(plan.log().pattern());
  EXPECT_THAT(intake.Take(ChunkOf(0, entries)), IsOk());
  absl::StatusOr<std::vector<PlayedStream>> streams = intake.Finish();
  EXPECT_THAT(streams, IsOk());
  setup->streams = *std::move(streams);
  return *std::move(setup);
}

}  // namespace plimsoll::tests
