// The owner of the other end of a connection, told by the kernel of the machine that runs the test.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/server/sockets.h"
#include "common/posix.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// A connection over loopback, both of whose ends are here.
class Connection {
 public:
  explicit Connection(const std::string& listen, bool mapped = false) {
    const auto address = ResolveListenAddress(listen);
    if (!address.ok()) return;
    auto listener = Listener::Open(*address);
    if (!listener.ok()) return;
    const int socket_listening = (*listener)->sockets()[0].get();
    SocketAddress where;
    where.length = sizeof(where.storage);
    getsockname(socket_listening, where.get(), &where.length);
    if (mapped) {
      const uint16_t port = htons(PortOf(where));
      auto& v6 = reinterpret_cast<sockaddr_in6&>(where.storage);
      v6 = {};
      v6.sin6_family = AF_INET6;
      v6.sin6_port = port;
      inet_pton(AF_INET6, "::ffff:127.0.0.1", &v6.sin6_addr);
      where.length = sizeof(v6);
    }
    peer_ = UniqueFd(socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(peer_.get(), where.get(), where.length) != 0) return;
    accepted_ = UniqueFd(accept(socket_listening, nullptr, nullptr));
  }

  bool good() const { return accepted_.valid(); }
  int accepted() const { return accepted_.get(); }
  void ClosePeer() { peer_.Reset(); }
  SocketAddress Address(bool of_peer) const {
    SocketAddress address;
    address.length = sizeof(address.storage);
    (of_peer ? getpeername : getsockname)(accepted_.get(), address.get(), &address.length);
    return address;
  }

 private:
  UniqueFd peer_;
  UniqueFd accepted_;
};

void ExpectOurs(const Connection& connection) {
  ASSERT_TRUE(connection.good());
  const auto owner = LoopbackOwner(connection.accepted());
  ASSERT_THAT(owner, IsOk());
  EXPECT_EQ(*owner, geteuid());
  const auto by_table = OwnerByTable(connection.Address(true), connection.Address(false));
  ASSERT_THAT(by_table, IsOk());
  EXPECT_EQ(*by_table, geteuid());
  const auto by_diagnosis = OwnerByDiagnosis(connection.Address(true), connection.Address(false));
  if (by_diagnosis.status().code() == absl::StatusCode::kUnimplemented) GTEST_SKIP() << "no tcp_diag here";
  ASSERT_THAT(by_diagnosis, IsOk());
  EXPECT_EQ(*by_diagnosis, geteuid());
}

TEST(LoopbackOwner, IsTheUserThatConnected) {
  ExpectOurs(Connection("127.0.0.1:0"));
}

TEST(LoopbackOwner, IsKnownOverIpv6) {
  const Connection connection("[::1]:0");
  if (!connection.good()) GTEST_SKIP() << "no IPv6 here";
  ExpectOurs(connection);
}

TEST(LoopbackOwner, IsKnownOfAnIpv6SocketThatSpeaksIpv4) {
  const Connection connection("127.0.0.1:0", true);
  if (!connection.good()) GTEST_SKIP() << "no IPv6 here";
  ExpectOurs(connection);
}

TEST(LoopbackOwner, IsNobodyWhereTheOtherEndIsClosed) {
  // The kernel lists such an end under root.
  Connection connection("127.0.0.1:0");
  ASSERT_TRUE(connection.good());
  const SocketAddress peer = connection.Address(true);
  const SocketAddress own = connection.Address(false);
  connection.ClosePeer();
  EXPECT_FALSE(LoopbackOwner(connection.accepted()).ok());
  EXPECT_FALSE(OwnerByDiagnosis(peer, own).ok());
  EXPECT_THAT(OwnerByTable(peer, own), StatusIs(absl::StatusCode::kNotFound, "closed"));
}

TEST(TcpPeer, HasANameWithItsPortAndOneWithout) {
  const Connection connection("127.0.0.1:0");
  ASSERT_TRUE(connection.good());
  const auto peer = TcpPeer(connection.accepted());
  ASSERT_THAT(peer, IsOk());
  EXPECT_EQ(peer->who, "127.0.0.1");
  EXPECT_EQ(peer->name, AddressText(connection.Address(true)));
  EXPECT_TRUE(peer->loopback);
}

TEST(TrustedUids, AreRootAndTheAgentsOwnUser) {
  const std::string all = "         0          0 4294967295\n";
  EXPECT_EQ(TrustedUids(1000, all, 65534), (std::set<uid_t>{0, 1000}));
  EXPECT_EQ(TrustedUids(0, all, 65534), std::set<uid_t>{0});
  EXPECT_EQ(TrustedUids(65534, all, 65534), (std::set<uid_t>{0, 65534})) << "outside of user namespaces it is a user";
}

TEST(TrustedUids, TheOverflowUserIsNobodyInAUserNamespace) {
  EXPECT_EQ(TrustedUids(65534, "", 65534), std::set<uid_t>{0}) << "nothing is mapped";
  EXPECT_EQ(TrustedUids(65534, "     65534       1000          1\n", 65534), std::set<uid_t>{0});
  EXPECT_EQ(TrustedUids(0, "         0       1000          1\n", 65534), std::set<uid_t>{0});
  EXPECT_EQ(TrustedUids(5, "0 0 65535\n", 65534), (std::set<uid_t>{0, 5}));
  EXPECT_EQ(TrustedUids(65534, "0 0 65535\n", 65534), std::set<uid_t>{0}) << "users beyond look the same";
}

}  // namespace
}  // namespace plimsoll
