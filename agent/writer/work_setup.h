// One host's plan to write logs, or named files, checked and in the shape that the writers use.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/writer/log_files.h"
#include "agent/writer/pattern_intake.h"
#include "agent/writer/write_loop.h"
#include "agent/writer/writer_tally.h"
#include "common/file_regions.h"
#include "common/protocol.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

struct WorkSetup {
  struct Step {
    uint64_t block_bytes = 0;  // 0: sizes differ, see mix
    std::vector<SizeMix::Share> mix = {};
    int64_t duration_ns = 0;
    int64_t warmup_ns = 0;
    double rate_per_second = 0;  // 0: closed loop
    v1::Arrival arrival = v1::ARRIVAL_ALIGNED;
    uint32_t qm = 0;    // writers that write: the first so many
    uint32_t seed = 0;  // of random arrivals, sizes and orders
    bool random_order = false;
    uint32_t read_percent = 0;
    // Clients or recorded writes whose commits gather into the writes, without what is a writer's own (CommitsOf).
    std::optional<CommitLoad> commits = std::nullopt;
    // Where queue managers have loads of their own: the host that is down, by its number in the run.
    std::optional<uint32_t> down_host = std::nullopt;
    bool operator==(const Step&) const = default;
  };
  // Most steps that are added to those of the plan.
  static constexpr size_t kMostAddedSteps = 10'000;

  std::string run_id;
  std::array<uint8_t, 16> run_token{};
  std::string host_label;
  uint32_t host_index = 0;
  int64_t frame_interval_ns = 0;

  // Where its writers write, each directory once; at least one. And which of them each writer has.
  std::vector<std::string> dirs;
  std::vector<size_t> dir_of_writer;
  // The options as the plan has them, with an arrival in any case. A write loop has what it needs of them in its
  // parameters before it starts (LoopOf, TallyOf).
  v1::LogWorkload workload;
  bool trace = false;
  // Operations that all steps measure: the list of the plan's first step. `parts`: the list has the parts of a write.
  google::protobuf::RepeatedPtrField<v1::Operation> operations;
  bool parts = false;
  // Place of the read in `operations`; kMainOperation also where there is none.
  uint32_t read_operation = 0;
  // Place of the commit in `operations`; kMainOperation also where there is none.
  uint32_t commit_operation = 0;
  int64_t stall_ns = 0;  // 0: stalls are not reported
  uint32_t seed = 0;
  uint32_t hosts = 1;
  // By writer, where they have loads of their own: these stand in place of the steps' block sizes, rates and writers.
  std::vector<v1::LogQueueManager> queue_managers;
  // Queue managers of the whole placement.
  uint32_t placed = 0;
  // By writer, the stream that it plays; empty if nothing is played. The streams are those that the controller sends
  // after the plan (PatternIntake): they must be set before anything below is asked about a step that plays.
  std::vector<uint32_t> stream_of_writer;
  std::vector<PlayedStream> streams;
  // By writer, of a plan that names its files: the part of a file that it uses; empty where writers have extents.
  std::vector<FileRegion> regions;
  // Room for those that are added is made at once.
  std::vector<Step> steps;

  // Divides the files that the plan names. `sizes_bytes`: of those that are used, in their order. MakeWorkSetup does so
  // where the run makes the files; where they exist, the caller must, before it uses anything else of the setup.
  absl::Status Divide(const std::vector<uint64_t>& sizes_bytes);

  // Appends a step. INVALID_ARGUMENT where the plan could not have had it, or its number is none that can be added; the
  // same step once more changes nothing. Steps never move, so that a reader of an earlier one may go on meanwhile.
  absl::Status Add(const v1::AddStep& add);
  // Whether a writer writes in a step; `writer` from 1. And whether any does.
  bool Writes(uint32_t step, uint32_t writer) const;
  bool AnyWrites(uint32_t step) const;
  // Whether some step reads.
  bool AnyReads() const {
    return std::ranges::any_of(steps, [](const Step& step) { return step.read_percent > 0; });
  }
  // Whether no step writes.
  bool OnlyReads() const {
    return std::ranges::all_of(steps, [](const Step& step) { return step.read_percent == kOnlyReads; });
  }
  // Bytes that a writer uses: of its extents or of its part of a file.
  uint64_t BytesOfWriter(uint32_t writer) const;
  // A writer's load in a step with group commit, all but its extents; nothing without group commit.
  std::optional<CommitLoad> CommitsOf(uint32_t step, uint32_t writer) const;
  // Size of a writer's blocks in a step, or the largest of them: with group commit, of the largest write.
  uint64_t BlockBytesOf(uint32_t step, uint32_t writer) const;
  // When a writer's writes are due in a step that starts at `start_ns`; absent in a closed loop. `writer` from 1.
  std::optional<RateSchedule> ScheduleOf(uint32_t step, int64_t start_ns, uint32_t writer) const;
  // Bytes that preparing writes: of all extents of the host, or of the files that it makes and fills.
  uint64_t total_bytes() const;

  // The step as each part sees it.
  StepTimes TimesOf(uint32_t step, int64_t start_ns) const;
  WriteLoopParams LoopOf(uint32_t step, int64_t start_ns, uint32_t writer) const;
  TallyParams TallyOf(uint32_t step, int64_t start_ns, uint32_t writer) const;
  // They refer to the workload.
  LogFilesOptions FilesOf(uint32_t writer) const;
  // The file of which the writer has a region, as FileOps::Create takes it. Any thread, once the files are divided.
  std::string FileOf(uint32_t writer) const;
};

// INVALID_ARGUMENT, naming the field and what is accepted.
absl::StatusOr<WorkSetup> MakeWorkSetup(const v1::HostPlan& plan);

}  // namespace plimsoll
