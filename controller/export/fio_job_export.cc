#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/export/formats.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

using Lines = std::vector<std::string>;

// Why no job of fio is near the run; empty: one is.
std::string NoJobProblem(const v1::TestPlan& plan) {
  if (plan.has_watch()) return "a watch, whose writes are another program's: fio cannot repeat them";
  if (plan.has_group_commit()) {
    return "a run with --clients or --pattern: what a write holds depends on how long the one before it took, which "
           "fio "
           "has no option for";
  }
  if (HasPlacement(plan)) {
    return "a placement, whose queue managers have loads of their own: run one of them, and export that";
  }
  return "";
}

// What fio's job file calls the order and the direction.
std::string PatternOf(const v1::TestPlan& plan) {
  const bool random = plan.access() == v1::ACCESS_RANDOM;
  if (plan.read_percent() == kOnlyReads) return random ? "randread" : "read";
  if (plan.read_percent() == 0) return random ? "randwrite" : "write";
  return absl::StrCat(random ? "randrw" : "rw", "\nrwmixread=", plan.read_percent());
}

// How a write reaches stable storage.
std::string SyncOf(v1::SyncMode sync) {
  switch (sync) {
    case v1::SYNC_MODE_DSYNC:
      return "sync=dsync\n";
    case v1::SYNC_MODE_SYNC:
      return "sync=sync\n";
    case v1::SYNC_MODE_FDATASYNC:
      return "fdatasync=1\n";
    case v1::SYNC_MODE_FSYNC:
      return "fsync=1\n";
    default:
      return "";
  }
}

// Times of fio's options are whole: seconds, or microseconds where they are shorter.
std::string TimeOf(int64_t ns) {
  return ns % kNsPerSecond == 0 ? absl::StrCat(ns / kNsPerSecond) : absl::StrCat((ns + kNsPerUs - 1) / kNsPerUs, "us");
}

std::string SizeOf(uint64_t bytes) {
  return absl::StrCat(bytes);
}

// "4k/70:64k/30", of the shares of a step.
std::string SplitOf(const v1::LogStep& step) {
  return absl::StrJoin(step.size_mix(), ":", [](std::string* text, const v1::SizeShare& share) {
    absl::StrAppend(text, SizeOf(share.block_size_bytes()), "/", share.percent());
  });
}

// The files of the first host, which all of them have.
std::string FilesOf(const v1::LogWorkload& workload) {
  std::string text;
  if (!UsesPaths(workload))
    absl::StrAppend(&text, "directory=", absl::StrReplaceAll(workload.dir(), {{":", "\\:"}}), "\n");
  if (!UsesFiles(workload)) {
    absl::StrAppend(&text, "nrfiles=", workload.num_files(), "\nfilesize=", SizeOf(workload.file_size_bytes()),
                    "\nfile_service_type=sequential\n");
    return text;
  }
  absl::StrAppend(&text, "filename=",
                  absl::StrJoin(workload.files(), ":",
                                [](std::string* out, const std::string& name) {
                                  absl::StrAppend(out, absl::StrReplaceAll(name, {{":", "\\:"}}));
                                }),
                  "\n");
  if (workload.has_file_size_bytes()) absl::StrAppend(&text, "filesize=", SizeOf(workload.file_size_bytes()), "\n");
  return text;
}

