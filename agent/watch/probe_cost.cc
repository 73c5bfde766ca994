#include "agent/watch/probe_cost.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/host/storage_stack.h"
#include "agent/watch/tracefs.h"
#include "agent/watch/watched_calls.h"
#include "common/clock.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr char kSyscallEnter[] = "raw_syscalls/sys_enter";
constexpr char kSyscallExit[] = "raw_syscalls/sys_exit";

// Short batches, most of which other threads of the host do not interrupt.
constexpr int kCostBatches = 200;
constexpr int kCallsInBatch = 100;

// What the agent's own probe is set on. It must not be inlined.
[[gnu::noinline]] void ProbedFunction() {
  asm volatile("" ::: "memory");
}

// Time of one of the calls that `batch` makes, in nanoseconds, where nothing interrupts it: the lower quartile of the
// batches.
double UndisturbedNs(const std::function<void()>& batch, const std::function<void()>& between) {
  std::array<int64_t, kCostBatches> times_ns{};
  for (int64_t& time_ns : times_ns) {
    const MonotonicNs start = SystemClock::Read();
    batch();
    time_ns = SystemClock::Read() - start;
    between();
  }
  std::ranges::nth_element(times_ns, times_ns.begin() + kCostBatches / 4);
  return static_cast<double>(times_ns[kCostBatches / 4]) / kCallsInBatch;
}

absl::StatusOr<uint64_t> MeasureCost(std::span<const PerfEventSpec> specs, const std::function<void()>& batch) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<PerfRings> rings, PerfRings::Create());
  batch();
  const double without_ns = UndisturbedNs(batch, [] {});
  PLIMSOLL_RETURN_IF_ERROR(rings->Attach(static_cast<uint32_t>(getpid()), static_cast<uint32_t>(gettid()), specs));
  rings->Enable(true);
  std::vector<PerfRecord> records;
  // A full ring would cost less.
  const double with_ns = UndisturbedNs(batch, [&] {
    rings->Drain(records);
    records.clear();
  });
  return static_cast<uint64_t>(std::max(with_ns - without_ns, 1.0));
}

// Where an address of this program lies in its file.
absl::StatusOr<uint64_t> OwnFileOffset(uintptr_t address) {
  for (const absl::string_view line : absl::StrSplit(ReadTextFile("/proc/self/maps"), '\n')) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    uint64_t offset = 0;
    if (std::sscanf(std::string(line).c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64, &begin, &end, &offset) == 3 &&
        begin <= address && address < end) {
      return address - begin + offset;
    }
  }
  return absl::InternalError("/proc/self/maps does not show the agent's own program");
}

}  // namespace

absl::StatusOr<std::vector<PerfEventSpec>> SyscallSpecs() {
  PLIMSOLL_ASSIGN_OR_RETURN(const TraceFs tracefs, TraceFs::Open());
  // As perf_records.cc reads them.
  PLIMSOLL_RETURN_IF_ERROR(tracefs.CheckField(kSyscallEnter, "common_pid", 4, 4));
  PLIMSOLL_RETURN_IF_ERROR(tracefs.CheckField(kSyscallEnter, "id", 8, 8));
  PLIMSOLL_RETURN_IF_ERROR(tracefs.CheckField(kSyscallEnter, "args[6]", 16, 48));
  PLIMSOLL_RETURN_IF_ERROR(tracefs.CheckField(kSyscallExit, "id", 8, 8));
  PLIMSOLL_RETURN_IF_ERROR(tracefs.CheckField(kSyscallExit, "ret", 16, 8));
  PerfEventSpec enter;
  enter.kind = PerfRecord::Kind::kSyscallEnter;
  PLIMSOLL_ASSIGN_OR_RETURN(enter.config, tracefs.IdOf(kSyscallEnter));
  enter.filter = CallFilter();
  enter.reports_exec = true;
  PerfEventSpec exit = enter;
  exit.kind = PerfRecord::Kind::kSyscallExit;
  PLIMSOLL_ASSIGN_OR_RETURN(exit.config, tracefs.IdOf(kSyscallExit));
  exit.reports_exec = false;
  return std::vector<PerfEventSpec>{std::move(enter), std::move(exit)};
}

absl::StatusOr<uint64_t> MeasureWriteCost(std::span<const PerfEventSpec> specs) {
  const UniqueFd sink(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!sink.valid()) return PosixError("open", "/dev/null", errno);
  const std::array<char, 16> bytes{};
  return MeasureCost(specs, [&] {
    for (int call = 0; call < kCallsInBatch; ++call) {
      if (pwrite(sink.get(), bytes.data(), bytes.size(), 0) < 0) return;
    }
  });
}

absl::StatusOr<uint64_t> MeasureCallCost(FunctionProbes& probes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t offset, OwnFileOffset(reinterpret_cast<uintptr_t>(&ProbedFunction)));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<PerfEventSpec> specs,
                            probes.Add("/proc/self/exe", offset, "a function of the agent", 0));
  return MeasureCost(specs, [] {
    for (int call = 0; call < kCallsInBatch; ++call) ProbedFunction();
  });
}

}  // namespace plimsoll
