#include "agent/server/connection_gate.h"

#include <fcntl.h>
#include <grpcpp/resource_quota.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/server/sockets.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// Without a call. A controller has one open, or asks again over a new connection.
constexpr int kIdleTimeoutMs = 60'000;
// A peer that vanished without a word is asked after so long, and forgotten when it has not answered for so long:
// together longer than the longest lease, so that this never ends a session that its lease would keep.
constexpr int kKeepAliveAfterMs = 3'600'000;
constexpr int kKeepAliveTimeoutMs = 600'000;
// A controller needs three: Describe, Session, SyncClock.
constexpr int kMaxStreams = 8;
// A plan for one host is some hundred bytes, and some 20 for each step, of which it has 10,000 at most.
constexpr int kMaxMessageBytes = 256 << 10;
constexpr int kReadChunkBytes = 8 << 10;

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr unsigned char kHeaders = 1;
constexpr unsigned char kSettings = 4;
constexpr unsigned char kGoAway = 7;
constexpr unsigned char kEndStreamAndHeaders = 5;
// A client's greeting and first call are some hundred bytes.
constexpr size_t kMaxRefusedBytes = 64 << 10;
constexpr int64_t kMaxTimeNs = 5 * kNsPerSecond;

std::string BigEndian(uint32_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift & 0xffU));
  return text;
}

std::string Frame(unsigned char type, unsigned char flags, uint32_t stream, const std::string& payload) {
  std::string frame = BigEndian(static_cast<uint32_t>(payload.size()), 3);
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  return frame + BigEndian(stream, 4) + payload;
}

// HPACK: a string as it is, its length with a prefix of 7 bits.
std::string Literal(const std::string& text) {
  constexpr size_t kPrefix = 127;
  std::string coded;
  if (text.size() < kPrefix) {
    coded.push_back(static_cast<char>(text.size()));
  } else {
    coded.push_back(static_cast<char>(kPrefix));
    size_t rest = text.size() - kPrefix;
    for (; rest >= 128; rest /= 128) coded.push_back(static_cast<char>(rest % 128 + 128));
    coded.push_back(static_cast<char>(rest));
  }
  return coded + text;
}

std::string Header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + Literal(name) + Literal(value);
}

}  // namespace

void ConnectionSlots::Connection::Begin(const Peer& peer, int descriptor, std::shared_ptr<std::atomic<bool>> serves) {
  MutexLock lock(mutex_);
  peer_ = peer;
  descriptor_ = descriptor;
  identity_ = SocketIdentity(descriptor);
  calls_ = 0;
  serves_ = std::move(serves);
}

bool ConnectionSlots::Connection::gone() {
  MutexLock lock(mutex_);
  return SocketIdentity(descriptor_) != identity_;
}

void ConnectionSlots::Connection::Count() {
  MutexLock lock(mutex_);
  serves_->store(true);
  if (++calls_ <= kMaxCalls) return;
  if (calls_ == kMaxCalls + 1) {
    refusals_->Add(peer_.who, peer_.name, absl::StrCat("it made more than ", kMaxCalls, " calls on one connection"));
  }
  // gRPC, which has the descriptor, sees the end of the connection and closes it.
  if (SocketIdentity(descriptor_) == identity_) shutdown(descriptor_, SHUT_RDWR);
}

ConnectionSlots::ConnectionSlots(v1::Agent::CallbackService& service,
                                 std::shared_ptr<grpc::ServerCredentials> credentials,
                                 std::shared_ptr<Refusals> refusals, int handshake_timeout_ms)
    : service_(service),
      credentials_(std::move(credentials)),
      refusals_(std::move(refusals)),
      handshake_timeout_ms_(handshake_timeout_ms) {}

ConnectionSlots::~ConnectionSlots() {
  const auto deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(200);
  for (const auto& slot : slots_) slot->server->Shutdown(deadline);
}

ConnectionSlots::Slot* ConnectionSlots::FreeSlot() {
  for (const auto& slot : slots_) {
    if (slot->connection.gone()) return slot.get();
  }
  auto slot = std::make_unique<Slot>(refusals_);
  grpc::ServerBuilder builder;
  builder.RegisterService(&service_);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> counters;
  counters.push_back(std::make_unique<CallCounter>(slot->connection));
  builder.experimental().SetInterceptorCreators(std::move(counters));
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetResourceQuota(grpc::ResourceQuota("connection").Resize(kMemoryBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, handshake_timeout_ms_);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveAfterMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveTimeoutMs);
  // Bytes that were read are processed even when the connection has been ended meanwhile.
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadChunkBytes);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadChunkBytes);
  // Without the probe a connection's receive window stays at 64 KiB.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  slot->acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials_);
  slot->server = builder.BuildAndStart();
  if (slot->server == nullptr) return nullptr;
  slots_.push_back(std::move(slot));
  return slots_.back().get();
}