// What the job does in another way than the run did.
Lines Differences(const RunIndex& index) {
  const v1::Report& report = index.report();
  const v1::TestPlan& plan = report.plan();
  const v1::LogWorkload& workload = index.hosts().begin()->second.workload();
  Lines lines;
  const size_t hosts = index.hosts().size();
  if (hosts > 1) {
    lines.push_back(absl::StrCat(
        "The run had ", hosts,
        " hosts, which began each step at the same moment. Run fio on each of them: `fio "
        "--client=HOSTS job.fio` starts them one after the other, and adds up figures of different times."));
    const bool same = std::ranges::all_of(index.hosts(), [&](const auto& host) {
      const v1::LogWorkload& other = host.second.workload();
      return other.dir() == workload.dir() && other.qm() == workload.qm() && other.sync() == workload.sync() &&
             other.rate_per_second() == workload.rate_per_second();
    });
    if (!same) {
      lines.push_back(
          absl::StrCat("The hosts differ (directory, number of queue managers, sync or rate): this is the job of ",
                       index.hosts().begin()->second.label, "."));
    }
  }
  if (!workload.qm_dirs().empty()) {
    lines.emplace_back("The run wrote in several directories: this job writes in the first one.");
  }
  if (!UsesFiles(workload)) {
    lines.emplace_back(
        "fio lays its files out before the first step, as the run did, and leaves them: remove them by hand. The run "
        "removed its own.");
  } else if (workload.qm() > 1) {
    lines.emplace_back(
        "Threads of the run had ranges or files of their own; jobs of fio that have the same files overlap.");
  }
  if (workload.rate_per_second() > 0) {
    lines.emplace_back(
        "The run's response times count from the moment at which a write was due; fio's clat is the time of the system "
        "call alone, as the run's service times are.");
    lines.push_back(workload.arrival() == v1::ARRIVAL_POISSON
                        ? "Arrivals are random in both, at other moments."
                        : "The run spread the writes of all hosts evenly over the period, or began them all at once.");
  } else {
    lines.emplace_back("clat is the time of the system call, as the run's service times are.");
  }
  if (workload.pause_percent() > 0) {
    lines.emplace_back("The run paused for a share of the mean latency, for which fio has no option: left out.");
  }
  if (workload.cpu_load() > 0)
    lines.emplace_back("The run kept CPUs busy (--cpu-load): left out; fio has ioengine=cpuio.");
  if (plan.has_block_size_mix()) lines.emplace_back("Sizes are drawn at random in both, in another order.");
  if (plan.until_steady_ns() > 0)
    lines.emplace_back("The run repeated its steps until they were steady: each is here once.");
  const v1::HostReport& host = report.hosts(0);
  if (workload.direct() == v1::DIRECT_MODE_AUTO && !host.mount().direct()) {
    lines.emplace_back("The file system refused O_DIRECT, so that this job does not ask for it.");
  }
  return lines;
}

std::string JobOf(const RunIndex& index, uint32_t number, const v1::LogStep& step) {
  const v1::LogWorkload& workload = index.hosts().begin()->second.workload();
  std::string job = absl::StrCat("\n[step", number + 1, "]\nstonewall\n");
  if (step.size_mix().empty()) {
    absl::StrAppend(&job, "bs=", SizeOf(step.block_size_bytes()), "\n");
  } else {
    absl::StrAppend(&job, "bssplit=", SplitOf(step), "\n");
  }
  const double rate = step.has_rate_per_second() ? step.rate_per_second() : workload.rate_per_second();
  if (rate > 0) absl::StrAppend(&job, "rate_iops=", std::max<int64_t>(std::llround(rate), 1), "\n");
  absl::StrAppend(&job, "numjobs=", step.qm() > 0 ? step.qm() : workload.qm(), "\n");
  if (!workload.one_pass()) {
    absl::StrAppend(&job, "time_based=1\nruntime=", TimeOf(step.duration_ns()), "\n");
    if (step.warmup_ns() > 0) absl::StrAppend(&job, "ramp_time=", TimeOf(step.warmup_ns()), "\n");
  }
  return job;
}

}  // namespace

absl::StatusOr<uint64_t> ExportFioJob(const RunIndex& index, const WriteFilter& filter, Output& output) {
  const v1::Report& report = index.report();
  const v1::TestPlan& plan = report.plan();
  if (const std::string problem = NoJobProblem(plan); !problem.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(index.journal_path(), ": ", problem));
  }
  const v1::LogWorkload& workload = index.hosts().begin()->second.workload();
  std::string text = absl::StrCat("# The job of fio that is nearest to run ", report.run().id(), " of Plimsoll ",
                                  report.run().version(), ", and what differs:\n#\n");
  for (const std::string& line : Differences(index)) absl::StrAppend(&text, "# - ", SanitizeForTerminal(line), "\n");
  absl::StrAppend(&text, "\n[global]\nioengine=psync\nrw=", PatternOf(plan), "\n", SyncOf(workload.sync()),
                  "direct=", report.hosts(0).mount().direct() ? 1 : 0, "\n", FilesOf(workload));
  if (!UsesFiles(workload)) absl::StrAppend(&text, "overwrite=1\nfallocate=none\n");
  if (workload.delay_ns() > 0) {
    absl::StrAppend(&text, "thinktime=", (workload.delay_ns() + kNsPerUs - 1) / kNsPerUs, "\nthinktime_blocks=1\n");
  }
  if (workload.arrival() == v1::ARRIVAL_POISSON && workload.rate_per_second() > 0) {
    absl::StrAppend(&text, "rate_process=poisson\n");
  }
  uint64_t jobs = 0;
  for (const auto& [number, step] : index.steps()) {
    if (filter.step && *filter.step != number) continue;
    // Repetitions are the same job.
    if (step.step.repetition() > 0 && !filter.step) continue;
    absl::StrAppend(&text, JobOf(index, number, step.step));
    ++jobs;
  }
  PLIMSOLL_RETURN_IF_ERROR(output.Append(text));
  return jobs;
}

}  // namespace plimsoll
