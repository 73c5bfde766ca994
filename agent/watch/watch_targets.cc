#include "agent/watch/watch_targets.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/host/storage_stack.h"
#include "agent/watch/probe_cost.h"
#include "agent/watch/queue_managers.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// A search for processes reads all of /proc: it takes at most this share of the time.
constexpr int64_t kSearchShare = 50;
constexpr int64_t kSearchPauseNs = kNsPerSecond;
constexpr size_t kMostVariableNames = 10'000;
constexpr size_t kMostNoted = 64;

std::string ProcessInWords(const WatchedProcess& process) {
  return absl::StrCat("process ", process.pid(), " (", process.name(), ")");
}

}  // namespace

WatchTargets::WatchTargets(const WatchSetup& setup)
    : setup_(setup),
      files_(
          [this](uint32_t pid, int fd) -> std::optional<DescriptorFile> {
            LogDirectory* const log = LogOf(pid);
            return log == nullptr ? std::nullopt : ReadDescriptor(pid, fd, *log);
          },
          [this](uint32_t pid, uint64_t address) -> std::optional<DescriptorFile> {
            LogDirectory* const log = LogOf(pid);
            if (log == nullptr || variable_names_.contains({pid, address})) return std::nullopt;
            // A buffer may hold the next file's name by now.
            if (IsConstant(pid, address)) return log->FileOfName(ReadText(pid, address));
            if (variable_names_.size() < kMostVariableNames) variable_names_.insert({pid, address});
            return std::nullopt;
          },
          [] { return SystemClock::Read().value; }) {}

absl::StatusOr<std::unique_ptr<WatchTargets>> WatchTargets::Create(const WatchSetup& setup,
                                                                   const std::string& held_program,
                                                                   const std::string& mqs_ini) {
  auto targets = std::unique_ptr<WatchTargets>(new WatchTargets(setup));
  PLIMSOLL_RETURN_IF_ERROR(targets->PrepareProbes());
  PLIMSOLL_RETURN_IF_ERROR(setup.plan.has_pid() ? targets->FindProcess(held_program)
                                                : targets->FindQueueManagers(mqs_ini));
  return targets;
}

absl::Status WatchTargets::PrepareProbes() {
  if (setup_.write_operation || setup_.sync_operation) {
    PLIMSOLL_ASSIGN_OR_RETURN(syscalls_, SyscallSpecs());
    PLIMSOLL_ASSIGN_OR_RETURN(write_cost_ns_, MeasureWriteCost(syscalls_));
  }
  if (!setup_.functions.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(FunctionProbes probes, FunctionProbes::Create());
    probes_.emplace(std::move(probes));
    PLIMSOLL_ASSIGN_OR_RETURN(call_cost_ns_, MeasureCallCost(*probes_));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(rings_, PerfRings::Create());
  return absl::OkStatus();
}

absl::Status WatchTargets::FindQueueManagers(const std::string& mqs_ini) {
  for (int i = 0; i < setup_.plan.queue_managers_size(); ++i) {
    WatchedLog& log = logs_.emplace_back();
    log.qm = static_cast<uint32_t>(i) + 1;
    log.name = setup_.plan.queue_managers(i);
    const absl::StatusOr<QueueManagerPaths> paths = FindQueueManagerPaths(log.name, mqs_ini);
    if (paths.ok()) log.data_dir = paths->data_dir;
    if (!paths.ok() && !setup_.plan.has_log_dir()) {
      return absl::Status(paths.status().code(),
                          absl::StrCat("queue manager ", log.name, ": ", std::string(paths.status().message())));
    }
    log.log = std::make_unique<LogDirectory>(setup_.plan.has_log_dir() ? setup_.plan.log_dir() : paths->log_dir);
    log.log->List();
    PLIMSOLL_RETURN_IF_ERROR(FindNewProcesses(log));
  }
  const bool none = std::ranges::all_of(logs_, [](const WatchedLog& log) { return log.processes.empty(); });
  if (none && hidden_ > 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        "no process with a file of ", logs_.front().log->path(), " open was found, and the files of ", hidden_,
        " processes of other users cannot be seen: run the agent as root, or give it CAP_SYS_PTRACE"));
  }
  return absl::OkStatus();
}