void ConnectionSlots::Take(const Peer& peer, UniqueFd socket, std::shared_ptr<std::atomic<bool>> serves) {
  Slot* slot = FreeSlot();
  if (slot == nullptr) return;
  slot->connection.Begin(peer, socket.get(), std::move(serves));
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = -1;
  connection.fd = socket.Release();
  slot->acceptor->HandleNewConnection(&connection);
}

RefusalResponse::RefusalResponse(UniqueFd socket, std::string sentence, MonotonicNs now)
    : socket_(std::move(socket)), sentence_(std::move(sentence)), since_(now), skip_(kPreface.size()) {
  Send(Frame(kSettings, 0, 0, ""));
}

bool RefusalResponse::Over(MonotonicNs now) const {
  return now - since_ >= kMaxTimeNs;
}

bool RefusalResponse::Send(const std::string& bytes) {
  // Far less than a socket's buffer holds.
  return send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

bool RefusalResponse::Take(unsigned char byte) {
  if (skip_ > 0) {
    --skip_;
    return true;
  }
  header_[have_++] = byte;
  if (have_ < header_.size()) return true;
  have_ = 0;
  skip_ = size_t{header_[0]} << 16U | size_t{header_[1]} << 8U | header_[2];
  if (header_[3] != kHeaders || answered_) return true;
  answered_ = true;
  const uint32_t stream =
      (uint32_t{header_[5]} << 24U | uint32_t{header_[6]} << 16U | uint32_t{header_[7]} << 8U | uint32_t{header_[8]}) &
      0x7fffffffU;
  constexpr char kStatus200 = static_cast<char>(0x88);  // of HPACK's static table
  const std::string fields = std::string(1, kStatus200) + Header("content-type", "application/grpc") +
                             Header("grpc-status", "7") + Header("grpc-message", sentence_);
  const bool sent = Send(Frame(kHeaders, kEndStreamAndHeaders, stream, fields) +
                         Frame(kGoAway, 0, 0, BigEndian(stream, 4) + BigEndian(0, 4)));
  shutdown(socket_.get(), SHUT_WR);
  return sent;
}

bool RefusalResponse::Receive() {
  std::array<unsigned char, 4096> piece{};
  while (true) {
    const ssize_t got = recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    read_bytes_ += static_cast<size_t>(got);
    if (read_bytes_ > kMaxRefusedBytes) return false;
    for (ssize_t i = 0; i < got; ++i) {
      if (!Take(piece[static_cast<size_t>(i)])) return false;
    }
  }
}

namespace {

// Often enough for sums of refusals and for silent connections.
constexpr int kTickMs = 500;
constexpr int kMaxEvents = 32;
constexpr unsigned char kTlsHandshake = 0x16;  // the type of a TLS record
constexpr char kHttp2First = 'P';              // of "PRI * HTTP/2.0"

}  // namespace

ConnectionGate::ConnectionGate(std::unique_ptr<Listener> listener, Options options)
    : listener_(std::move(listener)),
      options_(std::move(options)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      reserve_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  const auto watch = [this](int descriptor) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
  };
  watch(stop_.get());
  for (const UniqueFd& each : listener_->sockets()) watch(each.get());
  thread_ = std::thread([this] { Run(); });
}

ConnectionGate::~ConnectionGate() {
  const uint64_t one = 1;
  // An eventfd takes a write unless its counter is full, which one write cannot bring about.
  static_cast<void>(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  thread_.join();
}

void ConnectionGate::Run() {
  std::array<epoll_event, kMaxEvents> events{};
  while (true) {
    const int count = epoll_wait(epoll_.get(), events.data(), kMaxEvents, kTickMs);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<size_t>(i)].data.fd;
      if (descriptor == stop_.get()) return;
      const bool listening = std::any_of(listener_->sockets().begin(), listener_->sockets().end(),
                                         [&](const UniqueFd& each) { return each.get() == descriptor; });
      if (listening) {
        Accept(descriptor);
      } else {
        HandleReadable(descriptor);
      }
    }
    DropOldSilent();
    for (const Open& each : open_) {
      if (each.counted) CheckUse(each);
    }
    options_.refusals->Tick();
  }
}

