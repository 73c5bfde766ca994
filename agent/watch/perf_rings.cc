#include "agent/watch/perf_rings.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/host/storage_stack.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr char kOnlineCpus[] = "/sys/devices/system/cpu/online";

// Data of one ring. A call takes some 170 bytes: 2 MiB hold 0.6 s of 20,000 calls a second on one CPU. A user without
// CAP_IPC_LOCK may lock 512 KiB a CPU (kernel.perf_event_mlock_kb).
constexpr size_t kRingBytes[] = {size_t{2} << 20, size_t{1} << 20, size_t{512} << 10, size_t{128} << 10};
constexpr size_t kManyCpus = 32;

// Rings with less room than this may have lost records: no record is longer, with the one that reports a loss.
constexpr uint64_t kLeastRoom = 1024;

constexpr unsigned kCapPerfmon = 38;
constexpr unsigned kCapSysAdmin = 21;

int OpenPerfEvent(perf_event_attr& attr, int pid, int cpu) {
  attr.size = sizeof(attr);
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

bool HasCapability(unsigned capability) {
  for (const absl::string_view line : absl::StrSplit(ReadTextFile("/proc/self/status"), '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(":\t "), absl::SkipEmpty());
    if (words.size() != 2 || words[0] != "CapEff") continue;
    const uint64_t effective = std::strtoull(words[1].c_str(), nullptr, 16);
    return ((effective >> capability) & 1) != 0;
  }
  return false;
}

// The clock and what else all events of a ring must share.
perf_event_attr CommonAttr(ThreadField thread) {
  perf_event_attr attr{};
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.sample_id_all = 1;
  attr.sample_type = PerfSampleType(thread);
  attr.watermark = 1;
  // The agent looks every few milliseconds: a wake-up would cost the watched process an interrupt.
  attr.wakeup_watermark = UINT32_MAX;
  return attr;
}

// An event that counts nothing. It belongs to the agent's own thread, so that it needs no privilege, and outlives what
// is watched.
void MakeDummy(perf_event_attr& attr) {
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
}

bool InheritsThreadsAlone() {
  perf_event_attr attr{};
  MakeDummy(attr);
  attr.inherit = 1;
  attr.inherit_thread = 1;
  return UniqueFd(OpenPerfEvent(attr, 0, -1)).valid();
}

std::vector<uint32_t> ThreadsOf(uint32_t pid) {
  std::vector<uint32_t> tids;
  std::error_code error;
  for (std::filesystem::directory_iterator task(absl::StrCat("/proc/", pid, "/task"), error);
       !error && task != std::filesystem::directory_iterator(); task.increment(error)) {
    uint32_t tid = 0;
    if (absl::SimpleAtoi(task->path().filename().string(), &tid)) tids.push_back(tid);
  }
  return tids;
}

}  // namespace

// The memory that kernel and agent share for one CPU, and the event that owns it.
struct PerfRings::Ring {
  Ring(int cpu_number, UniqueFd event, void* mapped, size_t data_bytes, PerfRecordParser record_parser)
      : cpu(cpu_number),
        fd(std::move(event)),
        page(static_cast<perf_event_mmap_page*>(mapped)),
        data(static_cast<const uint8_t*>(mapped) + sysconf(_SC_PAGESIZE)),
        bytes(data_bytes),
        parser(std::move(record_parser)) {}
  ~Ring() { munmap(page, bytes + static_cast<size_t>(sysconf(_SC_PAGESIZE))); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  const int cpu;
  const UniqueFd fd;
  perf_event_mmap_page* const page;
  const uint8_t* const data;
  const size_t bytes;
  PerfRecordParser parser;
  std::vector<uint8_t> copy;
};

absl::Status PerfError(const std::string& subject, int error_number) {
  const std::string call = absl::StrCat(" (perf_event_open: ", std::strerror(error_number), ", ", error_number, ")");
  if (error_number == EACCES || error_number == EPERM) {
    const bool privileged = HasCapability(kCapPerfmon) || HasCapability(kCapSysAdmin);
    return absl::PermissionDeniedError(absl::StrCat(
        "the kernel does not let the agent trace ", subject, ": ",
        privileged
            ? "it has the capability, so a security module or a container's seccomp filter forbids it; run the agent "
              "outside the container"
            : absl::StrCat("kernel.perf_event_paranoid is ", ReadTextLine("/proc/sys/kernel/perf_event_paranoid"),
                           "; run the agent as root, or give it CAP_PERFMON and CAP_SYS_PTRACE (before Linux 5.8 "
                           "CAP_SYS_ADMIN)"),
        call));
  }
  if (error_number == EMFILE || error_number == ENFILE) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "too few file descriptors to trace ", subject,
        ": each thread takes one for each CPU and probe; raise LimitNOFILE (ulimit -n), or watch fewer --calls", call));
  }
  if (error_number == ENOSYS) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this kernel has no perf events, or a container's seccomp filter hides them: ", subject,
        " cannot be traced; run the agent outside the container, on a kernel with CONFIG_PERF_EVENTS", call));
  }
  if (error_number == ESRCH) return absl::NotFoundError(absl::StrCat(subject, " has ended", call));
  return absl::FailedPreconditionError(absl::StrCat("the kernel cannot trace ", subject, call));
}

