#include "agent/watch/watch_recorder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/host/storage_stack.h"
#include "agent/watch/processes.h"
#include "common/algorithm.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// How often processes and libraries are looked for.
constexpr int64_t kLookNs = 100'000'000;
constexpr int64_t kObserveNs = kNsPerSecond;
// For how long the end of a step waits for the settled time.
constexpr int64_t kEndPatienceNs = 5 * kNsPerSecond;
// From here on a late wake-up is reported.
constexpr int64_t kLateWakeNs = 50'000'000;
constexpr int kMostEndedProcesses = 64;
constexpr int kMostReportedPauses = 10'000;
// An operation in flight at the end that is younger than this is not worth a word.
constexpr int64_t kLeastOpenNs = kNsPerMs;

// An MQLONG: what the upper half of its register holds is undefined.
uint64_t BufferLength(uint64_t argument) {
  return static_cast<uint64_t>(std::max(static_cast<int32_t>(static_cast<uint32_t>(argument)), 0));
}

bool IsGap(const PerfRecord& record) {
  return record.kind == PerfRecord::Kind::kGapBegin || record.kind == PerfRecord::Kind::kGapEnd;
}

// Names of a directory's files by inode.
void AddInodes(const std::string& directory, std::map<uint64_t, std::string>& inodes) {
  std::error_code error;
  for (std::filesystem::directory_iterator file(directory, error);
       !error && file != std::filesystem::directory_iterator(); file.increment(error)) {
    struct stat info{};
    if (stat(file->path().c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
      inodes[info.st_ino] = SanitizeForTerminal(file->path().filename().string());
    }
  }
}

}  // namespace

WatchRecorder::WatchRecorder(Context context, uint32_t step, int64_t start_ns)
    : context_(std::move(context)),
      step_(step),
      times_(context_.setup.TimesOf(step, start_ns)),
      lost_before_(context_.targets.rings().lost()),
      last_operation_ns_(start_ns),
      second_ns_(start_ns),
      next_sample_ns_(start_ns + kNsPerSecond) {
  for (uint32_t writer = 0; writer < context_.setup.writers(); ++writer) {
    tallies_.emplace_back(WatchTally::Params{.step = step,
                                             .qm = writer + 1,
                                             .times = times_,
                                             .operations = context_.setup.operations,
                                             .trace = context_.setup.trace,
                                             .stall_ns = context_.setup.stall_ns});
  }
  for (const WatchedLog& log : context_.targets.logs()) {
    for (const WatchedLog::Process& one : log.processes) {
      if (one.writes) CountSubmissionThread(one.process.pid());
    }
  }
}

void WatchRecorder::CountSubmissionThread(uint32_t pid) {
  if (!HasSubmissionThread(pid)) return;
  self_submitting_.insert(pid);
  counts_.set_self_submitting_processes(self_submitting_.size());
}

int64_t WatchRecorder::LimitNs() const {
  return std::min({times_.end_ns(), context_.control.limit_ns(), ends_at_ns_});
}

void WatchRecorder::EndAt(int64_t moment_ns) {
  ends_at_ns_ = std::min(ends_at_ns_, std::max(moment_ns, times_.start_ns()));
}

bool WatchRecorder::InStep(int64_t end_ns) const {
  return end_ns >= times_.start_ns() && end_ns < LimitNs();
}