void ConnectionGate::Refuse(const Peer& peer, const std::string& reason) {
  options_.refusals->Add(peer.who, peer.name, reason);
}

void ConnectionGate::HandleNoDescriptor(int listening, int error_number) {
  if (error_number != EMFILE && error_number != ENFILE) return;
  // The connection would be offered again and again: take it in the reserve's place, and close it.
  reserve_.Reset();
  const UniqueFd socket(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  options_.refusals->Add("a connection", "a connection", "this agent has no file descriptor left (RLIMIT_NOFILE)");
  reserve_ = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void ConnectionGate::Accept(int listening) {
  Silent silent;
  silent.socket = UniqueFd(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!silent.socket.valid()) {
    HandleNoDescriptor(listening, errno);
    return;
  }
  const int descriptor = silent.socket.get();
  sockaddr_storage family{};
  socklen_t length = sizeof(family);
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&family), &length);
  if (family.ss_family == AF_UNIX) {
    const auto uid = UnixPeer(descriptor, silent.peer);
    if (!uid.ok()) return;
    silent.uid = *uid;
    silent.uid_known = true;
    silent.peer.loopback = true;
  } else {
    const auto peer = TcpPeer(descriptor);
    if (!peer.ok()) return;  // it has left already
    silent.peer = *peer;
  }
  if (silent_.size() >= options_.limits.silent) {
    Refuse(silent_.front().peer, "it sent nothing, and other connections wait");
    silent_.pop_front();
  }
  silent.since = options_.clock->Now();
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = descriptor;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return;
  silent_.push_back(std::move(silent));
}

void ConnectionGate::DropOldSilent() {
  const MonotonicNs now = options_.clock->Now();
  while (!silent_.empty() && now - silent_.front().since >= options_.limits.silent_ns) {
    Refuse(silent_.front().peer, absl::StrCat("it sent nothing for ", options_.limits.silent_ns / kNsPerSecond, " s"));
    silent_.pop_front();
  }
  turned_away_.erase(
      std::remove_if(turned_away_.begin(), turned_away_.end(), [&](const auto& each) { return each->Over(now); }),
      turned_away_.end());
}

void ConnectionGate::HandleReadable(int descriptor) {
  const auto known =
      std::find_if(open_.begin(), open_.end(), [&](const Open& each) { return each.descriptor == descriptor; });
  if (known != open_.end() && SocketIdentity(descriptor) == known->identity) {
    CheckUse(*known);
    return;
  }
  const auto refusal = std::find_if(turned_away_.begin(), turned_away_.end(),
                                    [&](const auto& each) { return each->descriptor() == descriptor; });
  if (refusal != turned_away_.end()) {
    if (!(*refusal)->Receive()) turned_away_.erase(refusal);
    return;
  }
  const auto found =
      std::find_if(silent_.begin(), silent_.end(), [&](const Silent& each) { return each.socket.get() == descriptor; });
  if (found == silent_.end()) return;
  char first = 0;
  const ssize_t got = recv(descriptor, &first, 1, MSG_PEEK);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  Silent silent = std::move(*found);
  silent_.erase(found);
  if (got <= 0) return;  // it left without a word
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  const bool speaks_tls = static_cast<unsigned char>(first) == kTlsHandshake;
  if (options_.tls && first == kHttp2First) {
    Refuse(silent.peer, "it connected without TLS, and this agent requires TLS");
  } else if (!options_.tls && speaks_tls) {
    Refuse(silent.peer, "it connected with TLS, and this agent was started without --tls-cert");
  } else if (options_.tls ? !speaks_tls : first != kHttp2First) {
    Refuse(silent.peer, "what it sent is not gRPC");
  } else if (CheckRoom(silent) && CheckUser(silent)) {
    LetIn(std::move(silent));
  }
}

void ConnectionGate::CountOpen() {
  open_.erase(std::remove_if(open_.begin(), open_.end(),
                             [](const Open& each) { return SocketIdentity(each.descriptor) != each.identity; }),
              open_.end());
}