std::vector<int> ParseCpuList(const std::string& text) {
  std::vector<int> cpus;
  for (const absl::string_view range : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::vector<std::string> ends = absl::StrSplit(range, '-');
    int first = 0;
    int last = 0;
    if (!absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last)) continue;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

absl::StatusOr<std::unique_ptr<PerfRings>> PerfRings::Create() {
  // Each event takes a descriptor.
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, kMostEvents + 10'000);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  auto rings = std::unique_ptr<PerfRings>(new PerfRings());
  rings->cpus_ = ReadTextLine(kOnlineCpus);
  const std::vector<int> cpus = ParseCpuList(rings->cpus_);
  if (cpus.empty()) return absl::FailedPreconditionError(absl::StrCat(kOnlineCpus, " lists no CPU; mount /sys"));
  absl::Status status;
  for (const size_t bytes : kRingBytes) {
    if (cpus.size() > kManyCpus && bytes == kRingBytes[0]) continue;
    status = absl::OkStatus();
    for (const int cpu : cpus) {
      status = rings->AddRing(cpu, bytes);
      if (!status.ok()) break;
    }
    if (!absl::IsResourceExhausted(status)) break;
    rings->rings_.clear();
  }
  PLIMSOLL_RETURN_IF_ERROR(status);
  return rings;
}

PerfRings::PerfRings()
    : inherits_threads_alone_(InheritsThreadsAlone()),
      thread_field_(inherits_threads_alone_ ? ThreadField::kOfTracepoint : ThreadField::kOfSample) {}

PerfRings::~PerfRings() = default;

absl::Status PerfRings::AddRing(int cpu, size_t bytes) {
  perf_event_attr attr = CommonAttr(thread_field_);
  MakeDummy(attr);
  UniqueFd fd(OpenPerfEvent(attr, 0, cpu));
  // One that went offline since the list was read has no records.
  if (!fd.valid() && errno == ENODEV) return absl::OkStatus();
  if (!fd.valid()) return PerfError(absl::StrCat("threads on CPU ", cpu), errno);
  void* const mapped = mmap(nullptr, bytes + static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_WRITE,
                            MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) {
    const std::string reason =
        absl::StrCat("no memory for the records of CPU ", cpu, ": ", bytes >> 10,
                     " KiB may not be locked; raise kernel.perf_event_mlock_kb, or give the agent CAP_IPC_LOCK (mmap: ",
                     std::strerror(errno), ", ", errno, ")");
    if (errno == EPERM || errno == ENOMEM) return absl::ResourceExhaustedError(reason);
    return absl::InternalError(reason);
  }
  PerfRecordParser parser(thread_field_, [this](uint64_t id) {
    const auto found = infos_.find(id);
    return found == infos_.end() ? nullptr : &found->second;
  });
  rings_.push_back(std::make_unique<Ring>(cpu, std::move(fd), mapped, bytes, std::move(parser)));
  return absl::OkStatus();
}

absl::Status PerfRings::OpenEvent(const PerfEventSpec& spec, uint32_t pid, uint32_t tid, const Ring& ring) {
  const PerfEventInfo info{spec.kind, pid, tid, spec.number, spec.has_argument};
  perf_event_attr attr = CommonAttr(thread_field_);
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = spec.config;
  attr.sample_period = 1;
  attr.disabled = enabled_ ? 0 : 1;
  attr.inherit = 1;
  attr.inherit_thread = inherits_threads_alone_ ? 1 : 0;
  if (spec.reports_exec) attr.comm = attr.comm_exec = 1;
  UniqueFd fd(OpenPerfEvent(attr, static_cast<int>(tid), ring.cpu));
  if (!fd.valid() && errno == ENODEV) return absl::OkStatus();
  if (!fd.valid()) {
    return PerfError(
        spec.function.empty() ? absl::StrCat("process ", pid) : absl::StrCat(spec.function, " of process ", pid),
        errno);
  }
  Event event;
  if (ioctl(fd.get(), PERF_EVENT_IOC_ID, &event.id) != 0) return PosixError("ioctl", "PERF_EVENT_IOC_ID", errno);
  // Before it can write its first record.
  infos_[event.id] = info;
  event.pid = pid;
  event.tid = tid;
  event.fd = std::move(fd);
  events_.push_back(std::move(event));
  const int opened = events_.back().fd.get();
  if (!spec.filter.empty() && ioctl(opened, PERF_EVENT_IOC_SET_FILTER, spec.filter.c_str()) != 0) {
    return PosixError("ioctl", "PERF_EVENT_IOC_SET_FILTER", errno);
  }
  if (ioctl(opened, PERF_EVENT_IOC_SET_OUTPUT, ring.fd.get()) != 0) {
    return PosixError("ioctl", "PERF_EVENT_IOC_SET_OUTPUT", errno);
  }
  return absl::OkStatus();
}

absl::Status PerfRings::Attach(uint32_t pid, uint32_t tid, std::span<const PerfEventSpec> specs) {
  const size_t before = events_.size();
  absl::Status status;
  if (before + specs.size() * rings_.size() > kMostEvents) {
    status = absl::ResourceExhaustedError(
        absl::StrCat("process ", pid, " has too many threads for this many CPUs and probes: more than ", kMostEvents,
                     " perf events would be open; watch fewer --calls"));
  }
  for (const auto& ring : rings_) {
    for (const PerfEventSpec& spec : specs) {
      if (status.ok()) status = OpenEvent(spec, pid, tid, *ring);
    }
  }
  if (status.ok()) return status;
  for (size_t i = before; i < events_.size(); ++i) infos_.erase(events_[i].id);
  events_.resize(before);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::Status PerfRings::AttachProcess(uint32_t pid, std::span<const PerfEventSpec> specs) {
  std::set<uint32_t> attached;
  // A thread that one without an event started meanwhile is seen at the next look. One that has inherited events gets
  // some of its own, too, which costs it twice but loses nothing.
  for (bool found = true; found;) {
    found = false;
    for (const uint32_t tid : ThreadsOf(pid)) {
      if (!attached.insert(tid).second) continue;
      PLIMSOLL_RETURN_IF_ERROR(Attach(pid, tid, specs));
      found = true;
    }
  }
  return absl::OkStatus();
}

void PerfRings::Detach(uint32_t pid) {
  std::erase_if(events_, [&](const Event& event) {
    if (event.pid != pid) return false;
    infos_.erase(event.id);
    return true;
  });
}

void PerfRings::DetachAll() {
  events_.clear();
  infos_.clear();
}

void PerfRings::Enable(bool enabled) {
  enabled_ = enabled;
  for (const Event& event : events_) {
    ioctl(event.fd.get(), enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
  }
}

void PerfRings::Drain(std::vector<PerfRecord>& records) {
  for (const auto& ring : rings_) {
    std::atomic_ref<__u64> data_head(ring->page->data_head);
    std::atomic_ref<__u64> data_tail(ring->page->data_tail);
    // Acquire, with the kernel's release: records up to the head are whole.
    const uint64_t head = data_head.load(std::memory_order_acquire);
    const uint64_t tail = data_tail.load(std::memory_order_relaxed);
    if (head == tail) continue;
    const auto used = static_cast<size_t>(head - tail);
    const size_t from = static_cast<size_t>(tail) & (ring->bytes - 1);
    const size_t first = std::min(used, ring->bytes - from);
    ring->copy.assign(ring->data + from, ring->data + from + first);
    ring->copy.insert(ring->copy.end(), ring->data, ring->data + (used - first));
    // Release: the bytes are read before the kernel writes there again.
    data_tail.store(head, std::memory_order_release);
    ring->parser.Parse(ring->copy, records);
    if (ring->bytes - used >= kLeastRoom) continue;
    PerfRecord border;
    border.kind = PerfRecord::Kind::kGapBegin;
    border.time_ns = ring->parser.last_time_ns();
    records.push_back(border);
    border.kind = PerfRecord::Kind::kGapEnd;
    border.time_ns = SystemClock::Read().value;
    records.push_back(border);
  }
}

uint64_t PerfRings::lost() const {
  uint64_t lost = 0;
  for (const auto& ring : rings_) lost += ring->parser.lost();
  return lost;
}

bool PerfRings::CpusChanged() const {
  return ReadTextLine(kOnlineCpus) != cpus_;
}

}  // namespace plimsoll
