// Journals with traces, as files.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "controller/export/write_stream.h"
#include "plimsoll/v1/journal.pb.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {

// Gives every frame of a journal that MakeJournal made from `run` the trace of its writes or reads, cut into one to
// three blocks.
void AddTraces(const SimRun& run, std::vector<v1::JournalRecord>& records, std::mt19937_64& random);

// Makes a journal's hosts use one file, /data/a, divided among their writers. `size_bytes`: the part that is used.
void UseOneFile(std::optional<uint64_t> size_bytes, std::vector<v1::JournalRecord>& records);
// Makes a journal's hosts report these sizes of the files that they use.
void ReportFileBytes(const std::vector<uint64_t>& file_bytes, std::vector<v1::JournalRecord>& records);

// Writes the records as a journal.
void WriteJournal(const std::string& path, const std::vector<v1::JournalRecord>& records);

// Everything that a stream gives; a failure of the test where it gives an error.
std::vector<ExportedWrite> ReadAll(WriteStream& stream);

// Latencies of 50 to 250 us, and rarely of 20 ms, which reach into the next interval.
SimWriter AnyWriter(int64_t duration_ns, int64_t warmup_ns, std::mt19937_64& random);

// Two hosts whose clocks are far apart, with two writers and one, two steps, and a warm-up.
SimRun TwoHosts(std::mt19937_64& random);

}  // namespace plimsoll::tests
