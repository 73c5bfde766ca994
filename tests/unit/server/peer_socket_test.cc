#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "agent/server/sockets.h"
#include "common/posix.h"
#include "gmock/gmock.h"

namespace plimsoll {
namespace {

std::array<UniqueFd, 2> Pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

TEST(SocketIdentity, StaysWithTheSocket) {
  const auto [one, other] = Pair();
  EXPECT_NE(SocketIdentity(one.get()), 0U);
  EXPECT_EQ(SocketIdentity(one.get()), SocketIdentity(one.get()));
  EXPECT_NE(SocketIdentity(one.get()), SocketIdentity(other.get()));
  const UniqueFd again(dup(one.get()));
  EXPECT_EQ(SocketIdentity(again.get()), SocketIdentity(one.get()));
}

TEST(SocketIdentity, IsNotThatOfTheNextSocketWithTheSameDescriptor) {
  auto [one, other] = Pair();
  const int number = one.get();
  const uint64_t before = SocketIdentity(number);
  auto [next, its_other] = Pair();
  ASSERT_EQ(dup3(next.get(), number, O_CLOEXEC), number);
  EXPECT_NE(SocketIdentity(number), before);
}

TEST(SocketIdentity, OfWhatIsNoSocketIsNothing) {
  const UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file.valid());
  EXPECT_EQ(SocketIdentity(file.get()), 0U);
  EXPECT_EQ(SocketIdentity(-1), 0U);
}

}  // namespace
}  // namespace plimsoll