absl::Status WatchTargets::FindNewProcesses(WatchedLog& log) {
  const auto known = [&](uint32_t pid) {
    return std::ranges::find_if(log.processes, [pid](const auto& one) { return one.process.pid() == pid; });
  };
  hidden_ = 0;
  for (const uint32_t pid : FindHolders(*log.log, hidden_)) {
    const auto process = known(pid);
    if (process != log.processes.end()) {
      PLIMSOLL_RETURN_IF_ERROR(WatchWritesToo(log, *process));
      continue;
    }
    const size_t before = log.processes.size();
    PLIMSOLL_RETURN_IF_ERROR(AddProcess(log, pid, !syscalls_.empty(), ""));
    if (recording_ && log.processes.size() > before && (syscalls_.empty() || HasLogToWrite(pid, *log.log))) {
      NoteLate(absl::StrCat(ProcessInWords(log.processes.back().process), " was found during the watch"));
    }
  }
  if (setup_.functions.empty() || log.data_dir.empty()) return absl::OkStatus();
  // The queue manager's other processes, which make calls for applications: they have files of its directory open.
  LogDirectory data(log.data_dir);
  for (const uint32_t pid : FindHolders(data, hidden_)) {
    if (known(pid) != log.processes.end()) continue;
    const size_t before = log.processes.size();
    PLIMSOLL_RETURN_IF_ERROR(AddProcess(log, pid, false, ""));
    if (recording_ && log.processes.size() > before && !log.processes.back().probed.empty()) {
      NoteLate(absl::StrCat(ProcessInWords(log.processes.back().process), " was found during the watch"));
    }
  }
  return absl::OkStatus();
}

absl::Status WatchTargets::WatchWritesToo(WatchedLog& log, WatchedLog::Process& process) {
  if (process.writes || syscalls_.empty()) return absl::OkStatus();
  const uint32_t pid = process.process.pid();
  PLIMSOLL_RETURN_IF_ERROR(rings_->AttachProcess(pid, syscalls_));
  process.writes = true;
  if (!recording_) return absl::OkStatus();
  ReadDescriptorsOf(log, pid);
  if (HasLogToWrite(pid, *log.log)) {
    NoteLate(absl::StrCat(ProcessInWords(process.process), " was found during the watch to write the log"));
  }
  return absl::OkStatus();
}

void WatchTargets::NoteLate(std::string text) {
  if (noted_late_.size() < kMostNoted && noted_late_.insert(text).second) found_late_.push_back(std::move(text));
}

absl::Status WatchTargets::FindProcess(const std::string& held_program) {
  WatchedLog& log = logs_.emplace_back();
  log.qm = 1;
  const uint32_t pid = setup_.plan.pid();
  if (!syscalls_.empty()) {
    const std::string path = setup_.plan.has_log_dir() ? setup_.plan.log_dir() : FindLogDirectory(pid);
    log.log = std::make_unique<LogDirectory>(path, LogDirectory::Named::kByProcess);
    log.log->List();
  }
  PLIMSOLL_RETURN_IF_ERROR(AddProcess(log, pid, !syscalls_.empty(), held_program));
  if (log.processes.empty()) return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  log.name = log.processes.front().process.name();
  if (log.log != nullptr && log.log->path().empty()) {
    return absl::NotFoundError(
        absl::StrCat(ProcessInWords(log.processes.front().process),
                     " has no extent of an MQ log open: name the directory of its log files with "
                     "--log-dir, or watch --calls only"));
  }
  if (!setup_.functions.empty() && log.probes.empty() && held_program.empty()) {
    return absl::NotFoundError(absl::StrCat(
        ProcessInWords(log.processes.front().process), " has no library loaded that holds ",
        setup_.functions.front().function,
        "; Java clients and statically linked programs have none; name one as LIBRARY:FUNCTION with its path"));
  }
  return absl::OkStatus();
}

absl::Status WatchTargets::AddProcess(WatchedLog& log, uint32_t pid, bool writes, const std::string& held_program) {
  absl::StatusOr<WatchedProcess> process = WatchedProcess::Open(pid);
  const bool named = setup_.plan.has_pid();
  // One of a queue manager's may end while it is looked at.
  if (absl::IsNotFound(process.status()) && !named) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(process.status());
  if (writes) PLIMSOLL_RETURN_IF_ERROR(rings_->AttachProcess(pid, syscalls_));
  WatchedLog::Process& added = log.processes.emplace_back(
      WatchedLog::Process{*std::move(process), writes, !held_program.empty(), false, 0, {}, {}});
  absl::Status functions =
      AddFunctions(log, added, held_program.empty() ? ReadMappedFiles(pid) : FindNeededFiles(held_program, pid));
  if (!functions.ok()) {
    rings_->Detach(pid);
    log.processes.pop_back();
    return functions;
  }
  if (recording_) ReadDescriptorsOf(log, pid);
  return absl::OkStatus();
}