void ConnectionGate::CheckUse(const Open& open) {
  if (SocketIdentity(open.descriptor) != open.identity) return;
  tcp_info info{};
  socklen_t length = sizeof(info);
  if (getsockopt(open.descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
      length < offsetof(tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received)) {
    return;
  }
  const Limits& limits = options_.limits;
  const auto seconds = static_cast<uint64_t>((options_.clock->Now() - open.since) / kNsPerSecond);
  const uint64_t allowed = limits.received_bytes + seconds * limits.received_bytes_per_second +
                           info.tcpi_bytes_acked / limits.received_share;
  if (info.tcpi_bytes_received <= allowed) return;
  Refuse(open.peer, absl::StrCat("it sends more than a controller does (", limits.received_bytes, " bytes and ",
                                 limits.received_bytes_per_second, " a second)"));
  // All connections are taken on this thread: the descriptor is still this one's. gRPC sees its end.
  shutdown(open.descriptor, SHUT_RDWR);
}

bool ConnectionGate::CheckRoom(const Silent& silent) {
  CountOpen();
  const Limits& limits = options_.limits;
  const auto count = [this](const auto& counts) {
    return static_cast<size_t>(std::count_if(open_.begin(), open_.end(), counts));
  };
  const size_t staying = count([](const Open& each) { return !each.leaving; });
  const size_t of_one = count([&](const Open& each) { return !each.leaving && each.peer.who == silent.peer.who; });
  const bool exempt = silent.peer.loopback && !options_.tls;
  const bool too_many_of_one = !exempt && of_one >= limits.open_of_one;
  if (staying < limits.open && !too_many_of_one) return true;
  const bool can_leave = open_.size() - staying < limits.leaving;
  if (can_leave && EndOneFor(too_many_of_one ? silent.peer.who : "")) return true;
  Refuse(silent.peer, too_many_of_one
                          ? absl::StrCat("it has ", of_one, " connections, the most for one address")
                          : absl::StrCat("this agent has ", staying, " connections, the most that it takes"));
  return false;
}

bool ConnectionGate::EndOneFor(const std::string& who) {
  // In the order in which they were let in.
  const auto oldest = std::find_if(open_.begin(), open_.end(), [&](const Open& each) {
    return !each.leaving && !each.serves->load() && (who.empty() || each.peer.who == who);
  });
  if (oldest == open_.end()) return false;
  Refuse(oldest->peer, "it made no call, and other connections wait");
  oldest->leaving = true;
  if (SocketIdentity(oldest->descriptor) == oldest->identity) shutdown(oldest->descriptor, SHUT_RDWR);
  return true;
}

bool ConnectionGate::CheckUser(Silent& silent) {
  if (options_.uids.empty()) return true;
  std::string why = "it may not use this agent: only root and the agent's own user may";
  if (!silent.uid_known) {
    const auto uid = LoopbackOwner(silent.socket.get());
    if (uid.ok()) {
      silent.uid = *uid;
      silent.uid_known = true;
      silent.peer.who = absl::StrCat("uid ", *uid);
      silent.peer.name = absl::StrCat("uid ", *uid, " (", silent.peer.name, ")");
    } else {
      why = absl::StrCat("its user is unknown: ", std::string(uid.status().message()));
    }
  }
  if (silent.uid_known && options_.uids.count(silent.uid) > 0) return true;
  Refuse(silent.peer, why);
  TurnAway(std::move(silent));
  return false;
}

void ConnectionGate::TurnAway(Silent silent) {
  // Beyond so many, a connection is closed without a word.
  if (turned_away_.size() >= options_.limits.turned_away) return;
  auto refusal =
      std::make_unique<RefusalResponse>(std::move(silent.socket), options_.not_trusted, options_.clock->Now());
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = refusal->descriptor();
  if (!refusal->Receive() || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, refusal->descriptor(), &event) != 0) return;
  turned_away_.push_back(std::move(refusal));
}

void ConnectionGate::LetIn(Silent silent) {
  const int descriptor = silent.socket.get();
  auto serves = std::make_shared<std::atomic<bool>>(false);
  tcp_info info{};
  socklen_t length = sizeof(info);
  const bool counted = getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) == 0;
  open_.push_back({descriptor, SocketIdentity(descriptor), silent.peer, options_.clock->Now(), serves, counted});
  // Each time that something comes; what it is, gRPC reads. Where nothing is counted, that would wake this thread for
  // each message in vain.
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.fd = descriptor;
  if (counted) epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
  options_.let_in(silent.peer, std::move(silent.socket), std::move(serves));
}

}  // namespace plimsoll
