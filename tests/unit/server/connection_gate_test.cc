#include "agent/server/connection_gate.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <random>
#include <thread>

#include "agent/server/sockets.h"
#include "common/units.h"
#include "plimsoll/v1/agent.grpc.pb.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

TEST(RefusalResponse, IsUnderstoodByAGrpcClient) {
  const auto listener = Listener::Open(*ResolveListenAddress("127.0.0.1:0"));
  ASSERT_THAT(listener, IsOk());
  // Longer than one byte of HPACK can say.
  const std::string sentence = "not trusted: " + std::string(300, 'x');
  std::thread server([&] {
    pollfd wait{(*listener)->sockets()[0].get(), POLLIN, 0};
    poll(&wait, 1, 60'000);
    RefusalResponse refusal(UniqueFd(accept(wait.fd, nullptr, nullptr)), sentence, {});
    do {
      wait = {refusal.descriptor(), POLLIN, 0};
      poll(&wait, 1, 60'000);
    } while (refusal.Receive());
  });
  const auto stub = v1::Agent::NewStub(grpc::CreateChannel((*listener)->name(), grpc::InsecureChannelCredentials()));
  {
    grpc::ClientContext context;
    v1::HostDescription description;
    const grpc::Status status = stub->Describe(&context, {}, &description);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(status.error_message(), sentence);
  }
  server.join();
}

TEST(RefusalResponse, EndsWhenItHasHeardEnoughWhateverThatWas) {
  std::mt19937 random(7);  // any bytes will do
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd peer(ends[0]);
  RefusalResponse refusal(UniqueFd(ends[1]), "no", {});
  size_t said = 0;
  while (refusal.Receive()) {
    std::array<char, 1024> noise{};
    for (char& byte : noise) byte = static_cast<char>(random() & 0xffU);
    if (send(peer.get(), noise.data(), noise.size(), MSG_NOSIGNAL) > 0) said += noise.size();
    ASSERT_LT(said, size_t{1} << 20);
  }
  EXPECT_FALSE(refusal.Over({5 * kNsPerSecond - 1}));
  EXPECT_TRUE(refusal.Over({5 * kNsPerSecond}));
}

}  // namespace
}  // namespace plimsoll