absl::Status WatchTargets::AddFunctions(WatchedLog& log, WatchedLog::Process& process,
                                        const std::set<MappedFile>& mapped) {
  std::set<MappedFile> fresh;
  std::ranges::set_difference(mapped, process.searched, std::inserter(fresh, fresh.end()));
  const bool first = process.searched.empty();
  if (fresh.empty() && !first) return absl::OkStatus();
  process.searched.insert(fresh.begin(), fresh.end());
  const uint32_t pid = process.process.pid();
  for (size_t number = 0; number < setup_.functions.size(); ++number) {
    for (const FunctionPlace& place : FindPlaces(setup_.functions[number], fresh, pid)) {
      // By device and inode: one file may be mapped under several names.
      struct stat info{};
      if (stat(place.path.c_str(), &info) != 0) continue;
      const std::string file = absl::StrCat(info.st_dev, ":", info.st_ino, ":", number);
      if (!process.probed.insert({file, place.offset}).second) continue;
      // Processes share the definition.
      std::vector<PerfEventSpec>& defined = defined_[{file, place.offset}];
      if (defined.empty()) {
        PLIMSOLL_ASSIGN_OR_RETURN(defined, probes_->Add(place.path, place.offset, setup_.functions[number].function,
                                                        static_cast<int64_t>(number)));
      }
      std::vector<PerfEventSpec> specs = defined;
      if (!process.writes && process.probed.size() == 1) specs.front().reports_exec = true;
      PLIMSOLL_RETURN_IF_ERROR(rings_->AttachProcess(pid, specs));
      const std::string probe =
          SanitizeForTerminal(absl::StrCat(place.shown_path, ":", setup_.functions[number].function));
      const bool without_bytes =
          HasBufferLength(setup_.functions[number].function) && !FunctionProbes::HasFifthArgument();
      log.probes.insert(without_bytes ? probe + " (bytes not measured: only agents on x86-64 read BufferLength)"
                                      : probe);
      if (recording_ && !first) {
        NoteLate(absl::StrCat(ProcessInWords(process.process), " loaded ", probe, " during the watch"));
      }
    }
  }
  return absl::OkStatus();
}

LogDirectory* WatchTargets::LogOf(uint32_t pid) {
  const std::optional<uint32_t> writer = WriterOf(pid);
  return writer ? logs_[*writer].log.get() : nullptr;
}

std::optional<uint32_t> WatchTargets::WriterOf(uint32_t pid) const {
  for (uint32_t writer = 0; writer < logs_.size(); ++writer) {
    for (const WatchedLog::Process& one : logs_[writer].processes) {
      if (one.process.pid() == pid) return writer;
    }
  }
  return std::nullopt;
}

void WatchTargets::ReadDescriptorsOf(const WatchedLog& log, uint32_t pid) {
  files_.RemoveProcess(pid);
  if (log.log == nullptr) return;
  const int64_t from_ns = SystemClock::Read().value;
  const auto descriptors = ReadDescriptors(pid, *log.log);
  if (descriptors.ok()) files_.AddProcess(pid, *descriptors, from_ns);
}

void WatchTargets::ReadAllDescriptors() {
  for (const WatchedLog& log : logs_) {
    for (const WatchedLog::Process& one : log.processes) {
      if (one.writes && one.ended_ns == 0) ReadDescriptorsOf(log, one.process.pid());
    }
  }
}

void WatchTargets::Begin() {
  // Of an earlier step.
  std::vector<PerfRecord> old;
  rings_->Drain(old);
  recording_ = true;
  rings_->Enable(true);
  ReadAllDescriptors();
}

void WatchTargets::End() {
  recording_ = false;
  rings_->Enable(false);
}

void WatchTargets::Detach() {
  recording_ = false;
  rings_->DetachAll();
}

void WatchTargets::RemoveEnded(WatchedLog& log, int64_t taken_until_ns, std::vector<std::string>& ended) {
  std::erase_if(log.processes, [&](WatchedLog::Process& one) {
    if (one.ended_ns == 0 && one.process.ended()) one.ended_ns = SystemClock::Read().value;
    if (one.ended_ns == 0 || taken_until_ns <= one.ended_ns) return false;
    ended.push_back(absl::StrCat(ProcessInWords(one.process), " ended"));
    rings_->Detach(one.process.pid());
    files_.RemoveProcess(one.process.pid());
    return true;
  });
}

