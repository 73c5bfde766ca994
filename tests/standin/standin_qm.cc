// A stand-in for a queue manager: writes extents in its log's directory as a logger does, calls the MQI, and logs the
// clock before and after each of both.
//
//   standin_qm LOG_DIRECTORY RECORD_FILE WRITES_PER_SECOND CALLS_PER_SECOND SECONDS
//
// Prints "ready" once its first extents are open, and begins at a line on standard input. A line of the record:
// "write THREAD BEFORE_NS AFTER_NS BYTES OFFSET FILE" or "call NAME BEFORE_NS AFTER_NS BYTES".
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

extern "C" {
void MQPUT(int32_t connection, int32_t object, void* descriptor, void* options, int32_t length, void* buffer,
           int32_t* completion, int32_t* reason);
void MQGET(int32_t connection, int32_t object, void* descriptor, void* options, int32_t length, void* buffer,
           int32_t* data_length, int32_t* completion, int32_t* reason);
void MQCMIT(int32_t connection, int32_t* completion, int32_t* reason);
}

namespace {

constexpr int kLoggers = 2;
constexpr int kWritesInExtent = 500;
// An extent lasts this long at least: a watcher that is suspended for longer cannot identify it.
constexpr double kExtentS = 0.25;
constexpr size_t kPage = 4096;

int64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void SleepUntil(int64_t moment_ns) {
  const timespec until{moment_ns / 1'000'000'000, moment_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

struct Entry {
  const char* call = nullptr;  // null: a write
  int thread = 0;
  int64_t before_ns = 0;
  int64_t after_ns = 0;
  int64_t bytes = 0;
  int64_t offset = 0;
  int extent = 0;
};

void Die(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

// One logger: extents of its own, in turn, each in a new descriptor.
class Logger {
 public:
  Logger(std::string directory, int number) : directory_(std::move(directory)), number_(number) {
    buffer_ = static_cast<char*>(std::aligned_alloc(kPage, 16 * kPage));
    std::memset(buffer_, 'x', 16 * kPage);
    Open();
  }

  void Run(int64_t start_ns, int64_t end_ns, double rate) {
    const double gap_ns = 1e9 / rate;
    entries_.reserve(static_cast<size_t>(static_cast<double>(end_ns - start_ns) / gap_ns) + 16);
    for (uint64_t n = 0;; ++n) {
      const int64_t due_ns = start_ns + static_cast<int64_t>(gap_ns * static_cast<double>(n));
      if (due_ns >= end_ns) break;
      if (due_ns > Now() + 20'000) SleepUntil(due_ns);
      Write(n);
      if (++in_extent_ >= std::max<double>(kWritesInExtent, rate * kExtentS)) Switch();
    }
  }

  void Print(FILE* to) const {
    for (const Entry& entry : entries_) {
      std::fprintf(to, "write %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " S%07d.LOG\n", entry.thread,
                   entry.before_ns, entry.after_ns, entry.bytes, entry.offset, entry.extent);
    }
  }

 private:
  void Open() {
    char name[32];
    std::snprintf(name, sizeof(name), "/S%07d.LOG", Extent());
    fd_ = open((directory_ + name).c_str(), O_RDWR | O_CREAT | O_DSYNC | O_CLOEXEC, 0600);
    if (fd_ < 0) Die("open");
    offset_ = 0;
    in_extent_ = 0;
  }

  int Extent() const { return kLoggers * (extent_ % 4) + number_; }

  // The descriptor's number stays in use by turns, and is copied by turns.
  void Switch() {
    ++extent_;
    if (extent_ % 3 == 0) {
      const int before = fd_;
      Open();
      close(before);
    } else {
      close(fd_);
      Open();
    }
    if (extent_ % 2 == 0) {
      const int copy = fcntl(fd_, F_DUPFD_CLOEXEC, 50);
      close(fd_);
      fd_ = dup(copy);
      close(copy);
    }
  }

  void Write(uint64_t n) {
    const size_t bytes = kPage * (1 + n % 3) + (n % 7 == 0 ? 512 : 0);
    const iovec parts[] = {{buffer_, 512}, {buffer_ + 512, bytes - 512}};
    Entry entry{nullptr, number_, Now(), 0, 0, offset_, Extent()};
    ssize_t written = 0;
    switch (n % 4) {
      case 0:
        written = pwrite(fd_, buffer_, bytes, offset_);
        break;
      case 1:
        written = pwritev(fd_, parts, 2, offset_);
        break;
      case 2:
        if (lseek(fd_, offset_, SEEK_SET) != offset_) Die("lseek");
        entry.before_ns = Now();
        written = write(fd_, buffer_, bytes);
        break;
      default:
        if (lseek(fd_, offset_, SEEK_SET) != offset_) Die("lseek");
        entry.before_ns = Now();
        written = writev(fd_, parts, 2);
        break;
    }
    entry.after_ns = Now();
    if (written != static_cast<ssize_t>(bytes)) Die("write");
    entry.bytes = written;
    offset_ += written;
    entries_.push_back(entry);
  }

  const std::string directory_;
  const int number_;
  char* buffer_ = nullptr;
  int fd_ = -1;
  int extent_ = 0;
  int in_extent_ = 0;
  int64_t offset_ = 0;
  std::vector<Entry> entries_;
};

// An application's thread: two puts and a get, then a commit.
std::vector<Entry> MakeCalls(int64_t start_ns, int64_t end_ns, double rate) {
  std::vector<Entry> entries;
  if (rate <= 0) return entries;
  const double gap_ns = 1e9 / rate;
  entries.reserve(static_cast<size_t>(static_cast<double>(end_ns - start_ns) / gap_ns) + 16);
  char buffer[1024] = {};
  int32_t completion = 0;
  int32_t reason = 0;
  int32_t length = 0;
  for (uint64_t n = 0;; ++n) {
    const int64_t due_ns = start_ns + static_cast<int64_t>(gap_ns * static_cast<double>(n));
    if (due_ns >= end_ns) return entries;
    if (due_ns > Now() + 20'000) SleepUntil(due_ns);
    const auto bytes = static_cast<int32_t>(100 + n % 900);
    Entry entry;
    entry.before_ns = Now();
    switch (n % 4) {
      case 0:
      case 1:
        MQPUT(1, 2, buffer, buffer, bytes, buffer, &completion, &reason);
        entry.call = "MQPUT";
        entry.bytes = bytes;
        break;
      case 2:
        MQGET(1, 2, buffer, buffer, bytes, buffer, &length, &completion, &reason);
        entry.call = "MQGET";
        entry.bytes = bytes;
        break;
      default:
        MQCMIT(1, &completion, &reason);
        entry.call = "MQCMIT";
        break;
    }
    entry.after_ns = Now();
    entries.push_back(entry);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: standin_qm LOG_DIRECTORY RECORD_FILE WRITES_PER_SECOND CALLS_PER_SECOND SECONDS\n", stderr);
    return 2;
  }
  const double writes = std::atof(argv[3]);
  const double calls = std::atof(argv[4]);
  // Before it is watched: one that is opened, written and closed within milliseconds cannot be identified.
  FILE* const record = std::fopen(argv[2], "w");
  if (record == nullptr) Die("fopen");
  Logger first(argv[1], 0);
  Logger second(argv[1], 1);
  std::puts("ready");
  std::fflush(stdout);
  char line[16];
  if (std::fgets(line, sizeof(line), stdin) == nullptr) return 0;
  const int64_t start_ns = Now();
  const int64_t end_ns = start_ns + static_cast<int64_t>(std::atof(argv[5]) * 1e9);
  std::vector<Entry> made;
  // Threads that start after the probes were attached, and the main thread, which was there before.
  std::thread logger([&] { first.Run(start_ns, end_ns, writes / kLoggers); });
  std::thread caller([&] { made = MakeCalls(start_ns, end_ns, calls); });
  second.Run(start_ns, end_ns, writes / kLoggers);
  logger.join();
  caller.join();
  first.Print(record);
  second.Print(record);
  for (const Entry& entry : made) {
    std::fprintf(record, "call %s %" PRId64 " %" PRId64 " %" PRId64 "\n", entry.call, entry.before_ns, entry.after_ns,
                 entry.bytes);
  }
  std::fclose(record);
  std::puts("done");
  std::fflush(stdout);
  // The log stays open until the watcher has looked.
  std::ignore = std::fgets(line, sizeof(line), stdin);
  return 0;
}
