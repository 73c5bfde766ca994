// A second opinion on what a host's clock says, which shares no code with the product.
//
//   lab_clock serve PORT             answers each datagram with the host's CLOCK_MONOTONIC
//   lab_clock ask ADDRESS PORT MS    asks every MS milliseconds; for each answer a line:
//                                    SENT RECEIVED-THERE SENT-THERE RECEIVED
//
// SENT and RECEIVED are of this side's CLOCK_MONOTONIC; all are in nanoseconds. A line bounds the offset (there minus
// here) by itself: it lies between SENT-THERE - RECEIVED and RECEIVED-THERE - SENT.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int64_t kNsPerMs = 1'000'000;
// An answer that has not come by then never counts.
constexpr int kAnswerMs = 1000;

struct Message {
  uint64_t number = 0;
  int64_t received_ns = 0;
  int64_t sent_ns = 0;
};

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::exit(2);
}

sockaddr_in AddressOf(const char* address, const char* port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  if (inet_pton(AF_INET, address, &result.sin_addr) != 1) Fail(address);
  return result;
}

int Socket() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) Fail("socket");
  return fd;
}

[[noreturn]] void Serve(const char* port) {
  const int fd = Socket();
  const sockaddr_in own = AddressOf("0.0.0.0", port);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof(own)) != 0) Fail("bind");
  while (true) {
    Message message;
    sockaddr_in peer{};
    socklen_t length = sizeof(peer);
    const ssize_t got = recvfrom(fd, &message, sizeof(message), 0, reinterpret_cast<sockaddr*>(&peer), &length);
    message.received_ns = NowNs();
    if (got != sizeof(message)) continue;
    message.sent_ns = NowNs();
    // What does not arrive is asked again.
    (void)sendto(fd, &message, sizeof(message), 0, reinterpret_cast<const sockaddr*>(&peer), length);
  }
}

// One question and its answer, if it comes in time.
void AskOnce(int fd, uint64_t number) {
  Message question{.number = number};
  const int64_t sent_ns = NowNs();
  if (send(fd, &question, sizeof(question), 0) != sizeof(question)) return;
  while (true) {
    const int64_t left_ms = kAnswerMs - (NowNs() - sent_ns) / kNsPerMs;
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    if (left_ms <= 0 || poll(&waiting, 1, static_cast<int>(left_ms)) <= 0) return;
    Message answer;
    const ssize_t got = recv(fd, &answer, sizeof(answer), 0);
    const int64_t received_ns = NowNs();
    if (got < 0) return;  // nobody listens there
    if (got != sizeof(answer) || answer.number != number) continue;
    std::printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", sent_ns, answer.received_ns, answer.sent_ns,
                received_ns);
    std::fflush(stdout);
    return;
  }
}

[[noreturn]] void Ask(const char* address, const char* port, int64_t every_ms) {
  const int fd = Socket();
  const sockaddr_in peer = AddressOf(address, port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)) != 0) Fail("connect");
  int64_t next_ns = NowNs();
  for (uint64_t number = 1;; ++number) {
    AskOnce(fd, number);
    next_ns = std::max(next_ns + every_ms * kNsPerMs, NowNs());
    const timespec until{.tv_sec = next_ns / 1'000'000'000, .tv_nsec = next_ns % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "serve") == 0) Serve(argv[2]);
  if (argc == 5 && std::strcmp(argv[1], "ask") == 0) Ask(argv[2], argv[3], std::atoll(argv[4]));
  std::fputs("lab_clock serve PORT | lab_clock ask ADDRESS PORT MILLISECONDS\n", stderr);
  return 2;
}
