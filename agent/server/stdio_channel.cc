#include "agent/server/stdio_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/link/frame.h"
#include "common/units.h"

namespace plimsoll {
namespace {

void Notify(int event_fd) {
  // Its counter is far from full.
  eventfd_write(event_fd, 1);
}

// The stream, above the standard ones and closed in programs that are started.
absl::StatusOr<UniqueFd> MoveUp(int stream, const char* name) {
  if (isatty(stream) == 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--stdio: ", name,
        " is a terminal (pty), which changes bytes: a controller starts this with pipes; leave out -t, and "
        "-u of srun"));
  }
  UniqueFd moved(fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!moved.valid()) return PosixError("--stdio", name, errno);
  return moved;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StdioChannel>> StdioChannel::Take() {
  absl::StatusOr<UniqueFd> input = MoveUp(STDIN_FILENO, "standard input");
  if (!input.ok()) return input.status();
  absl::StatusOr<UniqueFd> output = MoveUp(STDOUT_FILENO, "standard output");
  if (!output.ok()) return output.status();
  const UniqueFd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing.valid() || dup2(nothing.get(), STDIN_FILENO) < 0) return PosixError("open", "/dev/null", errno);
  // Where standard error is closed, what would be printed goes nowhere.
  if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0 && dup2(nothing.get(), STDOUT_FILENO) < 0) {
    return PosixError("dup2", "standard output", errno);
  }
  return std::unique_ptr<StdioChannel>(new StdioChannel(*std::move(input), *std::move(output)));
}

StdioChannel::StdioChannel(UniqueFd input, UniqueFd output)
    : input_(std::move(input)),
      output_(std::move(output)),
      ended_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

StdioChannel::~StdioChannel() {
  Finish(0);
}

void StdioChannel::Serve(std::function<void(UniqueFd socket)> take) {
  {
    MutexLock lock(mutex_);
    take_ = std::move(take);
  }
  link_.emplace([this](UniqueFd socket) {
    MutexLock lock(mutex_);
    if (take_) take_(std::move(socket));
  });
  thread_ = std::thread([this] { Run(); });
}

void StdioChannel::StopTaking() {
  MutexLock lock(mutex_);
  take_ = nullptr;
}

void StdioChannel::Finish(int64_t limit_ns) {
  if (!thread_.joinable()) return;
  finish_limit_ns_ = limit_ns;
  finish_ = true;
  Notify(wake_.get());
  thread_.join();
}

void StdioChannel::End(const std::string& error) {
  if (!std::exchange(reading_, false)) return;
  error_ = error;
  Notify(ended_.get());
}

void StdioChannel::Read() {
  std::array<char, 64 << 10> bytes{};
  // poll(2) has found some, or the end: a stream that blocks does not block.
  const ssize_t got = read(input_.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    link_->Break();
    End("");
    return;
  }
  const auto took = link_->Receive({bytes.data(), static_cast<size_t>(got)});
  if (!took.ok()) {
    const bool garbled = took.status().code() == absl::StatusCode::kInvalidArgument;
    End(absl::StrCat("--stdio: standard input: ",
                     garbled ? GarbledInWords(link_->refused()) : std::string(took.status().message())));
  } else if (link_->state() == StdioLink::State::kEnded) {
    End("");
  }
}

void StdioChannel::Run() {
  constexpr size_t kStreams = 3;
  std::optional<MonotonicNs> limit;
  while (true) {
    if (finish_ && !limit.has_value()) {
      limit = SystemClock::Read() + finish_limit_ns_;
      link_->SendEnd();
    }
    // What follows the last frame is not for this program.
    if (limit.has_value() && (!writing_ || !link_->wants_to_send())) return;
    int timeout_ms = -1;
    if (limit.has_value()) {
      const int64_t left_ns = *limit - SystemClock::Read();
      if (left_ns <= 0) return;
      timeout_ms = static_cast<int>(std::min<int64_t>(left_ns / kNsPerMs + 1, std::numeric_limits<int>::max()));
    }
    std::vector<pollfd> waits = {
        {limit.has_value() ? -1 : wake_.get(), POLLIN, 0},
        {reading_ && link_->wants_to_receive() ? input_.get() : -1, POLLIN, 0},
        {writing_ && link_->wants_to_send() ? output_.get() : -1, POLLOUT, 0},
    };
    link_->AddWaits(waits);
    if (poll(waits.data(), waits.size(), timeout_ms) <= 0) continue;
    link_->Serve(std::span(waits).subspan(kStreams));
    if (waits[1].revents != 0) Read();
    if (waits[2].revents != 0 && !link_->Send(output_.get()).ok()) {
      writing_ = false;
      link_->Break();
      End("");
    }
  }
}

}  // namespace plimsoll
