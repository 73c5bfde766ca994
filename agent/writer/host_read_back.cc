#include "agent/writer/host_read_back.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/writer/extent_reader.h"
#include "agent/writer/file_env.h"
#include "agent/writer/read_back.h"
#include "common/protocol.h"
#include "common/status_macros.h"

namespace plimsoll {

void HostReadBack::NoteStep(uint32_t step, std::span<const TallyParams> params, std::span<WriterState* const> states) {
  if (logs_.empty()) {
    for (uint32_t qm = 1; qm <= setup_.workload.qm(); ++qm) {
      logs_.push_back({.identity = {setup_.run_token, setup_.host_index, qm},
                       .file_size_bytes = setup_.workload.file_size_bytes(),
                       .num_files = setup_.workload.num_files()});
    }
  }
  last_step_ = step;
  writing_runs_.resize(std::max<size_t>(writing_runs_.size(), step + size_t{1}));
  const bool is_plain = WhyNotPlain(step).empty();
  last_wrote_ = false;
  for (size_t i = 0; i < params.size(); ++i) {
    const uint64_t acknowledged = states[i]->writes.load(std::memory_order_relaxed);
    const bool open_write = states[i]->end == LoopEnd::kFailed;
    if (acknowledged == 0 && !open_write) continue;
    last_wrote_ = true;
    if (!is_plain) continue;
    const uint32_t qm = params[i].qm;
    logs_[qm - 1].Add({step + 1, setup_.BlockBytesOf(step, qm), acknowledged, open_write});
  }
  if (last_wrote_) ++writing_runs_[step];
}

std::string HostReadBack::WhyNotPlain(uint32_t step) const {
  if (UsesFiles(setup_.workload)) return "the plan names its files";
  const WorkSetup::Step& spec = setup_.steps[step];
  if (spec.commits && spec.commits->plays()) return "it plays recorded writes";
  if (spec.commits) return "it has group commit";
  if (!spec.mix.empty()) return "it mixes block sizes";
  if (spec.random_order) return "it writes in random order";
  if (spec.read_percent > 0) return "it reads beside its writes";
  return "";
}

absl::StatusOr<std::vector<WrittenLog>> HostReadBack::Begin(uint32_t step) {
  if (!last_step_) return absl::FailedPreconditionError("no step has run whose log could be read back");
  if (step != *last_step_) {
    return absl::InvalidArgumentError(
        absl::StrCat("the log of step ", step, " cannot be read back: the last step that ran is ", *last_step_));
  }
  // What the earlier ones have left must be known, too.
  for (uint32_t earlier = 0; earlier < writing_runs_.size(); ++earlier) {
    if (earlier != step && writing_runs_[earlier] == 0) continue;
    if (const std::string why = WhyNotPlain(earlier); !why.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the log of step ", step,
          " cannot be read back: ", earlier == step ? "" : absl::StrCat("step ", earlier, " wrote it before, and "),
          why, "; only sequential writes of one block size to extents can"));
    }
  }
  if (writing_runs_[step] > (last_wrote_ ? 1U : 0U)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the log of step ", step,
                     " cannot be read back: the step ran more than once, and equal writes of two runs look the same"));
  }
  std::vector<WrittenLog> logs = logs_;
  for (WrittenLog& log : logs) {
    if (!log.runs.empty() && log.runs.back().epoch == step + 1) continue;
    log.runs.push_back({.epoch = step + 1, .block_bytes = setup_.BlockBytesOf(step, log.identity.qm)});
  }
  const MutexLock lock(mutex_);
  stop_reason_.reset();
  return logs;
}

v1::ReadBackDone HostReadBack::Run(uint32_t step, const std::vector<WrittenLog>& logs) {
  v1::ReadBackDone done;
  done.set_step(step);
  for (const WrittenLog& log : logs) {
    absl::StatusOr<v1::WriterReadBack> writer = ReadOne(log);
    since_ns_.store(0, std::memory_order_relaxed);
    if (!writer.ok()) {
      // Some of the host's logs alone would look like all of them.
      done.clear_writers();
      done.set_error(std::string(writer.status().message()));
      return done;
    }
    *done.add_writers() = *std::move(writer);
  }
  return done;
}

absl::StatusOr<v1::WriterReadBack> HostReadBack::ReadOne(const WrittenLog& log) {
  const uint32_t qm = log.identity.qm;
  const LogPlace& place = places_[setup_.dir_of_writer[qm - 1]];
  qm_.store(qm, std::memory_order_relaxed);
  try {
    FileExtentReader extents(*place.directory, *place.ops, qm, setup_.workload.file_prefix(),
                             setup_.workload.sync() == v1::SYNC_MODE_NONE);
    PLIMSOLL_ASSIGN_OR_RETURN(v1::WriterReadBack writer, ReadLogBack(log, extents, [this](uint32_t extent) {
                                extent_.store(extent, std::memory_order_relaxed);
                                return MayRead();
                              }));
    writer.set_direct(extents.direct());
    writer.set_dropped_cache(extents.dropped_cache());
    return writer;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory to read back the log of qm", qm));
  }
}

absl::Status HostReadBack::MayRead() {
  {
    const MutexLock lock(mutex_);
    if (stop_reason_) return absl::CancelledError(absl::StrCat("stopped while reading back: ", *stop_reason_));
  }
  const int64_t now_ns = MonotonicNowNs();
  if (now_ns >= control_.lease_deadline_ns()) {
    return absl::DeadlineExceededError("stopped while reading back: lease expired: no message from the controller");
  }
  calls_.fetch_add(1, std::memory_order_relaxed);
  // Release: who sees it sees which extent is read.
  since_ns_.store(now_ns, std::memory_order_release);
  return absl::OkStatus();
}

void HostReadBack::Stop(const std::string& reason) {
  const MutexLock lock(mutex_);
  if (!stop_reason_) stop_reason_ = reason;
}

std::optional<v1::InFlight> HostReadBack::InFlight(int64_t now_ns) const {
  // Acquire: the extent is that of the call.
  const int64_t since_ns = since_ns_.load(std::memory_order_acquire);
  if (since_ns == 0) return std::nullopt;
  const uint32_t qm = qm_.load(std::memory_order_relaxed);
  v1::InFlight entry;
  entry.set_qm(qm);
  entry.set_since_ns(since_ns);
  entry.set_age_ns(now_ns - since_ns);
  entry.set_read_percent(kOnlyReads);
  entry.set_path(places_[setup_.dir_of_writer[qm - 1]].ops->PathOf(
      ExtentName(qm, setup_.workload.file_prefix(), extent_.load(std::memory_order_relaxed))));
  return entry;
}

}  // namespace plimsoll