int64_t WatchRecorder::Poll(int64_t now_ns, int64_t late_ns) {
  late_max_ns_ = std::max(late_max_ns_, static_cast<uint64_t>(std::max<int64_t>(late_ns, 0)));
  if (late_ns >= kLateWakeNs && pauses_.size() < kMostReportedPauses) {
    v1::RecorderPause& pause = *pauses_.Add();
    pause.set_begin_ns(now_ns - late_ns);
    pause.set_end_ns(now_ns);
  }
  // In this order: see SettledTime.
  int64_t settled_ns = context_.settled.settled_ns();
  Drain(now_ns);
  const int64_t limit_ns = LimitNs();
  // Where no grace period ends any more, what has arrived is all that there is.
  if (now_ns >= limit_ns + kEndPatienceNs) settled_ns = now_ns;
  TakeUntil(settled_ns, now_ns);
  CutThrough(std::min(taken_until_ns_, limit_ns), now_ns);
  NoteSeconds(std::min(taken_until_ns_, limit_ns));
  if (now_ns >= next_look_ns_) LookAround(now_ns);
  const int64_t idle_ns = context_.setup.plan.until_idle_ns();
  if (idle_ns > 0 && taken_until_ns_ - last_operation_ns_ >= idle_ns && LimitNs() > now_ns) {
    counts_.set_idle_end(true);
    EndAt(now_ns);
  }
  if (taken_until_ns_ >= LimitNs()) {
    // The interval in which the step was ended is its last one.
    while (tallies_.front().open_interval() < times_.closing_interval() &&
           (tallies_.front().open_interval() <= times_.IntervalOf(LimitNs()) && LimitNs() < times_.end_ns())) {
      CutAll(now_ns);
    }
    done_ = true;
  }
  ShowInFlight(now_ns);
  Send(now_ns);
  return now_ns + kTickNs;
}

void WatchRecorder::Drain(int64_t now_ns) {
  std::vector<PerfRecord> fresh;
  context_.targets.rings().Drain(fresh);
  if (fresh.empty()) return;
  context_.targets.files().LookAt(fresh);
  if (pending_.size() - next_ + fresh.size() > kMostPending) {
    dropped_ += fresh.size();
    PerfRecord border;
    border.kind = PerfRecord::Kind::kGapBegin;
    border.time_ns = fresh.front().time_ns;
    for (const PerfRecord& record : fresh) border.time_ns = std::min(border.time_ns, record.time_ns);
    PerfRecord end = border;
    end.kind = PerfRecord::Kind::kGapEnd;
    end.time_ns = now_ns;
    fresh = {border, end};
  }
  // What comes too late for the order of time is not taken; that cannot be where the settled time is proven.
  const auto late = std::erase_if(
      fresh, [this](const PerfRecord& record) { return !IsGap(record) && record.time_ns < taken_until_ns_; });
  dropped_ += late;
  const auto before = [](const PerfRecord& a, const PerfRecord& b) { return a.time_ns < b.time_ns; };
  StableSort(fresh, before);
  std::vector<PerfRecord> merged;
  merged.reserve(pending_.size() - next_ + fresh.size());
  std::ranges::merge(std::span(pending_).subspan(next_), fresh, std::back_inserter(merged), before);
  pending_ = std::move(merged);
  next_ = 0;
}

void WatchRecorder::TakeUntil(int64_t settled_ns, int64_t now_ns) {
  while (next_ < pending_.size()) {
    const PerfRecord& record = pending_[next_];
    const int64_t needed_ns = std::max(record.time_ns + 1, context_.targets.files().NeededUntil(record));
    if (needed_ns > settled_ns) {
      taken_until_ns_ = std::max(taken_until_ns_, std::min(record.time_ns, settled_ns));
      return;
    }
    CutThrough(std::min(record.time_ns, LimitNs()), now_ns);
    ++next_;
    TakeRecord(record, std::span(pending_).subspan(next_));
    context_.targets.files().Forget(record);
    taken_until_ns_ = std::max(taken_until_ns_, record.time_ns);
  }
  taken_until_ns_ = std::max(taken_until_ns_, settled_ns);
}

void WatchRecorder::TakeRecord(const PerfRecord& record, std::span<const PerfRecord> upcoming) {
  if (context_.setup.plan.profile() && record.kind == PerfRecord::Kind::kSyscallEnter) WatchOverlap(record);
  pairing_.Take(record, [&](const CompletedCall& call) { TakeCall(call, upcoming); });
  if (record.kind == PerfRecord::Kind::kGapEnd) context_.targets.ReadAllDescriptors();
  if (record.kind == PerfRecord::Kind::kExec) {
    if (auto ended = context_.targets.OnExec(record.pid)) NoteEnded({*std::move(ended)}, record.time_ns);
  }
}

