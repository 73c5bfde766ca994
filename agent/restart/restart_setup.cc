#include "agent/restart/restart_setup.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/integers.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr uint32_t kMostQueues = 1000;
// Largest log, extent and queue file: 16 TiB, so that the bytes of all files together fit in 64 bits.
constexpr uint64_t kMostRestartFileBytes = uint64_t{1} << 44;
// Of all directories together; each stays open.
constexpr uint64_t kMostRestartFiles = 200'000;
// Largest log record and message. The largest message of MQ has 100 MB.
constexpr uint64_t kMostItemBytes = uint64_t{128} << 20;

uint64_t SaturatingProduct(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t ExtentsOf(const v1::RestartWork& work) {
  if (work.log_file_bytes() == 0) return 0;
  return work.log_bytes() / work.log_file_bytes() + (work.log_bytes() % work.log_file_bytes() == 0 ? 0 : 1);
}

absl::Status CheckFileSize(uint64_t bytes, const std::string& name) {
  if (bytes % kStampedPageBytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", bytes, ", which is not a multiple of a page of ", kStampedPageBytes, " bytes"));
  }
  if (bytes > kMostRestartFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", FormatSize(bytes), "; at most ",
                                                   FormatSize(kMostRestartFileBytes), " are possible"));
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const v1::RestartWork& work) {
  PLIMSOLL_RETURN_IF_ERROR(CheckFileSize(work.log_bytes(), "log_bytes"));
  PLIMSOLL_RETURN_IF_ERROR(CheckFileSize(work.log_file_bytes(), "log_file_bytes"));
  PLIMSOLL_RETURN_IF_ERROR(CheckFileSize(work.queue_bytes(), "queue_bytes"));
  PLIMSOLL_RETURN_IF_ERROR(CheckFileSize(work.metadata_bytes(), "metadata_bytes"));
  if (work.log_file_bytes() == 0)
    return absl::InvalidArgumentError("log_file_bytes is 0: an extent has at least a page");
  if (work.queue_bytes() < kStampedPageBytes + work.metadata_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("queue_bytes is ", FormatSize(work.queue_bytes()),
                                                   ": a queue file begins with a page of ", kStampedPageBytes,
                                                   " bytes and ", FormatSize(work.metadata_bytes()), " of metadata"));
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t RestartSetup::Extents() const {
  return ExtentsOf(work);
}

WorkDemand RestartDemand(const v1::HostPlan& plan) {
  const v1::RestartWork& work = plan.restart();
  const auto dirs = static_cast<uint64_t>(work.dirs_size());
  WorkDemand demand;
  const uint64_t queue_bytes = SaturatingProduct(work.queues(), work.queue_bytes());
  demand.bytes.value =
      SaturatingProduct(dirs, SaturatingAdd(SaturatingAdd(work.log_bytes(), queue_bytes), kRollbackFileBytes));
  demand.bytes.asked = absl::StrCat("asks for ", FormatSize(demand.bytes.value), " bytes of log and queue files in ",
                                    dirs, dirs == 1 ? " directory" : " directories");
  demand.bytes.lowered_by = "--records, --depth, --uncommitted or --queues";
  demand.files.value = SaturatingProduct(dirs, SaturatingAdd(ExtentsOf(work), uint64_t{work.queues()} + 1));
  demand.files.asked = absl::StrCat("asks for ", FormatCount(demand.files.value), " log and queue files");
  demand.files.lowered_by = "--queues";
  demand.threads.value = std::max(work.queues(), 1U);
  demand.threads.asked = absl::StrCat("asks for ", demand.threads.value, " threads that load a queue each");
  demand.threads.lowered_by = "--queues";
  return demand;
}

absl::StatusOr<RestartSetup> MakeRestartSetup(const v1::HostPlan& plan, bool allow_drop_caches) {
  const v1::RestartWork& work = plan.restart();
  RestartSetup setup;
  if (!plan.has_restart() || work.dirs().empty()) {
    return absl::InvalidArgumentError("the plan names no directory to measure restart I/O in");
  }
  if (work.dirs_size() > static_cast<int>(kMaxDirectories)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan names ", work.dirs_size(), " directories; at most ", kMaxDirectories, " are possible"));
  }
  if (plan.run_token().size() != setup.run_token.size()) {
    return absl::InvalidArgumentError("run_token must be 16 bytes");
  }
  if (work.queues() == 0 || work.queues() > kMostQueues) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan has ", work.queues(), " queues; 1 to ", kMostQueues, " are possible"));
  }
  if (work.queue_io() != v1::RESTART_QUEUE_IO_DIRECT && work.queue_io() != v1::RESTART_QUEUE_IO_BUFFERED) {
    return absl::InvalidArgumentError(
        absl::StrCat("queue_io ", static_cast<int>(work.queue_io()), " is unknown to this agent (", kVersion, ")"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckSizes(work));
  const uint64_t files = RestartDemand(plan).files.value;
  if (files > kMostRestartFiles) {
    return absl::InvalidArgumentError(absl::StrCat("the plan asks for ", FormatCount(files),
                                                   " log and queue files; at most ", FormatCount(kMostRestartFiles),
                                                   " are possible: use a larger --file-size, or fewer --queues"));
  }
  if (work.drop_caches() && !allow_drop_caches) {
    return absl::PermissionDeniedError(
        "this agent does not let plans drop the page cache of its host; start plimsoll-agent on this host with "
        "--allow-drop-caches, or leave out --drop-caches");
  }
  setup.run_id = plan.run_id();
  std::copy_n(plan.run_token().begin(), setup.run_token.size(), setup.run_token.begin());
  setup.host_label = plan.host_label();
  setup.host_index = plan.host_index();
  setup.work = work;
  return setup;
}

namespace {

// Records or messages: how many there are, and that each queue's share fits in its file.
absl::Status CheckItems(const RestartSetup& setup, uint64_t items, uint64_t item_bytes, const std::string& noun) {
  if (items == 0 || items > kMostRestartItems) {
    return absl::InvalidArgumentError(
        absl::StrCat("the trial has ", items, " ", noun, "s; 1 to ", kMostRestartItems, " are possible"));
  }
  if (item_bytes == 0 || item_bytes > kMostItemBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the trial's ", noun, "s have ", item_bytes, " bytes; 1 to ", kMostItemBytes, " are possible"));
  }
  if (!setup.Dealt(item_bytes).Fit(items, setup.AreaBytes())) {
    return absl::InvalidArgumentError(absl::StrCat(items, " ", noun, "s of ", item_bytes, " bytes in ",
                                                   setup.work.queues(), " queues do not fit in the ", setup.AreaBytes(),
                                                   " bytes that each queue file has for messages"));
  }
  return absl::OkStatus();
}

absl::Status CheckRedo(const RestartSetup& setup, const v1::RestartRedo& redo) {
  if (redo.way() != v1::RESTART_REDO_WAY_COALESCED && redo.way() != v1::RESTART_REDO_WAY_PER_RECORD) {
    return absl::InvalidArgumentError(
        absl::StrCat("this agent (", kVersion, ") does not support way ", static_cast<int>(redo.way()), " of redo"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckItems(setup, redo.records(), redo.record_bytes(), "record"));
  // Neither factor is so large that the product overflows.
  if (redo.records() * redo.record_bytes() > setup.work.log_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat(redo.records(), " records of ", redo.record_bytes(),
                                                   " bytes do not fit in the log, which has ", setup.work.log_bytes(),
                                                   " bytes"));
  }
  const double round_trips = redo.round_trips_per_record();
  const bool usable =
      std::isfinite(round_trips) && round_trips >= RoundTrips::kLeast && round_trips <= RoundTrips::kMost;
  if (redo.way() == v1::RESTART_REDO_WAY_PER_RECORD && !usable) {
    return absl::InvalidArgumentError(absl::StrCat("round_trips_per_record is ", round_trips, "; ", RoundTrips::kLeast,
                                                   " to ", RoundTrips::kMost, " are possible"));
  }
  return absl::OkStatus();
}

absl::Status CheckLoad(const RestartSetup& setup, const v1::RestartLoad& load) {
  if (load.way() != v1::RESTART_LOAD_WAY_PARALLEL && load.way() != v1::RESTART_LOAD_WAY_SERIAL) {
    return absl::InvalidArgumentError(absl::StrCat("this agent (", kVersion, ") does not support way ",
                                                   static_cast<int>(load.way()), " of loading queues"));
  }
  if (load.bytes_per_queue() == 0) return absl::InvalidArgumentError("the trial loads 0 bytes of each queue");
  if (load.bytes_per_queue() > setup.work.metadata_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("the trial loads ", load.bytes_per_queue(),
                                                   " bytes of each queue, whose files have ",
                                                   setup.work.metadata_bytes(), " bytes of metadata"));
  }
  return absl::OkStatus();
}

absl::Status CheckUndo(const RestartSetup& setup, const v1::RestartUndo& undo) {
  PLIMSOLL_RETURN_IF_ERROR(CheckItems(setup, undo.messages(), undo.message_bytes(), "message"));
  if (undo.transactions() == 0 || undo.transactions() > kMostRestartItems) {
    return absl::InvalidArgumentError(absl::StrCat("the trial has ", undo.transactions(), " transactions; 1 to ",
                                                   kMostRestartItems, " are possible"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTrial(const RestartSetup& setup, const v1::RestartTrial& trial) {
  if (trial.side() >= static_cast<uint32_t>(setup.work.dirs_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the trial is in directory ", trial.side(), " (counted from 0) of ", setup.work.dirs_size()));
  }
  switch (trial.phase_case()) {
    case v1::RestartTrial::kRedo:
      return CheckRedo(setup, trial.redo());
    case v1::RestartTrial::kLoad:
      return CheckLoad(setup, trial.load());
    case v1::RestartTrial::kUndo:
      return CheckUndo(setup, trial.undo());
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("this agent (", kVersion, ") does not support the trial's phase of a restart"));
  }
}

}  // namespace plimsoll
