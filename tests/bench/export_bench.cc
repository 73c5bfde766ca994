// Cost of exporting a run of 16 writers with a million writes each; items are writes.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "controller/export/formats.h"
#include "controller/export/write_stream.h"
#include "tests/temp_directory.h"
#include "tests/unit/export/large_journal.h"

namespace plimsoll {
namespace {

constexpr uint32_t kWriters = 16;

// A journal in which each writer has so many writes; made once.
const std::string& Journal(uint64_t writes) {
  static const tests::TempDirectory directory;
  static std::string path;
  static uint64_t made = 0;
  if (made != writes) {
    path = directory.Sub("journal" + std::to_string(writes));
    if (!std::filesystem::exists(path)) tests::WriteLargeJournal(path, kWriters, writes);
    made = writes;
  }
  return path;
}

std::unique_ptr<RunIndex> Index(uint64_t writes) {
  auto index = RunIndex::Read(Journal(writes));
  if (!index.ok()) std::abort();
  return std::move(index).value();
}

std::unique_ptr<WriteStream> Stream(const RunIndex& index) {
  auto stream = WriteStream::Open(index, {});
  if (!stream.ok()) std::abort();
  return std::move(stream).value();
}

void Finish(benchmark::State& state) {
  const auto writes = static_cast<int64_t>(kWriters) * state.range(0);
  state.SetItemsProcessed(writes * state.iterations());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

// The first pass: report, clocks, and every block unpacked and compared with its frame.
void ReadIndex(benchmark::State& state) {
  const auto writes = static_cast<uint64_t>(state.range(0));
  Journal(writes);
  for ([[maybe_unused]] auto unused : state) benchmark::DoNotOptimize(Index(writes));
  Finish(state);
}
BENCHMARK(ReadIndex)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// The second pass: blocks read again, unpacked, mapped to the timeline, merged.
void ReadMapAndMerge(benchmark::State& state) {
  const auto index = Index(static_cast<uint64_t>(state.range(0)));
  for ([[maybe_unused]] auto unused : state) {
    const auto stream = Stream(*index);
    std::vector<ExportedWrite> writes;
    do {
      if (!stream->Next(writes).ok()) std::abort();
      benchmark::DoNotOptimize(writes.data());
    } while (!writes.empty());
  }
  Finish(state);
}
BENCHMARK(ReadMapAndMerge)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// The second pass to a file that keeps nothing.
template <typename Export>
void ToNowhere(benchmark::State& state, const Export& write) {
  const auto index = Index(static_cast<uint64_t>(state.range(0)));
  double bytes = 0;
  for ([[maybe_unused]] auto unused : state) {
    auto output = OpenFileOutput("/dev/null");
    if (!output.ok() || !write(*index, **output).ok() || !(*output)->Finish().ok()) std::abort();
    bytes = static_cast<double>((*output)->written());
  }
  Finish(state);
  state.counters["bytes/write"] = bytes / static_cast<double>(kWriters) / static_cast<double>(state.range(0));
}

void Csv(benchmark::State& state) {
  ToNowhere(state, [](const RunIndex& index, Output& output) { return ExportCsv(index, {}, *Stream(index), output); });
}
BENCHMARK(Csv)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void Perfetto(benchmark::State& state) {
  ToNowhere(state, [](const RunIndex& index, Output& output) { return ExportPerfetto(index, *Stream(index), output); });
}
BENCHMARK(Perfetto)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void Hlog(benchmark::State& state) {
  ToNowhere(state, [](const RunIndex& index, Output& output) { return ExportHlog(index, {}, output); });
}
BENCHMARK(Hlog)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plimsoll

BENCHMARK_MAIN();