void WatchRecorder::WatchOverlap(const PerfRecord& record) {
  const OpenCall opened{record.pid, record.number, record.time_ns, record.args};
  const WatchedFiles& files = context_.targets.files();
  const std::optional<uint32_t> writer = context_.targets.WriterOf(record.pid);
  if (!writer || !InStep(record.time_ns) || files.At(opened).outcome != FileAccess::Outcome::kLog) return;
  bool overlaps = false;
  pairing_.ForEachOpenSyscall([&](uint32_t tid, const OpenCall& call) {
    overlaps = overlaps || (tid != record.tid && context_.targets.WriterOf(call.pid) == writer &&
                            files.At(call).outcome == FileAccess::Outcome::kLog);
  });
  if (overlaps) profile_.TakeOverlap();
}

void WatchRecorder::TakeCall(const CompletedCall& call, std::span<const PerfRecord> upcoming) {
  if (!call.function) {
    if (const CallDescription* const description = DescribeCall(call.number)) TakeAccess(*description, call, upcoming);
    return;
  }
  const std::optional<uint32_t> writer = context_.targets.WriterOf(call.pid);
  const auto number = static_cast<size_t>(call.number);
  if (!writer || number >= context_.setup.functions.size() || !InStep(call.end_ns)) return;
  const bool sized = HasBufferLength(context_.setup.functions[number].function) && FunctionProbes::HasFifthArgument();
  Count(*writer, {.operation = context_.setup.function_operations[number],
                  .start_ns = call.start_ns,
                  .end_ns = call.end_ns,
                  .bytes = sized ? BufferLength(call.args[0]) : 0,
                  .place = {}});
}

void WatchRecorder::TakeAccess(const CallDescription& description, const CompletedCall& call,
                               std::span<const PerfRecord> upcoming) {
  const FileAccess access = context_.targets.files().Take(call, upcoming);
  const std::optional<uint32_t> writer = context_.targets.WriterOf(call.pid);
  if (!writer) return;
  // A ring that was made between the constructor and the start is used in the step.
  if (description.effect == CallEffect::kMakeRing && call.result >= 0 && call.end_ns < LimitNs()) {
    CountSubmissionThread(call.pid);
  }
  if (!InStep(call.end_ns)) return;
  if (description.effect == CallEffect::kSubmit && call.result > 0) {
    counts_.set_async_submissions(counts_.async_submissions() + static_cast<uint64_t>(call.result));
  }
  const bool sync = description.effect == CallEffect::kSync;
  if (!sync && !Writes(description.effect)) return;
  if (access.outcome == FileAccess::Outcome::kUnknown) {
    counts_.set_unknown_file_writes(counts_.unknown_file_writes() + 1);
    return;
  }
  if (access.outcome != FileAccess::Outcome::kLog) return;
  if (call.result < 0) {
    counts_.set_failed_writes(counts_.failed_writes() + 1);
    return;
  }
  WatchedOperation operation{.start_ns = call.start_ns, .end_ns = call.end_ns, .place = {access.extent, 0}};
  if (sync) {
    profile_.TakeSync(description.name);
    if (!context_.setup.sync_operation) return;
    operation.operation = *context_.setup.sync_operation;
    return Count(*writer, operation);
  }
  operation.bytes = static_cast<uint64_t>(call.result);
  operation.place.offset_bytes = access.offset_bytes.value_or(0);
  if (AskedBytes(description, call.args).value_or(operation.bytes) > operation.bytes) {
    counts_.set_short_writes(counts_.short_writes() + 1);
  }
  profile_.Take({*writer + 1, NameWithSync(description, call), access.path, access.offset_bytes, operation.bytes});
  if (!context_.setup.write_operation) return;
  operation.operation = *context_.setup.write_operation;
  Count(*writer, operation);
}

void WatchRecorder::Count(uint32_t writer, const WatchedOperation& operation) {
  last_operation_ns_ = operation.end_ns;
  // Relaxed: nothing else is read through it.
  const bool traced = operation.end_ns < context_.stop_trace_at_ns.load(std::memory_order_relaxed);
  tallies_[writer].Take(operation, traced);
}

