// The HTTP server: what it answers, and what clients cannot do to it.
#include "controller/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr char kGet[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

uint16_t PortOf(const MetricsServer& server) {
  const std::string url = server.url();
  const size_t colon = url.rfind(':');
  uint32_t port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(url.substr(colon + 1, url.rfind('/') - colon - 1), &port)) << url;
  return static_cast<uint16_t>(port);
}

// A client, which waits for at most a minute.
UniqueFd ConnectTo(const MetricsServer& server) {
  UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(PortOf(server));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval wait{.tv_sec = 60, .tv_usec = 0};
  setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return client;
}

void SendTo(const UniqueFd& client, const std::string& bytes) {
  // The server may have closed it.
  [[maybe_unused]] const ssize_t sent = send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// All that comes until the server closes the connection.
std::string ReadAnswer(const UniqueFd& client) {
  std::string answer;
  char part[4096];
  for (ssize_t n = 0; (n = recv(client.get(), part, sizeof(part), 0)) > 0;) answer.append(part, static_cast<size_t>(n));
  return answer;
}

std::string Ask(const MetricsServer& server, const std::string& request) {
  const UniqueFd client = ConnectTo(server);
  SendTo(client, request);
  return ReadAnswer(client);
}

std::unique_ptr<MetricsServer> Serving(std::function<std::string()> text = [] { return "up 1\n"; }) {
  absl::StatusOr<std::unique_ptr<MetricsServer>> server = MetricsServer::Listen("0");
  EXPECT_THAT(server, IsOk());
  (*server)->Serve(std::move(text));
  return *std::move(server);
}

TEST(MetricsServer, AnswersWithTheTextAndItsType) {
  const std::unique_ptr<MetricsServer> server = Serving();
  EXPECT_THAT(server->url(), MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+/metrics"));
  const std::string answer = Ask(*server, kGet);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nup 1\n"));
}

TEST(MetricsServer, EverythingElseIsNotFound) {
  const std::unique_ptr<MetricsServer> server = Serving();
  for (const char* first : {"GET /", "GET /metrics/", "GET /../metrics", "POST /metrics", "DELETE /metrics"}) {
    const std::string answer = Ask(*server, absl::StrCat(first, " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\n")) << first;
  }
}

TEST(MetricsServer, APortThatIsInUseIsNamed) {
  const std::unique_ptr<MetricsServer> server = Serving();
  const std::string port = absl::StrCat(PortOf(*server));
  const absl::Status refused = MetricsServer::Listen(port).status();
  EXPECT_THAT(std::string(refused.message()), StartsWith(absl::StrCat("port ", port, " is in use by another program")));
}

TEST(MetricsServer, WhatIsNoPlaceToListenIsRefused) {
  for (const char* where : {"", "x", "-1", "65536", "localhost:1", "1.2.3:1", "[::1]", "::1:1", "[127.0.0.1]:1", ":1",
                            "127.0.0.1:", "127.0.0.1:1x", "0x10"}) {
    EXPECT_THAT(MetricsServer::Listen(where), StatusIs(absl::StatusCode::kInvalidArgument, "is not a port")) << where;
  }
}

TEST(MetricsServer, ClientsThatSendHalfARequestKeepNobodyOut) {
  const std::unique_ptr<MetricsServer> server = Serving();
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 200; ++i) {
    silent.push_back(ConnectTo(*server));
    SendTo(silent.back(), "GET /metrics HT");
  }
  EXPECT_THAT(Ask(*server, kGet), EndsWith("up 1\n"));
  // The oldest were closed, without an answer.
  EXPECT_EQ(ReadAnswer(silent.front()), "");
}

TEST(MetricsServer, ARequestThatDoesNotEndIsCutOff) {
  const std::unique_ptr<MetricsServer> server = Serving();
  const UniqueFd client = ConnectTo(*server);
  SendTo(client, "GET /metrics HTTP/1.1\r\n");
  for (int i = 0; i < 1000; ++i) SendTo(client, absl::StrCat("X-", i, ": ", std::string(1000, 'x'), "\r\n"));
  EXPECT_EQ(ReadAnswer(client), "");
  EXPECT_EQ(Ask(*server, std::string(100'000, 'x')), "");
  EXPECT_THAT(Ask(*server, kGet), EndsWith("up 1\n"));
}

TEST(MetricsServer, AClientThatReadsNothingKeepsNobodyOut) {
  const std::string large(64 << 20, 'x');
  const std::unique_ptr<MetricsServer> server = Serving([&large] { return large; });
  const UniqueFd lazy = ConnectTo(*server);
  SendTo(lazy, kGet);
  EXPECT_THAT(Ask(*server, "GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(Ask(*server, kGet).size() / large.size(), 1U);
}

TEST(MetricsServer, RequestsOfOneMomentShareOneText) {
  std::atomic<int> made = 0;
  const std::unique_ptr<MetricsServer> server = Serving([&made] {
    ++made;
    return std::string("up 1\n");
  });
  constexpr int kRequests = 50;
  for (int i = 0; i < kRequests; ++i) Ask(*server, kGet);
  EXPECT_GE(made, 1);
  EXPECT_LT(made, kRequests);
}

TEST(MetricsServer, ConnectionsBeforeServeAreAnsweredThen) {
  absl::StatusOr<std::unique_ptr<MetricsServer>> server = MetricsServer::Listen("127.0.0.1:0");
  ASSERT_THAT(server, IsOk());
  const UniqueFd early = ConnectTo(**server);
  SendTo(early, kGet);
  (*server)->Serve([] { return std::string("up 1\n"); });
  (*server)->Serve([] { return std::string("up 2\n"); });
  EXPECT_THAT(ReadAnswer(early), EndsWith("up 1\n"));
}

TEST(MetricsServer, EndsAtOnceWhateverClientsDo) {
  std::unique_ptr<MetricsServer> server = Serving();
  const UniqueFd silent = ConnectTo(*server);
  SendTo(silent, "GET");
  EXPECT_THAT(Ask(*server, kGet), EndsWith("up 1\n"));
  server.reset();
  EXPECT_EQ(ReadAnswer(silent), "");
}

}  // namespace
}  // namespace plimsoll
