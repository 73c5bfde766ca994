// The queue managers or the process that is watched: their directories, processes and probes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/watch/function_probes.h"
#include "agent/watch/function_symbols.h"
#include "agent/watch/perf_rings.h"
#include "agent/watch/processes.h"
#include "agent/watch/watch_setup.h"
#include "agent/watch/watched_files.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// One writer of the report, and the processes whose operations are its own.
struct WatchedLog {
  struct Process {
    WatchedProcess process;
    // Whether its system calls are watched, too; else only its functions.
    bool writes = false;
    // It has yet to execute its program.
    bool held = false;
    // It was started for the watch.
    bool started = false;
    // Since when it has ended; 0: it runs. Its last records are taken some 50 ms later.
    int64_t ended_ns = 0;
    // What was looked through for functions, and what has a probe.
    std::set<MappedFile> searched;
    std::set<std::pair<std::string, uint64_t>> probed;
  };

  uint32_t qm = 0;
  // The queue manager's, or the process's.
  std::string name;
  // Null if no log writes are watched.
  std::unique_ptr<LogDirectory> log;
  // The queue manager's; empty where it is unknown.
  std::string data_dir;
  std::vector<Process> processes;
  // "/opt/mqm/lib64/libmqm_r.so:MQPUT".
  std::set<std::string> probes;
};

// Finds what the plan watches, attaches the probes, and keeps up with processes and libraries that come and go. Not
// thread-safe.
class WatchTargets {
 public:
  // Finds the processes and attaches the probes, which do not record yet. A queue manager whose directories are known
  // may have no process: its standby instance's host sees the takeover. `setup` must outlive the object. Errors name
  // what is missing and the way out.
  static absl::StatusOr<std::unique_ptr<WatchTargets>> Create(const WatchSetup& setup, const std::string& held_program,
                                                              const std::string& mqs_ini);

  // Begins recording, and reads the descriptors of the processes.
  void Begin();
  // Ends recording.
  void End();
  // Closes all probes, for good.
  void Detach();

  // What Refresh found, in words.
  struct Changes {
    std::vector<std::string> ended;
    std::vector<std::string> found_late;
  };
  // Looks for processes that have ended, for libraries that were loaded, and, where queue managers are watched, for new
  // processes. A process has ended once all its records were taken: those before `taken_until_ns` were. Call it some
  // ten times a second; it limits itself to a fiftieth of the time.
  Changes Refresh(int64_t now_ns, int64_t taken_until_ns);
  // A process has executed another program. Returns what ended, in words; nothing if the process goes on being watched:
  // it was started for the watch, or still has the log open.
  std::optional<std::string> OnExec(uint32_t pid);
  // After records were lost: reads all descriptors anew.
  void ReadAllDescriptors();

  // The writer, from 0, that a process belongs to.
  std::optional<uint32_t> WriterOf(uint32_t pid) const;
  // No process is left, and none can come.
  bool over() const;

  PerfRings& rings() { return *rings_; }
  WatchedFiles& files() { return files_; }
  std::vector<WatchedLog>& logs() { return logs_; }

  // What was found: Prepared.watch and its first log's open flags.
  void Describe(v1::Prepared& prepared);
  // The cost of one probed write and call; measured by Create.
  uint64_t write_cost_ns() const { return write_cost_ns_; }
  uint64_t call_cost_ns() const { return call_cost_ns_; }

 private:
  explicit WatchTargets(const WatchSetup& setup);

  absl::Status PrepareProbes();
  absl::Status FindQueueManagers(const std::string& mqs_ini);
  absl::Status FindProcess(const std::string& held_program);
  // Attaches to a process that is not known yet.
  absl::Status AddProcess(WatchedLog& log, uint32_t pid, bool writes, const std::string& held_program);
  // Attaches to the functions of files that have not been searched.
  absl::Status AddFunctions(WatchedLog& log, WatchedLog::Process& process, const std::set<MappedFile>& mapped);
  absl::Status FindNewProcesses(WatchedLog& log);
  absl::Status WatchWritesToo(WatchedLog& log, WatchedLog::Process& process);
  void RemoveEnded(WatchedLog& log, int64_t taken_until_ns, std::vector<std::string>& ended);
  // Each text once.
  void NoteLate(std::string text);
  void ReadDescriptorsOf(const WatchedLog& log, uint32_t pid);
  LogDirectory* LogOf(uint32_t pid);

  const WatchSetup& setup_;
  // Before the rings, whose events use them.
  std::optional<FunctionProbes> probes_;
  std::unique_ptr<PerfRings> rings_;
  std::vector<PerfEventSpec> syscalls_;
  // The probes of functions, by file, number of the function, and place.
  std::map<std::pair<std::string, uint64_t>, std::vector<PerfEventSpec>> defined_;
  uint64_t write_cost_ns_ = 0;
  uint64_t call_cost_ns_ = 0;
  std::vector<WatchedLog> logs_;
  WatchedFiles files_;
  bool recording_ = false;
  // Names that were found in memory that may change.
  std::set<std::pair<uint32_t, uint64_t>> variable_names_;
  std::set<std::string> noted_late_;
  std::vector<std::string> found_late_;
  size_t hidden_ = 0;
  int64_t next_search_ns_ = 0;
};

}  // namespace plimsoll
