// A stand-in queue manager that a test runs, and what it logged of its own writes and calls.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::tests {

// A write or call, with the program's clock before and after it.
struct StandinEntry {
  // "write", or the function.
  std::string what;
  int64_t before_ns = 0;
  int64_t after_ns = 0;
  uint64_t bytes = 0;
};

// The process, from its start to the end of the object.
class Standin {
 public:
  Standin(const std::string& program, std::string log_dir, std::string record, double writes, double calls,
          double seconds)
      : record_(std::move(record)) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::vector<std::string> words = {
        program, std::move(log_dir), record_, std::to_string(writes), std::to_string(calls), std::to_string(seconds)};
    std::vector<char*> args;
    for (std::string& word : words) args.push_back(word.data());
    args.push_back(nullptr);
    if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, args.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = fdopen(out[0], "r");
  }
  ~Standin() {
    close(in_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    std::fclose(out_);
  }
  Standin(const Standin&) = delete;
  Standin& operator=(const Standin&) = delete;

  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  // Waits for the line; false if the process ended without it.
  bool Await(const std::string& line) {
    std::array<char, 64> text{};
    return std::fgets(text.data(), text.size(), out_) != nullptr && text.data() == line + "\n";
  }
  // Lets it go on.
  void Continue() {
    if (write(in_, "\n", 1) != 1) std::perror("write");
  }
  // Kills it, and waits for that.
  void Kill() {
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

  // Once it has printed "done".
  std::vector<StandinEntry> ReadRecord() const {
    std::vector<StandinEntry> entries;
    std::ifstream file(record_);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      StandinEntry entry;
      std::string second;
      words >> entry.what >> second >> entry.before_ns >> entry.after_ns >> entry.bytes;
      if (entry.what == "call") entry.what = second;
      entries.push_back(std::move(entry));
    }
    return entries;
  }

 private:
  const std::string record_;
  pid_t pid_ = -1;
  int in_ = -1;
  FILE* out_ = nullptr;
};

}  // namespace plimsoll::tests
