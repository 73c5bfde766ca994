#include <gtest/gtest.h>

#include "agent/server/sockets.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

bool IsLocal(const std::string& text) {
  const auto address = ResolveListenAddress(text);
  EXPECT_THAT(address, IsOk()) << text;
  return address.ok() && address->local();
}

TEST(ListenAddress, LoopbackAndUnixSocketsAreLocal) {
  for (const char* text :
       {"127.0.0.1:0", "127.8.9.10:7461", "[::1]:0", "[::ffff:127.0.0.1]:0", "unix:/run/a", "unix:a"}) {
    EXPECT_TRUE(IsLocal(text)) << text;
  }
}

TEST(ListenAddress, EverythingElseIsNot) {
  for (const char* text : {"0.0.0.0:0", "[::]:0", "10.0.0.1:0", "128.0.0.1:1", "[fe80::1]:1", "[::ffff:10.0.0.1]:1"}) {
    EXPECT_FALSE(IsLocal(text)) << text;
  }
}

TEST(ListenAddress, ANameIsWhatItResolvesTo) {
  const auto address = ResolveListenAddress("localhost:0");
  ASSERT_THAT(address, IsOk());
  ASSERT_FALSE(address->addresses.empty());
  bool all = true;
  for (const SocketAddress& each : address->addresses) all &= IsLoopback(each);
  EXPECT_EQ(address->local(), all);
  EXPECT_THAT(ResolveListenAddress("127.evil.invalid:1"), StatusIs(absl::StatusCode::kUnavailable, "127.evil.invalid"));
}

TEST(ListenAddress, WhatIsNoAddressIsRefused) {
  for (const char* text : {"", "7461", ":7461", "a", "a:", "a:b", "a:-1", "a:65536", "::1:7461", "unix:"}) {
    EXPECT_THAT(ResolveListenAddress(text), StatusIs(absl::StatusCode::kInvalidArgument, "--listen")) << text;
  }
  EXPECT_THAT(ResolveListenAddress("unix:" + std::string(108, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument, "107 bytes"));
}

TEST(ListenAddress, AnIpv4AddressInsideAnIpv6OneIsWrittenAsIpv4) {
  const auto address = ResolveListenAddress("[::ffff:127.0.0.1]:80");
  ASSERT_THAT(address, IsOk());
  EXPECT_EQ(AddressText(address->addresses[0]), "127.0.0.1:80");
}

}  // namespace
}  // namespace plimsoll