std::vector<std::optional<std::pair<int64_t, std::string>>> WatchRecorder::OldestOpen() const {
  std::vector<std::optional<std::pair<int64_t, std::string>>> oldest(tallies_.size());
  pairing_.ForEachOpenSyscall([&](uint32_t /*tid*/, const OpenCall& call) {
    const std::optional<uint32_t> writer = context_.targets.WriterOf(call.pid);
    if (!writer || (oldest[*writer] && oldest[*writer]->first <= call.start_ns)) return;
    FileAccess access = context_.targets.files().At(call);
    if (access.outcome == FileAccess::Outcome::kLog) oldest[*writer] = {call.start_ns, std::move(access.path)};
  });
  return oldest;
}

void WatchRecorder::CutThrough(int64_t moment_ns, int64_t now_ns) {
  while (tallies_.front().open_interval() < times_.closing_interval() &&
         moment_ns >= tallies_.front().interval_end_ns()) {
    CutAll(now_ns);
  }
}

void WatchRecorder::CutAll(int64_t now_ns) {
  const auto oldest = OldestOpen();
  for (size_t writer = 0; writer < tallies_.size(); ++writer) {
    const int64_t since_ns = context_.setup.write_operation && oldest[writer] ? oldest[writer]->first : 0;
    tallies_[writer].Cut(now_ns, since_ns, *batch_.mutable_frames());
  }
}

double WatchRecorder::TakeCost() {
  const uint64_t cost_ns = (pairing_.syscall_entries() - syscalls_before_) * context_.targets.write_cost_ns() +
                           (pairing_.function_entries() - functions_before_) * context_.targets.call_cost_ns();
  syscalls_before_ = pairing_.syscall_entries();
  functions_before_ = pairing_.function_entries();
  cost_ns_ += cost_ns;
  const double percent = 100.0 * static_cast<double>(cost_ns) / kNsPerSecond;
  counts_.set_max_overhead_percent(std::max(counts_.max_overhead_percent(), percent));
  return percent;
}

void WatchRecorder::NoteSeconds(int64_t moment_ns) {
  for (; second_ns_ + kNsPerSecond <= moment_ns; second_ns_ += kNsPerSecond) {
    // All that was taken since counts for the first of several seconds: a bound.
    const double percent = TakeCost();
    const double most = context_.setup.plan.max_overhead_percent();
    if (most <= 0 || percent <= most || !counts_.detached().empty()) continue;
    counts_.set_detached(absl::StrFormat(
        "the probes cost the watched processes %.2f %% of a CPU in one second, more than --max-overhead %g %%", percent,
        most));
    context_.targets.Detach();
    EndAt(moment_ns);
  }
}

void WatchRecorder::LookAround(int64_t now_ns) {
  next_look_ns_ = now_ns + kLookNs;
  if (!counts_.detached().empty()) return;
  if (context_.targets.rings().CpusChanged()) {
    counts_.set_detached(
        "a CPU of the host went online or offline: records of its calls would be missing; watch again");
    context_.targets.Detach();
    return EndAt(now_ns);
  }
  WatchTargets::Changes changes = context_.targets.Refresh(now_ns, taken_until_ns_);
  for (std::string& one : changes.found_late) counts_.add_found_late(std::move(one));
  NoteEnded(std::move(changes.ended), now_ns);
  // A program may not live for long: at each look until its flags were seen once.
  if (context_.setup.plan.profile() && (now_ns >= next_observation_ns_ || !profile_.has_open_flags())) {
    next_observation_ns_ = now_ns + kObserveNs;
    Observe();
  }
}

void WatchRecorder::NoteEnded(std::vector<std::string> ended, int64_t now_ns) {
  for (std::string& one : ended) {
    if (counts_.ended_processes_size() < kMostEndedProcesses) counts_.add_ended_processes(std::move(one));
  }
  if (context_.targets.over()) EndAt(now_ns);
}

void WatchRecorder::Observe() {
  std::map<uint64_t, std::string> inodes;
  for (WatchedLog& log : context_.targets.logs()) {
    if (log.log == nullptr) continue;
    AddInodes(log.log->path(), inodes);
    if (!log.data_dir.empty()) AddInodes(log.data_dir, inodes);
    for (const WatchedLog::Process& one : log.processes) {
      for (const std::string& flags : ReadOpenFlags(one.process.pid(), *log.log)) profile_.AddOpenFlags(flags);
    }
  }
  for (const std::string& lock : DescribeLocks(ReadTextFile("/proc/locks"), inodes)) profile_.AddLock(lock);
}