WatchTargets::Changes WatchTargets::Refresh(int64_t now_ns, int64_t taken_until_ns) {
  Changes changes;
  const auto note_failure = [this](const absl::Status& status) {
    if (status.ok()) return;
    spdlog::warn("{}", std::string(status.message()));
    NoteLate(absl::StrCat("not all that came during the watch could be attached to: ", std::string(status.message())));
  };
  for (WatchedLog& log : logs_) {
    RemoveEnded(log, taken_until_ns, changes.ended);
    if (!probes_) continue;
    for (WatchedLog::Process& one : log.processes) {
      if (one.held || one.ended_ns != 0) continue;
      note_failure(AddFunctions(log, one, ReadMappedFiles(one.process.pid())));
    }
  }
  if (!setup_.plan.has_pid() && now_ns >= next_search_ns_) {
    for (WatchedLog& log : logs_) note_failure(FindNewProcesses(log));
    const int64_t took_ns = SystemClock::Read().value - now_ns;
    next_search_ns_ = now_ns + std::max(kSearchPauseNs, kSearchShare * took_ns);
  }
  changes.found_late = std::exchange(found_late_, {});
  return changes;
}

std::optional<std::string> WatchTargets::OnExec(uint32_t pid) {
  const std::optional<uint32_t> writer = WriterOf(pid);
  if (!writer) return std::nullopt;
  WatchedLog& log = logs_[*writer];
  const auto one = std::ranges::find_if(log.processes, [pid](const auto& each) { return each.process.pid() == pid; });
  const bool was_held = std::exchange(one->held, false);
  // A program that was started for the watch may be a wrapper that executes another one. Its probes stay with it.
  one->started = one->started || was_held;
  if (one->started || (one->writes && log.log != nullptr && HasLogToWrite(pid, *log.log))) {
    one->process.ReadName();
    ReadDescriptorsOf(log, pid);
    return std::nullopt;
  }
  std::string ended = absl::StrCat(ProcessInWords(one->process), " started another program");
  rings_->Detach(pid);
  files_.RemoveProcess(pid);
  log.processes.erase(one);
  return ended;
}

bool WatchTargets::over() const {
  return setup_.plan.has_pid() && logs_.front().processes.empty();
}

void WatchTargets::Describe(v1::Prepared& prepared) {
  const std::vector<Mount> mounts = ParseMountInfo(ReadTextFile("/proc/self/mountinfo"));
  for (WatchedLog& log : logs_) {
    v1::WatchedWriter& writer = *prepared.mutable_watch()->add_writers();
    writer.set_qm(log.qm);
    for (const std::string& probe : log.probes) writer.add_probes(probe);
    if (log.log != nullptr) {
      writer.set_log_dir(SanitizeForTerminal(log.log->path()));
      struct stat info{};
      const Mount* const mount =
          stat(log.log->path().c_str(), &info) == 0 ? FindMount(mounts, 0, info.st_dev, log.log->path()) : nullptr;
      if (mount != nullptr) {
        writer.set_fs_type(mount->fs_type);
        writer.set_fs_source(SanitizeForTerminal(mount->source));
        writer.set_mount_options(SanitizeForTerminal(mount->options));
      }
    }
    for (const WatchedLog::Process& one : log.processes) {
      v1::WatchedProcess& process = *writer.add_processes();
      process.set_pid(one.process.pid());
      process.set_name(one.process.name());
      process.set_threads(one.process.CountThreads());
      if (log.log == nullptr) continue;
      const auto descriptors = ReadDescriptors(one.process.pid(), *log.log);
      const auto log_files =
          descriptors.ok()
              ? std::ranges::count_if(*descriptors, [](const auto& descriptor) { return descriptor.second.log; })
              : 0;
      process.set_log_files(static_cast<uint32_t>(log_files));
      const std::vector<std::string> flags = ReadOpenFlags(one.process.pid(), *log.log);
      if (!flags.empty() && prepared.open_flags().empty()) {
        prepared.set_open_flags(flags.front());
        prepared.set_direct(absl::StrContains(flags.front(), "O_DIRECT"));
      }
    }
  }
  prepared.mutable_watch()->set_write_overhead_ns(write_cost_ns_);
  prepared.mutable_watch()->set_call_overhead_ns(call_cost_ns_);
}

}  // namespace plimsoll
