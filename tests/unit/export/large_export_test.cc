// Many writes: none is lost, and memory does not grow with their number.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <tuple>

#include "controller/export/formats.h"
#include "controller/export/write_stream.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/export/large_journal.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PLIMSOLL_SANITIZED
#endif
#endif

namespace plimsoll {
namespace {

constexpr uint32_t kWriters = 16;
// Under a sanitizer every write costs ten times as much, and its own memory hides ours.
#ifdef PLIMSOLL_SANITIZED
constexpr uint64_t kWritesOfOne = 20'000;
constexpr bool kMemoryIsOurs = false;
#else
constexpr uint64_t kWritesOfOne = 1'000'000;
constexpr bool kMemoryIsOurs = true;
#endif
// A quarter of a byte for each of the writes that the larger journal has more.
constexpr int64_t kMostGrowthKib = 4 << 10;

// Runs `work` in a process of its own; returns its largest resident size.
int64_t PeakKib(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  rusage usage{};
  EXPECT_EQ(wait4(child, &status, 0, &usage), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  return usage.ru_maxrss;
}

// Exports the journal and compares it with what was made.
void ExportAndCompare(const std::string& path, const LargeFigures& wanted) {
  auto index = RunIndex::Read(path);
  ASSERT_THAT(index, IsOk());
  const v1::LatencyReport& reported = (*index)->report().steps(0).scopes().rbegin()->latency();
  EXPECT_EQ(reported.count(), wanted.writes);
  auto stream = WriteStream::Open(**index, {});
  ASSERT_THAT(stream, IsOk());
  std::vector<uint64_t> next_seq((*index)->writers().size(), 1);
  std::tuple<int64_t, uint32_t, uint64_t> last{INT64_MIN, 0, 0};
  std::vector<ExportedWrite> writes;
  Histogram latency;
  do {
    ASSERT_THAT((*stream)->Next(writes), IsOk());
    for (const ExportedWrite& write : writes) {
      const std::tuple<int64_t, uint32_t, uint64_t> place{write.start_ns, write.writer, write.seq};
      ASSERT_LT(last, place) << "out of order";
      last = place;
      ASSERT_EQ(write.seq, next_seq[write.writer]++) << "a write is lost";
      latency.Record(write.latency_ns);
    }
  } while (!writes.empty());
  EXPECT_EQ((*stream)->moved(), 0U);
  EXPECT_EQ(latency.count(), wanted.writes);
  EXPECT_EQ(latency.sum_ns(), wanted.sum_ns);
  EXPECT_EQ(latency.min_ns(), wanted.min_ns);
  EXPECT_EQ(latency.max_ns(), wanted.max_ns);
  EXPECT_EQ(latency.sum_ns(), reported.sum_ns());
  EXPECT_EQ(latency.PercentileNs(99.9), reported.p99_9_ns());
}

TEST(LargeExport, LosesNothingAndItsMemoryDoesNotGrowWithTheWrites) {
  const tests::TempDirectory directory;
  // Figures cross from the process that makes a journal to the ones that read it.
  struct Made {
    std::string path;
    uint64_t writes;
    LargeFigures figures;
  };
  std::vector<Made> made = {{directory.Sub("small"), kWritesOfOne / 10, {}},
                            {directory.Sub("large"), kWritesOfOne, {}}};
  for (Made& each : made) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    PeakKib([&] {
      const LargeFigures figures = tests::WriteLargeJournal(each.path, kWriters, each.writes);
      ASSERT_EQ(write(pipe_ends[1], &figures, sizeof figures), static_cast<ssize_t>(sizeof figures));
    });
    // First of all, so that where nothing was written nothing is awaited.
    close(pipe_ends[1]);
    ASSERT_EQ(read(pipe_ends[0], &each.figures, sizeof each.figures), static_cast<ssize_t>(sizeof each.figures));
    close(pipe_ends[0]);
    ASSERT_EQ(each.figures.writes, kWriters * each.writes);
  }
  const int64_t small_kib = PeakKib([&] { ExportAndCompare(made[0].path, made[0].figures); });
  const int64_t large_kib = PeakKib([&] { ExportAndCompare(made[1].path, made[1].figures); });
  RecordProperty("small_kib", static_cast<int>(small_kib));
  RecordProperty("large_kib", static_cast<int>(large_kib));
  EXPECT_TRUE(!kMemoryIsOurs || large_kib <= small_kib + kMostGrowthKib) << small_kib << " and " << large_kib << " KiB";
  std::cout << "peak: " << small_kib << " KiB and " << large_kib << " KiB\n";
}

}  // namespace
}  // namespace plimsoll
