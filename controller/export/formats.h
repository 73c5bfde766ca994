// The formats of plimsoll export.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/histogram.h"
#include "controller/export/output.h"
#include "controller/export/run_index.h"
#include "controller/export/write_stream.h"

namespace plimsoll {

// HdrHistogram's V2 encoding (lowest value 1, highest 1 h, 3 significant digits: the layout of Histogram), big endian:
// cookie, payload length, normalising offset 0, digits, lowest, highest, ratio 1.0, then the counts up to the highest
// bucket, each as zig-zag LEB128, a run of n empty buckets as -n.
std::string EncodeHdr(const Histogram& histogram);

// EncodeHdr's result compressed, as an interval log has it: cookie, length, zlib stream; in base 64.
std::string EncodeHdrForLog(const Histogram& histogram);

// Counts by the name of fio's bucket: 64 buckets for each power of two (1.6 % wide), values below 128 ns have one each.
// Its name is the bucket's middle in ns. Like fio's, the last bucket, 17,112,760,320, holds all that is above it: fio's
// own tools do not end where a file has more. Each of our buckets lies in one of fio's, so that counts are exact.
std::map<uint64_t, uint64_t> FioBins(const Histogram& histogram);

// Standard deviation of the values, each taken at its bucket's middle; 0 below two values.
double StandardDeviationNs(const Histogram& histogram);

// RFC 4180, with a heading; one line per write or read, in the order of WriteStream. Columns: timeline_ns, utc, host,
// qm, step, seq, latency_ns, bytes, error_ns; where the parts of writes were measured also write_call_ns and sync_ns,
// with the warm-up also part (warmup or measured), of a run that reads also operation (write or read). Returns how many
// lines.
absl::StatusOr<uint64_t> ExportCsv(const RunIndex& index, const WriteFilter& filter, WriteStream& writes,
                                   Output& output);

// Makes `directory` (it must not be there, or be empty) and in it one completion latency log for each writer, named
// <host>_qm<n>_clat.<number of the writer in the run>.log: the number alone makes names differ, also on file systems
// that do not distinguish upper from lower case. A second log, _lat, has the same lines: a write is submitted and
// completed by one call, and some tools look for the one, some for the other. A line: end of the write in ms since the
// start of the first step that is exported, or with `unix_epoch` since 1970, latency in ns, 0 (a read) or 1 (a write),
// block size, offset as if the extents lay one behind the other (0 where the operation's number is not known or does
// not show it: where blocks are in random order, or a writer both reads and writes), 0 (no priority). Returns how many
// lines a kind of log has. What was made is removed where an error is returned. With `results`, a descriptor of the
// directory above, the last component of `directory` is a name that the program chose: it is made there, and refused
// where it is a symbolic link.
absl::StatusOr<uint64_t> ExportFioLogs(const RunIndex& index, const WriteFilter& filter, WriteStream& writes,
                                       const std::string& directory, int results = -1, bool unix_epoch = false);

// An interval log of version 1.3, one line a second for all writers together and one for each writer; values in ns. It
// is made from the frames' histograms, bucket for bucket, and needs no traces: untraced writes and reads are in it too.
// What follows about writes holds for the reads of a run whose operations all read.
//
// Tags: "alpha/qm1" for a writer; lines of all writers have none. Where several steps are exported, "step2/alpha/qm1"
// and "step2", so that block sizes are not mixed unasked. Warm-up: "warmup/alpha/qm1", "warmup", behind the step. The
// parts of a write, and reads beside writes, in the order of the step's operations: "sync/alpha/qm1", "sync", behind
// step and warm-up. What was in flight at a step's end has lines of its own, from there to the end of the longest of
// them. Returns how many writes and reads the lines of all writers hold.
absl::StatusOr<uint64_t> ExportHlog(const RunIndex& index, const WriteFilter& filter, Output& output);
// What a reader of an interval log without any line of no tag must pass; empty where there are such lines.
std::string HlogRemark(const RunIndex& index, const WriteFilter& filter);

// A trace (perfetto_trace.proto) for ui.perfetto.dev: each host as a process, below it a track a queue manager, on that
// a slice a write or read, named by step and block size ("step 1: 4 KiB", "warm-up 1: 4 KiB"; of a run that reads "step
// 1: read, 4 KiB", "step 1: write, 4 KiB"), with its number in the step, its latency and the clock's error in ns as
// arguments, and "write" or "read" as its category. Packets are in the order of time; every slice begins and ends, and
// those of a track do not overlap: where the clocks' rates make a write's end fall behind the start of the next one (by
// ns), the slice ends there; the latency beside it is the measured one. A write that was measured in parts has two
// slices inside its own, "write call" and "sync". Returns how many writes and reads.
absl::StatusOr<uint64_t> ExportPerfetto(const RunIndex& index, WriteStream& writes, Output& output);

// One job for each step and writer ("alpha/qm1"), behind those of a step one for all of them ("All clients", as fio's
// own client has it); groupid is the step's number from 0. Figures are the report's; bins and standard deviation come
// from the frames' histograms, and so do the figures by second of reads beside writes. Both clat_ns and lat_ns are the
// time of the system call. The warm-up is in none of it. A figure that is not measured has no key. The jobs are there
// twice: as `jobs`, and as `client_stats`, where fio's client has them. Returns how many writes and reads the jobs of
// single writers hold.
absl::StatusOr<uint64_t> ExportFioJson(const RunIndex& index, const WriteFilter& filter, Output& output);

// A job file for fio that is as near to the run as fio's options allow: the files of the first host, a job for each
// step, without those of repetitions. Comments at its head say what differs. Made from the plan alone. INVALID_ARGUMENT
// where no job is near: a watch, simulated clients, a recording, a placement. Returns how many jobs.
absl::StatusOr<uint64_t> ExportFioJob(const RunIndex& index, const WriteFilter& filter, Output& output);

// CSV under lines that begin with "#": facts of the run, then the `slowest` writes and reads of the measured part, the
// slowest first, and the stalls that the report lists, a line for each of their writers; each with its UTC time and the
// bound of its error, the addresses of client and server, file and offset, and how the kernel's counters of its host
// rose around it. Made from traces and frames: untraced writes are in it as far as frames name them. Returns how many
// lines.
absl::StatusOr<uint64_t> ExportEvidence(const RunIndex& index, const WriteFilter& filter, size_t slowest,
                                        WriteStream& writes, Output& output);
// Lines of slowest operations where the command line names no number, and the most that it may name.
inline constexpr uint32_t kSlowestOperations = 100;
inline constexpr uint32_t kMostSlowestOperations = 100'000;

// What is exported, and where to.
struct ExportTask {
  const RunIndex& index;
  WriteFilter filter;
  WriteStream& writes;
  // The output of formats that are one stream.
  Output* output = nullptr;
  // The directory to make, of those that are several files; see ExportFioLogs.
  std::string directory = {};
  int results = -1;
  // Times since 1970, of formats that have them.
  bool unix_epoch = false;
  // Number of slowest operations, of formats that choose them.
  uint32_t slowest = kSlowestOperations;
};

// One format; what prints help and what runs an export both read it here.
struct ExportFormat {
  const char* name;
  const char* help;
  // Below the directory of results, where the command line gives no output; null: standard output.
  const char* default_name;
  // Several files in a directory of their own, rather than one stream.
  bool makes_directory;
  // Made from the traces; the others have untraced operations, too.
  bool needs_traces;
  // Whether the warm-up can be in it.
  bool has_warmup;
  // Returns how many writes and reads it wrote.
  absl::StatusOr<uint64_t> (*run)(const ExportTask& task);
  // Whether its times can be of the UNIX epoch.
  bool has_unix_epoch = false;
  // What its readers must know, as a sentence; null: nothing.
  std::string (*remark)(const RunIndex& index, const WriteFilter& filter) = nullptr;
  // What it returns the number of; null: writes and reads.
  const char* counts = nullptr;
  // Whether it chooses the slowest operations.
  bool has_slowest = false;
};

inline constexpr ExportFormat kExportFormats[] = {
    {"csv", "one line per write", nullptr, false, true, true,
     [](const ExportTask& task) { return ExportCsv(task.index, task.filter, task.writes, *task.output); }},
    {"fio-log", "fio's latency logs", "fio-log", true, true, true,
     [](const ExportTask& task) {
       return ExportFioLogs(task.index, task.filter, task.writes, task.directory, task.results, task.unix_epoch);
     },
     true},
    {"hlog", "HdrHistogram interval log", nullptr, false, false, true,
     [](const ExportTask& task) { return ExportHlog(task.index, task.filter, *task.output); }, false, HlogRemark},
    {"perfetto", "for ui.perfetto.dev", "trace.perfetto-trace", false, true, true,
     [](const ExportTask& task) { return ExportPerfetto(task.index, task.writes, *task.output); }},
    {"fio-json", "fio's json+", nullptr, false, false, false,
     [](const ExportTask& task) { return ExportFioJson(task.index, task.filter, *task.output); }},
    {"fio-job", "the nearest job of fio", nullptr, false, false, false,
     [](const ExportTask& task) { return ExportFioJob(task.index, task.filter, *task.output); }, false, nullptr,
     "jobs"},
    {"evidence", "slowest writes and stalls, for a storage vendor", nullptr, false, false, false,
     [](const ExportTask& task) {
       return ExportEvidence(task.index, task.filter, task.slowest, task.writes, *task.output);
     },
     false, nullptr, "writes and stalls", true},
};

}  // namespace plimsoll
