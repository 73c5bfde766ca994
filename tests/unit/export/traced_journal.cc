#include "tests/unit/export/traced_journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "common/protocol.h"
#include "common/trace.h"
#include "controller/journal/results.h"
#include "tests/testing.h"

namespace plimsoll::tests {

void AddTraces(const SimRun& run, std::vector<v1::JournalRecord>& records, std::mt19937_64& random) {
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames()) continue;
    const SimHost& host = run.hosts.at(record.frames().host());
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      const bool reads = frame.operation() != kMainOperation;
      if (frame.first_seq() == 0 || (reads && frame.operation() != ReadOperation(run))) continue;
      const SimWriter writes = OperationsOf(run, host, frame.step(), frame.qm(), reads);
      const size_t first = frame.first_seq() - 1;
      const int64_t zero_ns = frame.first_start_ns() - writes.at(first).start_ns;
      const bool parts = host.sync_ns != nullptr && !reads && run.read_percent < kOnlyReads;
      TraceEncoder encoder({}, parts);
      for (size_t i = 0; i < frame.latency().count(); ++i) {
        const SimWrite& write = writes.at(first + i);
        const int64_t sync_ns = parts ? host.sync_ns(first + i + 1) : 0;
        encoder.Add(zero_ns + write.start_ns, static_cast<uint64_t>(write.latency_ns), 0,
                    static_cast<uint64_t>(write.latency_ns - sync_ns));
        if (frame.trace_size() < 2 && random() % 200 == 0) frame.add_trace(encoder.Finish());
      }
      if (encoder.size() > 0) frame.add_trace(encoder.Finish());
    }
  }
}

void UseOneFile(std::optional<uint64_t> size_bytes, std::vector<v1::JournalRecord>& records) {
  const auto steps = records.front().run_begin().steps();
  for (v1::JournalRecord& record : records) {
    if (!record.has_host_joined()) continue;
    v1::LogWork& work = *record.mutable_host_joined()->mutable_plan()->mutable_log();
    *work.mutable_steps() = steps;
    v1::LogWorkload& workload = *work.mutable_workload();
    workload.clear_num_files();
    workload.clear_file_size_bytes();
    workload.add_files("/data/a");
    if (size_bytes.has_value()) workload.set_file_size_bytes(*size_bytes);
  }
}

void ReportFileBytes(const std::vector<uint64_t>& file_bytes, std::vector<v1::JournalRecord>& records) {
  for (v1::JournalRecord& record : records) {
    if (!record.has_host_prepared()) continue;
    v1::Prepared& prepared = *record.mutable_host_prepared()->mutable_prepared();
    prepared.mutable_file_bytes()->Assign(file_bytes.begin(), file_bytes.end());
  }
}

void WriteJournal(const std::string& path, const std::vector<v1::JournalRecord>& records) {
  auto writer = JournalWriter::Create(path);
  ASSERT_THAT(writer, IsOk());
  for (const v1::JournalRecord& record : records) ASSERT_THAT((*writer)->Append(record), IsOk());
  ASSERT_THAT((*writer)->Flush(), IsOk());
}

std::vector<ExportedWrite> ReadAll(WriteStream& stream) {
  std::vector<ExportedWrite> all;
  std::vector<ExportedWrite> batch;
  do {
    EXPECT_THAT(stream.Next(batch), IsOk());
    all.insert(all.end(), batch.begin(), batch.end());
  } while (!batch.empty());
  return all;
}

SimWriter AnyWriter(int64_t duration_ns, int64_t warmup_ns, std::mt19937_64& random) {
  return ClosedLoop(
      duration_ns, 1'000 + static_cast<int64_t>(random() % 5'000),
      [&random](uint64_t /*number*/, int64_t /*start_ns*/) {
        if (random() % 300 == 0) return 20 * kNsPerMs;
        return static_cast<int64_t>(50'000 + random() % 200'000);
      },
      warmup_ns, static_cast<int64_t>(random() % 100'000));
}

SimRun TwoHosts(std::mt19937_64& random) {
  SimRun run;
  run.block_sizes = {4096, 65536};
  run.duration_ns = 2 * kNsPerSecond + 300 * kNsPerMs;
  run.warmup_ns = 500 * kNsPerMs;
  for (const char* label : {"alpha", "beta"}) {
    SimHost& host = run.hosts.emplace_back();
    host.label = label;
    host.clock_ahead_ns = label[0] == 'b' ? 100'000 * kNsPerSecond : -7 * kNsPerSecond;
    const size_t writers = label[0] == 'a' ? 2 : 1;
    for (size_t step = 0; step < run.block_sizes.size(); ++step) {
      std::vector<SimWriter>& of_step = host.steps.emplace_back();
      for (size_t i = 0; i < writers; ++i) of_step.push_back(AnyWriter(run.duration_ns, run.warmup_ns, random));
    }
  }
  return run;
}

}  // namespace plimsoll::tests
