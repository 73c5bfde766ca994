#include "common/link/stdio_link.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/integers.h"
#include "common/link/frame.h"
#include "common/posix.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
using State = StdioLink::State;

std::pair<UniqueFd, UniqueFd> SocketPair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::pair<UniqueFd, UniqueFd> Pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string ReadAll(int descriptor, size_t most = 64 << 10) {
  std::string bytes(most, '\0');
  const ssize_t got = recv(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

bool HasEnded(int descriptor) {
  char byte = 0;
  return recv(descriptor, &byte, 1, MSG_DONTWAIT) == 0;
}

// Whether poll(2) calls the descriptor readable within no time.
bool IsReadable(int descriptor) {
  pollfd wait{descriptor, POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

// Both ends of a link, with a pipe for each direction, in one thread.
class Ends {
 public:
  Ends() {
    std::signal(SIGPIPE, SIG_IGN);
    std::tie(to_agent_, from_controller_) = Pipe();
    std::tie(to_controller_, from_agent_) = Pipe();
  }

  StdioLink controller;
  StdioLink agent{[this](UniqueFd socket) { taken.push_back(std::move(socket)); }};
  // What the agent's end gave away, in the order of the connections.
  std::vector<UniqueFd> taken;

  // A connection; returns the controller's program's end.
  UniqueFd Open() {
    auto [mine, its] = SocketPair();
    controller.Open(std::move(its));
    return std::move(mine);
  }

  // Sends and takes whatever there is, at most `most` bytes at a time. Returns whether anything happened.
  bool Step(size_t most = 1 << 16) {
    bool busy = Sockets(controller);
    busy = Sockets(agent) || busy;
    EXPECT_THAT(controller.Send(from_controller_.get()), IsOk());
    EXPECT_THAT(agent.Send(from_agent_.get()), IsOk());
    busy = Take(agent, to_agent_.get(), most) || busy;
    return Take(controller, to_controller_.get(), most) || busy;
  }
  void Settle() {
    while (Step()) {
    }
  }

 private:
  static bool Sockets(StdioLink& link) {
    std::vector<pollfd> waits;
    link.AddWaits(waits);
    if (poll(waits.data(), waits.size(), 0) <= 0) return false;
    link.Serve(waits);
    return true;
  }
  static bool Take(StdioLink& link, int from, size_t most) {
    if (!link.wants_to_receive() || !IsReadable(from)) return false;
    std::string bytes(most, '\0');
    const ssize_t got = read(from, bytes.data(), bytes.size());
    EXPECT_GT(got, 0);
    bytes.resize(static_cast<size_t>(got));
    const auto took = link.Receive(bytes);
    EXPECT_THAT(took, IsOk());
    EXPECT_EQ(took.value_or(0), bytes.size());
    return true;
  }

  UniqueFd to_agent_, from_controller_, to_controller_, from_agent_;
};

TEST(StdioLinkTest, NothingIsSentToAnAgentThatHasNotBeenHeard) {
  StdioLink controller;
  EXPECT_FALSE(controller.wants_to_send());
  auto [mine, its] = SocketPair();
  controller.Open(std::move(its));
  EXPECT_FALSE(controller.wants_to_send());
  EXPECT_TRUE(HasEnded(mine.get())) << "there is no connection yet";
  Ends ends;
  ends.Settle();
  EXPECT_EQ(ends.controller.state(), State::kUp);
  EXPECT_EQ(ends.agent.state(), State::kUp);
}

TEST(StdioLinkTest, AConnectionCarriesBytesBothWaysAndEndsOneWayAtATime) {
  Ends ends;
  ends.Settle();
  const UniqueFd mine = ends.Open();
  ASSERT_EQ(send(mine.get(), "question", 8, 0), 8);
  shutdown(mine.get(), SHUT_WR);
  ends.Settle();
  ASSERT_EQ(ends.taken.size(), 1U);
  UniqueFd its = std::move(ends.taken.front());
  EXPECT_EQ(ReadAll(its.get()), "question");
  EXPECT_TRUE(HasEnded(its.get()));
  EXPECT_EQ(send(its.get(), "answer", 6, 0), 6);
  its.Reset();
  ends.Settle();
  EXPECT_EQ(ReadAll(mine.get()), "answer");
  EXPECT_TRUE(HasEnded(mine.get()));
  EXPECT_EQ(ends.controller.connections(), 0U);
  EXPECT_EQ(ends.agent.connections(), 0U);
}

TEST(StdioLinkTest, AConnectionWhoseReceiverDoesNotReadDelaysNoOtherAndHoldsAWindowAtMost) {
  Ends ends;
  ends.Settle();
  const UniqueFd bulky = ends.Open();
  const UniqueFd other = ends.Open();
  const std::string block(64 << 10, 'x');
  size_t sent = 0;
  for (bool progress = true; progress;) {
    progress = false;
    for (ssize_t wrote = 0; (wrote = send(bulky.get(), block.data(), block.size(), MSG_DONTWAIT)) > 0;) {
      sent += static_cast<size_t>(wrote);
      progress = true;
    }
    progress = ends.Step() || progress;
  }
  // The window, and what the two pairs of sockets hold.
  EXPECT_GE(sent, StdioLink::kWindowBytes);
  EXPECT_LT(sent, 4 * StdioLink::kWindowBytes);
  ASSERT_EQ(send(other.get(), "beat", 4, 0), 4);
  ends.Settle();
  ASSERT_EQ(ends.taken.size(), 2U);
  EXPECT_EQ(ReadAll(ends.taken[1].get()), "beat");
  size_t received = 0;
  for (std::string piece; received < sent; received += piece.size()) {
    piece = ReadAll(ends.taken[0].get());
    ASSERT_TRUE(ends.Step() || !piece.empty());
  }
  EXPECT_EQ(received, sent);
}

TEST(StdioLinkTest, WhatIsSentBeforeASocketIsClosedArrives) {
  Ends ends;
  ends.Settle();
  UniqueFd mine = ends.Open();
  const std::string text(100'000, 'y');
  ASSERT_EQ(send(mine.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  mine.Reset();
  ends.Settle();
  std::string received;
  for (std::string piece; !(piece = ReadAll(ends.taken.front().get())).empty(); ends.Settle()) received += piece;
  EXPECT_EQ(received, text);
  // Writing to what is closed ends the connection on both sides.
  EXPECT_GT(send(ends.taken.front().get(), "z", 1, MSG_NOSIGNAL), 0);
  ends.Settle();
  EXPECT_EQ(ends.controller.connections() + ends.agent.connections(), 0U);
}

TEST(StdioLinkTest, MoreConnectionsThanAllowedAreClosedAtOnce) {
  Ends ends;
  ends.Settle();
  std::vector<UniqueFd> mine;
  for (size_t i = 0; i <= StdioLink::kMaxConnections; ++i) mine.push_back(ends.Open());
  ends.Settle();
  EXPECT_EQ(ends.taken.size(), StdioLink::kMaxConnections);
  EXPECT_TRUE(HasEnded(mine.back().get()));
  EXPECT_FALSE(HasEnded(mine.front().get()));
}

TEST(StdioLinkTest, WhatFollowsTheLastFrameIsNotTheLinks) {
  Ends ends;
  ends.Settle();
  const UniqueFd mine = ends.Open();
  ends.Settle();
  const std::string end = PackFrame(FrameType::kEnd, 0, "");
  const auto took = ends.controller.Receive(end + "plimsoll-launch ended 0\n");
  ASSERT_THAT(took, IsOk());
  EXPECT_EQ(*took, end.size());
  EXPECT_EQ(ends.controller.state(), State::kEnded);
  EXPECT_TRUE(HasEnded(mine.get()));
  EXPECT_EQ(ends.controller.Receive("more").value(), 0U);
}

TEST(StdioLinkTest, AfterItsOwnLastFrameAnEndSendsNothing) {
  Ends ends;
  ends.Settle();
  const UniqueFd mine = ends.Open();
  ends.controller.SendEnd();
  ASSERT_EQ(send(mine.get(), "late", 4, 0), 4);
  ends.Settle();
  EXPECT_EQ(ends.agent.state(), State::kEnded);
  EXPECT_EQ(ReadAll(ends.taken.front().get()), "");
}

TEST(StdioLinkTest, AFirstFrameThatIsChangedIsGarbled) {
  std::string changed = HelloPayload();
  changed.insert(changed.find('\n'), 1, '\r');
  StdioLink hello;
  EXPECT_THAT(hello.Receive(PackFrame(FrameType::kHello, 0, changed)), StatusIs(StatusCode::kInvalidArgument, ""));
  StdioLink probe;
  ASSERT_THAT(probe.Receive(PackFrame(FrameType::kHello, 0, HelloPayload())), IsOk());
  EXPECT_THAT(probe.Receive(PackFrame(FrameType::kProbe, 0, changed)), StatusIs(StatusCode::kInvalidArgument, ""));
  EXPECT_EQ(probe.state(), State::kEnded);
  StdioLink banner;
  EXPECT_THAT(banner.Receive("Last login: "), StatusIs(StatusCode::kInvalidArgument, ""));
  EXPECT_EQ(banner.refused(), "Last login: ");
}

TEST(StdioLinkTest, WhatFollowsTheFramesOfAnAgentThatWasKilledIsKept) {
  Ends ends;
  ends.Settle();
  EXPECT_THAT(ends.controller.Receive(PackFrame(FrameType::kCredit, 0, "") + "ignored").status(),
              StatusIs(StatusCode::kInternal, "never opened"));
  Ends killed;
  killed.Settle();
  killed.controller.Open(SocketPair().first);
  EXPECT_THAT(killed.controller.Receive(PackFrame(FrameType::kFinish, 1, "") + "plimsoll-launch ended 137\n").status(),
              StatusIs(StatusCode::kInternal, "not a frame"));
  EXPECT_EQ(killed.controller.refused(), "plimsoll-launch ended 137\n");
}

TEST(StdioLinkTest, FramesThatMakeNoSenseEndTheLinkAndAllItsConnections) {
  const std::string data = PackFrame(FrameType::kData, 1, std::string(kMaxPayloadBytes, 'x'));
  const auto refused = [](const std::string& bytes) {
    Ends ends;
    ends.Settle();
    const UniqueFd mine = ends.Open();
    ends.Settle();
    const absl::Status status = ends.agent.Receive(bytes).status();
    EXPECT_EQ(ends.agent.connections(), status.ok() ? 1U : 0U);
    return status.code() == StatusCode::kInternal;
  };
  EXPECT_FALSE(refused(data));
  std::string flood;
  for (uint32_t bytes = 0; bytes <= 3 * StdioLink::kWindowBytes; bytes += kMaxPayloadBytes) flood += data;
  EXPECT_TRUE(refused(flood)) << "more than the window";
  EXPECT_TRUE(refused(PackFrame(FrameType::kData, 2, "x"))) << "never opened";
  EXPECT_TRUE(refused(PackFrame(FrameType::kOpen, 1, ""))) << "twice";
  EXPECT_TRUE(refused(PackFrame(FrameType::kOpen, 3, ""))) << "out of turn";
  EXPECT_TRUE(refused(PackFrame(FrameType::kCredit, 1, std::string(4, '\1')))) << "more than was used";
  EXPECT_TRUE(refused(PackFrame(FrameType::kCredit, 1, "x")));
  EXPECT_TRUE(refused(PackFrame(FrameType::kFinish, 1, "") + PackFrame(FrameType::kData, 1, "x")));
  EXPECT_TRUE(refused(PackFrame(FrameType::kHello, 0, HelloPayload())));
  EXPECT_TRUE(refused("Broadcast message from root\n"));
}

TEST(StdioLinkTest, AStreamThatNobodyReadsIsNeverWaitedForAndBoundsWhatIsRead) {
  Ends ends;
  ends.Settle();
  auto [unread, output] = Pipe();
  ASSERT_EQ(fcntl(output.get(), F_GETFL) & O_NONBLOCK, 0);
  std::vector<UniqueFd> mine;
  const std::string block(64 << 10, 'x');
  for (int i = 0; i < 8; ++i) mine.push_back(ends.Open());
  for (int turn = 0; turn < 1000; ++turn) {
    for (const UniqueFd& each : mine) send(each.get(), block.data(), block.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    std::vector<pollfd> waits;
    ends.controller.AddWaits(waits);
    poll(waits.data(), waits.size(), 0);
    ends.controller.Serve(waits);
    ASSERT_THAT(ends.controller.Send(output.get()), IsOk());
  }
  std::vector<pollfd> waits;
  ends.controller.AddWaits(waits);
  EXPECT_THAT(waits, IsEmpty()) << "no socket is read while so much waits";
  // A side that makes the other one answer, and reads no answers.
  std::string opens;
  for (uint32_t id = 9; ends.agent.wants_to_receive() && id < 100'000; ++id) {
    ASSERT_THAT(ends.agent.Receive(PackFrame(FrameType::kOpen, id - 8, "")), IsOk());
  }
  EXPECT_FALSE(ends.agent.wants_to_receive());
}

// A program's end of a connection: writes, reads and closes at random.
struct Program {
  UniqueFd socket;
  std::string sent;
  std::string received;
  bool shut = false;

  void Act(std::mt19937_64& random) {
    if (!socket.valid()) return;
    if (random() % 3 == 0) received += ReadAll(socket.get(), 1 + random() % 50'000);
    if (!shut && random() % 3 == 0) {
      std::string bytes(1 + random() % (random() % 8 == 0 ? 60'000 : 3000), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      const ssize_t wrote = send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (wrote > 0) sent.append(bytes, 0, static_cast<size_t>(wrote));
    }
    if (!shut && random() % 200 == 0) {
      shutdown(socket.get(), SHUT_WR);
      shut = true;
    }
    if (random() % 500 == 0) socket.Reset();
  }
};

TEST(StdioLinkTest, WhateverProgramsDoEachReadsWhatTheOtherSentInItsOrder) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Ends ends;
    ends.Settle();
    std::vector<Program> mine;
    std::vector<Program> its;
    for (int turn = 0; turn < 600; ++turn) {
      if (mine.size() < 12 && random() % 40 == 0) mine.push_back({ends.Open(), {}, {}});
      for (Program& each : mine) each.Act(random);
      for (Program& each : its) each.Act(random);
      ends.Step(1 + random() % (random() % 4 == 0 ? 20 : 70'000));
      for (; its.size() < ends.taken.size();) its.push_back({std::move(ends.taken[its.size()]), {}, {}});
    }
    // All that is still to come, for those that still read.
    for (bool progress = true; progress;) {
      progress = ends.Step();
      for (; its.size() < ends.taken.size();) its.push_back({std::move(ends.taken[its.size()]), {}, {}});
      for (std::vector<Program>* side : {&mine, &its}) {
        for (Program& each : *side) {
          if (!each.socket.valid()) continue;
          const std::string piece = ReadAll(each.socket.get());
          each.received += piece;
          progress = progress || !piece.empty();
        }
      }
    }
    ASSERT_EQ(mine.size(), its.size());
    for (size_t i = 0; i < mine.size(); ++i) {
      for (const auto& [from, to] : {std::pair(&mine[i], &its[i]), std::pair(&its[i], &mine[i])}) {
        ASSERT_EQ(to->received, from->sent.substr(0, to->received.size())) << i;
        // Who closes a socket without having read all resets the connection.
        if (to->socket.valid() && from->socket.valid()) {
          ASSERT_EQ(to->received.size(), from->sent.size()) << i;
        }
      }
    }
    mine.clear();
    its.clear();
    ends.Settle();
    EXPECT_EQ(ends.controller.connections(), 0U);
    EXPECT_EQ(ends.agent.connections(), 0U);
  }
}

TEST(StdioLinkTest, AnyBytesAreTakenOrRefused) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<UniqueFd> taken;
    StdioLink agent([&taken](UniqueFd socket) { taken.push_back(std::move(socket)); });
    std::string bytes = PackFrame(FrameType::kProbe, 0, HelloPayload());
    constexpr std::string_view kTypes = "hpodcfxe?";
    for (int i = 0; i < 100; ++i) {
      std::string payload(random() % 3 == 0 ? 4 : random() % 100, '\0');
      for (char& byte : payload) byte = static_cast<char>(random() % 3 == 0 ? random() : 0);
      bytes += PackFrame(static_cast<FrameType>(kTypes[random() % (random() % 50 == 0 ? 9 : 7)]),
                         static_cast<uint32_t>(random() % 5), payload);
      if (random() % 60 == 0) bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    for (std::string_view left = bytes; !left.empty();) {
      const size_t size = std::min<size_t>(1 + random() % 100, left.size());
      const auto took = agent.Receive(left.substr(0, size));
      if (!took.ok() || *took < size) {
        EXPECT_EQ(agent.state(), State::kEnded);
        break;
      }
      left.remove_prefix(size);
    }
  }
}

}  // namespace
}  // namespace plimsoll