void WatchRecorder::ShowInFlight(int64_t now_ns) {
  in_flight_.clear();
  const auto oldest = OldestOpen();
  for (size_t writer = 0; writer < oldest.size(); ++writer) {
    if (!oldest[writer]) continue;
    v1::InFlight& entry = in_flight_.emplace_back();
    entry.set_qm(static_cast<uint32_t>(writer) + 1);
    entry.set_since_ns(oldest[writer]->first);
    entry.set_age_ns(now_ns - oldest[writer]->first);
    entry.set_path(oldest[writer]->second);
  }
}

void WatchRecorder::Send(int64_t now_ns) {
  if (now_ns >= next_sample_ns_ || done_) {
    v1::HostSample sample = context_.sample_host();
    sample.set_step(step_);
    sample.set_time_ns(now_ns);
    sample.set_recorder_late_max_ns(std::exchange(late_max_ns_, 0));
    sample.mutable_pauses()->Swap(&pauses_);
    pauses_.Clear();
    *batch_.mutable_sample() = std::move(sample);
    while (next_sample_ns_ <= now_ns) next_sample_ns_ += kNsPerSecond;
  }
  if (batch_.frames().empty() && !batch_.has_sample()) return;
  context_.sink.OnFrames(std::exchange(batch_, {}));
}

void WatchRecorder::AddOpen() {
  const int64_t limit_ns = std::min(LimitNs(), taken_until_ns_);
  std::map<std::pair<uint32_t, uint32_t>, v1::OpenOperation> oldest;
  const auto take = [&](const OpenCall& call, uint32_t operation, const std::string& path) {
    const std::optional<uint32_t> writer = context_.targets.WriterOf(call.pid);
    const int64_t age_ns = limit_ns - call.start_ns;
    if (!writer || age_ns < kLeastOpenNs || age_ns <= tallies_[*writer].longest_ns(operation)) return;
    v1::OpenOperation& open = oldest[{*writer, operation}];
    if (age_ns <= open.age_ns()) return;
    open.set_qm(*writer + 1);
    open.set_operation(operation);
    open.set_since_ns(call.start_ns);
    open.set_age_ns(age_ns);
    open.set_path(path);
  };
  pairing_.ForEachOpenSyscall([&](uint32_t /*tid*/, const OpenCall& call) {
    const FileAccess access = context_.targets.files().At(call);
    if (context_.setup.write_operation && access.outcome == FileAccess::Outcome::kLog) {
      take(call, *context_.setup.write_operation, access.path);
    }
  });
  pairing_.ForEachOpenFunction([&](const OpenCall& call) {
    const auto number = static_cast<size_t>(call.number);
    if (number < context_.setup.functions.size()) take(call, context_.setup.function_operations[number], "");
  });
  for (auto& [place, open] : oldest) *counts_.add_open() = std::move(open);
}

v1::StepDone WatchRecorder::Finish(const std::string& reason) {
  v1::StepDone done;
  done.set_step(step_);
  for (const WatchTally& tally : tallies_) tally.AddTotals(done);
  counts_.set_lost_records(context_.targets.rings().lost() - lost_before_ + dropped_);
  counts_.set_unpaired_calls(pairing_.unpaired());
  const int64_t length_ns = std::max<int64_t>(std::min(LimitNs(), taken_until_ns_) - times_.start_ns(), 1);
  TakeCost();
  counts_.set_overhead_percent(100.0 * static_cast<double>(cost_ns_) / static_cast<double>(length_ns));
  AddOpen();
  if (context_.setup.plan.profile()) *counts_.mutable_profile() = profile_.ToProto();
  *done.mutable_watch() = counts_;
  const int64_t limit_ns = context_.control.limit_ns();
  if (limit_ns < std::min(times_.end_ns(), ends_at_ns_)) {
    const bool lease = context_.control.lease_deadline_ns() <= context_.control.stop_at_ns();
    done.set_stopped(lease ? "lease expired: no message from the controller" : reason.empty() ? "stopped" : reason);
  }
  return done;
}

}  // namespace plimsoll
