// Writes as a log writer does, and prints what a write takes: the program that watch_cost.py has watched.
//
//   watched_writer WRITES FILE RESULT   4 KiB at a time to the file, with O_DSYNC
//   watched_writer WRITES pipe RESULT   a byte to a pipe, and waits for another process's answer to it
//
// The result is the time of a write in nanoseconds: the lower quartile of short batches, most of which nothing else
// interrupts. It pauses between them, so that an observer keeps up.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

namespace {

constexpr int kBatch = 20;
constexpr off_t kFileBytes = 1 << 20;
constexpr timespec kPause{0, 200'000};

alignas(4096) std::array<char, 4096> page;

void Check(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(1);
}

int64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::function<void()> ToFile(const char* path) {
  const int fd = open(path, O_CREAT | O_RDWR | O_DSYNC | O_CLOEXEC, 0600);
  Check(fd >= 0, path);
  for (off_t at = 0; at < kFileBytes; at += 4096) Check(pwrite(fd, page.data(), page.size(), at) == 4096, "pwrite");
  return [fd, at = off_t{0}]() mutable {
    Check(pwrite(fd, page.data(), page.size(), at) == 4096, "pwrite");
    at = (at + 4096) % kFileBytes;
  };
}

// The two processes share a CPU, so that this process leaves it and returns to it once for each write.
std::function<void()> ToPipe() {
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &cpu);
  Check(sched_setaffinity(0, sizeof(cpu), &cpu) == 0, "sched_setaffinity");
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  Check(pipe2(there.data(), O_CLOEXEC) == 0 && pipe2(back.data(), O_CLOEXEC) == 0, "pipe2");
  const pid_t child = fork();
  Check(child >= 0, "fork");
  char byte = 0;
  if (child == 0) {
    close(there[1]);
    while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) {
    }
    std::_Exit(0);
  }
  close(there[0]);
  return [to = there[1], from = back[0]] {
    char answer = 0;
    Check(write(to, &answer, 1) == 1, "write");
    Check(read(from, &answer, 1) == 1, "read");
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::function<void()> write = std::strcmp(argv[2], "pipe") == 0 ? ToPipe() : ToFile(argv[2]);
  std::vector<int64_t> times_ns(static_cast<size_t>(std::max(std::atoi(argv[1]) / kBatch, 1)));
  for (int64_t& time_ns : times_ns) {
    const int64_t start_ns = Now();
    for (int i = 0; i < kBatch; ++i) write();
    time_ns = Now() - start_ns;
    nanosleep(&kPause, nullptr);
  }
  std::ranges::sort(times_ns);
  std::FILE* const result = std::fopen(argv[3], "w");
  Check(result != nullptr, argv[3]);
  std::fprintf(result, "%.1f\n", static_cast<double>(times_ns[times_ns.size() / 4]) / kBatch);
  return std::fclose(result);
}
