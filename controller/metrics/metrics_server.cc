#include "controller/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace plimsoll {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr char kMetricsPath[] = "/metrics";
constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kNotFoundText[] = "Not found: the metrics are at /metrics\n";
constexpr std::uint32_t kMostHeaderBytes = 8 << 10;
constexpr size_t kMostBufferBytes = 16 << 10;
constexpr size_t kMostConnections = 16;
constexpr int kBacklog = 64;
constexpr auto kRequestTimeout = std::chrono::seconds(5);
constexpr auto kAnswerTimeout = std::chrono::seconds(30);
// After an error of accept, such as too many open files.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
// Requests within this time get the text of the first one.
constexpr auto kFreshFor = std::chrono::milliseconds(200);
// Below that of everything that measures.
constexpr int kNiceness = 10;

struct ListenAddress {
  sockaddr_storage address{};
  socklen_t length = 0;
  // "127.0.0.1", or "[::1]".
  std::string host;
};

absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& where) {
  const auto wrong = [&where] {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(where), " is not a port, or an address and a port, such as 9101, 10.0.0.5:9101 or [::1]:9101"));
  };
  const size_t colon = where.rfind(':');
  std::string host = colon == std::string::npos ? "127.0.0.1" : where.substr(0, colon);
  const std::string port_text = colon == std::string::npos ? where : where.substr(colon + 1);
  uint32_t port = 0;
  if (port_text.empty() || port_text.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(port_text, &port) || port > UINT16_MAX) {
    return wrong();
  }
  ListenAddress made;
  made.host = host;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&made.address);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    made.length = sizeof(*v6);
    return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6->sin6_addr) == 1
               ? made
               : absl::StatusOr<ListenAddress>(wrong());
  }
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&made.address);
  v4->sin_family = AF_INET;
  v4->sin_port = htons(static_cast<uint16_t>(port));
  made.length = sizeof(*v4);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) != 1) return wrong();
  return made;
}

}  // namespace

// One client: a request, an answer, the end. Lives as long as something of it is under way.
class MetricsConnection : public std::enable_shared_from_this<MetricsConnection> {
 public:
  // The text of /metrics.
  using GetText = std::function<std::shared_ptr<const std::string>()>;

  MetricsConnection(tcp::socket socket, GetText get_text)
      : stream_(std::move(socket)), get_text_(std::move(get_text)) {}

  void Start() {
    parser_.header_limit(kMostHeaderBytes);
    stream_.expires_after(kRequestTimeout);
    http::async_read_header(stream_, buffer_, parser_, [self = shared_from_this()](error_code error, size_t /*bytes*/) {
      if (error) return self->Close();
      self->Answer();
    });
  }

  // What is under way ends with an error.
  void Close() { stream_.close(); }

 private:
  void Answer() {
    const auto& request = parser_.get();
    const bool found = request.method() == http::verb::get && request.target() == kMetricsPath;
    if (found) text_ = get_text_();
    const absl::string_view body = found ? absl::string_view(*text_) : absl::string_view(kNotFoundText);
    response_.version(11);
    response_.result(found ? http::status::ok : http::status::not_found);
    response_.set(http::field::content_type, kContentType);
    response_.body() = beast::span<const char>(body.data(), body.size());
    response_.keep_alive(false);
    response_.prepare_payload();
    stream_.expires_after(kAnswerTimeout);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](error_code /*error*/, size_t /*bytes*/) { self->Close(); });
  }

  beast::tcp_stream stream_;
  const GetText get_text_;
  beast::flat_buffer buffer_{kMostBufferBytes};
  http::request_parser<http::empty_body> parser_;
  http::response<http::span_body<const char>> response_;
  std::shared_ptr<const std::string> text_;
};

// The listening socket, and the thread that answers. Its members are of that thread once it has begun.
class MetricsServer::Loop {
 public:
  Loop(UniqueFd socket, int family, std::string url)
      : socket_(std::move(socket)), family_(family), url_(std::move(url)) {}

  ~Loop() {
    if (!thread_.joinable()) return;
    context_.stop();
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  const std::string& url() const { return url_; }

  void Serve(std::function<std::string()> text) {
    if (thread_.joinable()) return;
    make_text_ = std::move(text);
    acceptor_.assign(family_ == AF_INET6 ? tcp::v6() : tcp::v4(), socket_.Release());
    Accept();
    // Signals are for the threads that wait for them.
    sigset_t all{};
    sigset_t before{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { Run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

 private:
  void Run() {
    pthread_setname_np(pthread_self(), "metrics");
    // Of this thread alone, on Linux.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNiceness);
    while (!context_.stopped()) {
      try {
        context_.run();
      } catch (const std::exception&) {
        // Memory is short: that request is lost.
      }
    }
  }

  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error) {
        pause_.expires_after(kAcceptPause);
        pause_.async_wait([this](error_code /*error*/) { Accept(); });
        return;
      }
      // Programs that are started meanwhile do not inherit it.
      fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
      Take(std::move(socket));
      Accept();
    });
  }

  void Take(tcp::socket socket) {
    connections_.remove_if([](const std::weak_ptr<MetricsConnection>& each) { return each.expired(); });
    if (connections_.size() >= kMostConnections) {
      if (const std::shared_ptr<MetricsConnection> oldest = connections_.front().lock()) oldest->Close();
      connections_.pop_front();
    }
    const auto connection = std::make_shared<MetricsConnection>(std::move(socket), [this] { return Text(); });
    connections_.push_back(connection);
    connection->Start();
  }

  std::shared_ptr<const std::string> Text() {
    const auto now = std::chrono::steady_clock::now();
    if (text_ == nullptr || now - made_at_ > kFreshFor) {
      text_ = std::make_shared<const std::string>(make_text_());
      made_at_ = now;
    }
    return text_;
  }

  UniqueFd socket_;
  const int family_;
  const std::string url_;
  std::function<std::string()> make_text_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_};
  std::list<std::weak_ptr<MetricsConnection>> connections_;
  std::shared_ptr<const std::string> text_;
  std::chrono::steady_clock::time_point made_at_;
  std::thread thread_;
};

MetricsServer::MetricsServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

MetricsServer::~MetricsServer() = default;

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Listen(const std::string& where) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ListenAddress wanted, ParseListenAddress(where));
  const int family = wanted.address.ss_family;
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return PosixError("socket for", where, errno);
  // A run may follow another one on the same port.
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const auto* const address = reinterpret_cast<const sockaddr*>(&wanted.address);
  if (bind(socket.get(), address, wanted.length) != 0 || listen(socket.get(), kBacklog) != 0) {
    const int why = errno;
    absl::Status status = PosixError("listen on", where, why);
    if (why != EADDRINUSE) return status;
    return absl::Status(status.code(),
                        absl::StrCat("port ", where.substr(where.rfind(':') + 1),
                                     " is in use by another program; pass another one, or 0 for any that is free (",
                                     std::string(status.message()), ")"));
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return PosixError("getsockname", where, errno);
  }
  const uint16_t port = ntohs(family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                                 : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  try {
    return std::unique_ptr<MetricsServer>(new MetricsServer(std::make_unique<Loop>(
        std::move(socket), family, absl::StrCat("http://", wanted.host, ":", port, kMetricsPath))));
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(error.what());
  }
}

std::string MetricsServer::url() const {
  return loop_->url();
}

void MetricsServer::Serve(std::function<std::string()> text) {
  loop_->Serve(std::move(text));
}

}  // namespace plimsoll
