// Commands of a plan that start nothing: each takes the virtual time, and has the end, that the test gives to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "common/units.h"
#include "controller/run/process.h"

namespace plimsoll::tests {

class FakeCommands final : public CommandRunner {
 public:
  // How a command ends.
  struct End {
    int64_t length_ns = 0;
    std::string error = {};
    // It cannot be started, for this reason; empty: it can.
    std::string not_started = {};
    // So often there is no memory to start it.
    int64_t without_memory = 0;
  };
  // One that was started.
  struct Started {
    std::string command;
    MonotonicNs at;
    bool killed = false;
    // Nothing kills it or waits for it.
    bool left = false;
    bool destroyed = false;
  };

  explicit FakeCommands(const Clock& clock) : clock_(clock) {}

  absl::StatusOr<std::unique_ptr<RunningCommand>> Start(const std::vector<std::string>& arguments) override {
    const std::string command = absl::StrJoin(arguments, " ");
    End& end = ends[command];
    if (end.without_memory > 0) {
      --end.without_memory;
      return absl::ResourceExhaustedError("start fix: Cannot allocate memory (12)");
    }
    if (!end.not_started.empty()) return absl::NotFoundError(end.not_started);
    started.push_back({command, clock_.Now()});
    return std::make_unique<Running>(*this, started.size() - 1, end);
  }

  // The commands that were started, in order.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Started& one : started) names.push_back(one.command);
    return names;
  }

  // By command line. One that is not listed ends at once, without an error.
  std::map<std::string, End> ends;
  std::vector<Started> started;

 private:
  class Running final : public RunningCommand {
   public:
    Running(FakeCommands& owner, size_t number, End end) : owner_(owner), number_(number), end_(std::move(end)) {}
    ~Running() override { self().destroyed = true; }
    std::optional<std::string> Poll() override {
      if (owner_.clock_.Now() < self().at + end_.length_ns) return std::nullopt;
      return end_.error;
    }
    int exit_code() const override { return self().killed ? -1 : end_.error.empty() ? 0 : 1; }
    void Kill() override { self().killed = true; }
    void Leave() override { self().left = true; }

   private:
    Started& self() const { return owner_.started[number_]; }

    FakeCommands& owner_;
    const size_t number_;
    const End end_;
  };

  const Clock& clock_;
};

}  // namespace plimsoll::tests
