#include "controller/fleet/agent_trust.h"

#include <arpa/inet.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <netdb.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/tls/tls.h"

namespace plimsoll {
namespace {

constexpr char kNameNotFound[] = "name not found";
constexpr char kUnixPrefix[] = "unix:";

// The system's error after gRPC's last colon: "Connection refused".
std::string Reason(const std::string& text) {
  std::string reason = text.substr(text.rfind(": ") == std::string::npos ? 0 : text.rfind(": ") + 2);
  if (!reason.empty()) reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
  return reason;
}

std::string MissingSocket(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  struct stat info{};
  if (path.rfind('/') != std::string::npos && !directory.empty() && stat(directory.c_str(), &info) != 0) {
    return absl::StrCat("the directory ", directory, " does not exist");
  }
  return absl::StrCat("no agent is listening: the socket does not exist; start plimsoll-agent with --listen unix:",
                      path);
}

// gRPC's words for a connection that ends; empty: the text is not among them.
std::string EndInWords(const std::string& text) {
  static const std::pair<const char*, const char*> kEnds[] = {
      {"Connection reset by peer", "connection reset"},
      {"Connection timed out", "connection timed out"},
      {"keepalive watchdog timeout", "connection timed out"},
      {"ping timeout", "connection timed out"},
      {"Socket closed", "connection closed"},
      {"Broken pipe", "connection closed"},
      {"Stream removed", "connection lost"},
      {"Endpoint read failed", "connection lost"},
      {"Received RST_STREAM", "connection lost"},
      {"Received GOAWAY", "connection lost"},
      {"GOAWAY received", "connection lost"},
      {"Transport closed", "connection closed"},
      {"Network unreachable", "connection lost"},
      {"No route to host", "connection lost: no route to the host"}};
  std::string end = text;
  // What was being called comes first where a system call failed.
  for (const char* call : {"recvmsg:", "sendmsg:", "getsockopt(SO_ERROR):"}) {
    end = std::string(absl::StripPrefix(std::string(end), call));
  }
  for (const auto& [begin, words] : kEnds) {
    if (absl::StartsWith(std::string(absl::StripLeadingAsciiWhitespace(end)), begin)) return words;
  }
  return "";
}

std::string InWords(const std::string& address, const std::string& text) {
  const bool is_unix = absl::StartsWith(address, kUnixPrefix);
  if (absl::StrContains(text, "DNS resolution failed")) {
    // c-ares distinguishes an unknown name from servers that do not answer.
    const bool unanswered = absl::StrContains(text, "Timeout") || absl::StrContains(text, "Could not contact");
    return unanswered ? "the name cannot be resolved: no DNS server answers" : kNameNotFound;
  }
  if (!absl::StrContains(text, "failed to connect to all addresses")) {
    const std::string end = EndInWords(text);
    return end.empty() ? text : end;
  }
  if (absl::StrContains(text, "Connection refused")) {
    return "connection refused: no agent is listening; start plimsoll-agent there";
  }
  if (absl::StrContains(text, "Failed parsing HTTP/2") || absl::StrContains(text, "SETTINGS")) {
    return "not a Plimsoll agent: another protocol answers there; check the port";
  }
  if (is_unix && absl::StrContains(text, "No such file or directory")) {
    return MissingSocket(std::string(absl::StripPrefix(address, kUnixPrefix)));
  }
  return absl::StrCat("cannot connect: ", Reason(text));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const AgentTrust>> AgentTrust::Load(const TlsPaths& paths) {
  PLIMSOLL_RETURN_IF_ERROR(CheckTlsPaths(paths));
  auto trust = std::make_shared<AgentTrust>();
  if (!paths.given()) return std::shared_ptr<const AgentTrust>(trust);
  PLIMSOLL_ASSIGN_OR_RETURN(trust->identity_, ReadTlsIdentity(paths));
  trust->with_tls_ = true;
  return std::shared_ptr<const AgentTrust>(trust);
}

namespace {

// Looks at an agent's certificate, which OpenSSL has found to be of the CA. gRPC's own verifier takes an address for a
// DNS name, and no other check requires a declared use of the certificate. DiagnoseHandshake reports why it is
// refused.
class AgentVerifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)> /*callback*/, grpc::Status* sync_status) override {
    const std::string pem(request->peer_cert().data(), request->peer_cert().size());
    const std::string target(request->target_name().data(), request->target_name().size());
    const absl::StatusOr<CertificateFacts> facts = ReadCertificate(pem);
    const int64_t now_s = std::time(nullptr);
    const bool good = facts.ok() && facts->server_auth && facts->not_before_s <= now_s && facts->not_after_s > now_s &&
                      NamesHost(pem, HostOf(target));
    *sync_status = good ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "agent not trusted");
    return true;
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest* /*request*/) override {}

 private:
  // Without its port, and without the brackets of an IPv6 address.
  static std::string HostOf(const std::string& target) {
    const size_t colon = target.rfind(':');
    const bool has_port = colon != std::string::npos && target.find(']', colon) == std::string::npos &&
                          (target.find(':') == colon || target[colon - 1] == ']');
    return has_port ? target.substr(0, colon) : target;
  }
};

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> AgentTrust::MakeCredentials() const {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
      identity_.ca_pem, std::vector<grpc::experimental::IdentityKeyCertPair>{{identity_.key_pem, identity_.cert_pem}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(true);
  options.set_certificate_verifier(grpc::experimental::ExternalCertificateVerifier::Create<AgentVerifier>());
  return grpc::experimental::TlsCredentials(options);
}

absl::Status AgentTrust::CheckSocketOwner(const std::string& address) {
  constexpr char kUnix[] = "unix:";
  if (address.rfind(kUnix, 0) != 0 || geteuid() == 0) return absl::OkStatus();
  struct stat facts{};
  // A path that leads nowhere is gRPC's to report.
  if (stat(address.c_str() + sizeof(kUnix) - 1, &facts) != 0) return absl::OkStatus();
  if (facts.st_uid == 0 || facts.st_uid == geteuid()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("not trusted: the socket belongs to uid ", facts.st_uid,
                                                  ", neither to this user (uid ", geteuid(), ") nor to root"));
}

std::shared_ptr<grpc::ChannelCredentials> AgentTrust::CredentialsFor(const std::string& address) const {
  if (!TlsFor(address)) return grpc::InsecureChannelCredentials();
  MutexLock lock(mutex_);
  if (tls_ == nullptr) tls_ = MakeCredentials();
  return tls_;
}

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr char kUseTls[] = "not trusted: the agent requires TLS; pass --tls-ca, --tls-cert and --tls-key";
constexpr char kNoTls[] =
    "not trusted: the agent has no TLS; start it with --tls-ca, --tls-cert and --tls-key, or leave them out "
    "here";

constexpr char kNotServing[] = "not trusted: the agent's certificate is not for a server (extended key usage)";

struct Target {
  std::string host;  // without brackets
  std::string port;
};

Target SplitAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {address, ""};
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

// A socket with a moment by which everything on it must be done.
class Dialled {
 public:
  Dialled(const Target& target, SteadyClock::time_point deadline) : deadline_(deadline) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found) != 0) return;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
    for (const addrinfo* each = found; each != nullptr && !socket_.valid(); each = each->ai_next) {
      UniqueFd made(socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!made.valid()) continue;
      if (connect(made.get(), each->ai_addr, each->ai_addrlen) != 0) {
        if (errno != EINPROGRESS || !Await(made.get(), POLLOUT)) continue;
        int error = 0;
        socklen_t length = sizeof(error);
        if (getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0) continue;
      }
      socket_ = std::move(made);
    }
  }

  bool connected() const { return socket_.valid(); }
  int get() const { return socket_.get(); }
  bool Await(short events) const { return Await(socket_.get(), events); }

 private:
  bool Await(int descriptor, short events) const {
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - SteadyClock::now()).count();
      pollfd wait{descriptor, events, 0};
      const int ready = poll(&wait, 1, static_cast<int>(std::max<int64_t>(0, left)));
      if (ready < 0 && errno == EINTR) continue;
      return ready > 0;
    }
  }

  const SteadyClock::time_point deadline_;
  UniqueFd socket_;
};

// What the handshake showed, noted by OpenSSL's message callback.
struct Seen {
  bool tls = false;  // the other side answered in TLS
  int alert = -1;    // the first alert that it sent
  CertificateFacts certificate;
};

// Notes the certificate's content: OpenSSL does not keep one that is refused.
int OnVerify(int good, X509_STORE_CTX* store) {
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* seen = static_cast<Seen*>(SSL_get_app_data(ssl));
  if (X509* certificate = X509_STORE_CTX_get0_cert(store); certificate != nullptr) {
    seen->certificate = FactsOf(*certificate);
  }
  return good;
}

void OnMessage(int write_p, int /*version*/, int content_type, const void* buffer, size_t length, SSL* /*ssl*/,
               void* argument) {
  auto* seen = static_cast<Seen*>(argument);
  if (write_p != 0) return;
  if (content_type == SSL3_RT_HANDSHAKE || content_type == SSL3_RT_ALERT) seen->tls = true;
  if (content_type == SSL3_RT_ALERT && length == 2 && seen->alert < 0) {
    const int alert = static_cast<const unsigned char*>(buffer)[1];
    if (alert != SSL_AD_CLOSE_NOTIFY) seen->alert = alert;
  }
}

// A context like that of gRPC's channel; without an identity it verifies nothing and shows nothing.
SslContextPtr MakeContext(const TlsIdentity& identity, bool with_identity) {
  SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return nullptr;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  constexpr unsigned char kAlpn[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), kAlpn, sizeof(kAlpn));
  if (!with_identity) return context;
  const BioPtr ca_bio = BioOf(identity.ca_pem);
  X509_STORE* store = SSL_CTX_get_cert_store(context.get());
  while (const X509Ptr ca = X509Ptr(PEM_read_bio_X509(ca_bio.get(), nullptr, nullptr, nullptr))) {
    X509_STORE_add_cert(store, ca.get());
  }
  ERR_clear_error();
  const BioPtr cert_bio = BioOf(identity.cert_pem);
  const X509Ptr certificate(PEM_read_bio_X509(cert_bio.get(), nullptr, nullptr, nullptr));
  const BioPtr key_bio = BioOf(identity.key_pem);
  const KeyPtr key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  if (SSL_CTX_use_certificate(context.get(), certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) {
    return nullptr;
  }
  while (X509* link = PEM_read_bio_X509(cert_bio.get(), nullptr, nullptr, nullptr)) {
    if (SSL_CTX_add_extra_chain_cert(context.get(), link) != 1) X509_free(link);
  }
  ERR_clear_error();
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, OnVerify);
  return context;
}

// Runs one step of OpenSSL until it is done or the time is over; true when it succeeded.
template <typename Step>
bool Drive(SSL* ssl, const Dialled& dialled, const Step& step) {
  while (true) {
    ERR_clear_error();
    const int result = step();
    if (result > 0) return true;
    const int error = SSL_get_error(ssl, result);
    if (error == SSL_ERROR_WANT_READ ? !dialled.Await(POLLIN)
                                     : error != SSL_ERROR_WANT_WRITE || !dialled.Await(POLLOUT)) {
      return false;
    }
  }
}

std::string WhyAgentIsNotTrusted(const CertificateFacts& facts, const Target& target, long verified) {
  switch (CertificateFaultOf(verified)) {
    case CertificateFault::kExpired:
      return absl::StrCat("not trusted: the agent's certificate expired on ", FormatDay(facts.not_after_s));
    case CertificateFault::kNotYetValid:
      return absl::StrCat("not trusted: the agent's certificate is valid only from ", FormatDay(facts.not_before_s),
                          " on: is a clock wrong?");
    case CertificateFault::kOtherName:
      return absl::StrCat("not trusted: the agent's certificate is for ",
                          facts.names.empty() ? "nobody" : absl::StrJoin(facts.names, ", "), ", not for ", target.host);
    case CertificateFault::kOtherPurpose:
      return kNotServing;
    case CertificateFault::kOtherAuthority:
      return absl::StrCat("not trusted: the agent's certificate is not of the CA in --tls-ca (its issuer is ",
                          facts.issuer, ")");
    default:
      return absl::StrCat("not trusted: the agent's certificate: ", X509_verify_cert_error_string(verified));
  }
}

// What is wrong with our own certificate in our own CA's eyes; X509_V_OK for nothing.
int JudgeOurselves(SSL_CTX& context) {
  const std::unique_ptr<X509_STORE_CTX, OpenSslFree<X509_STORE_CTX_free>> judge(X509_STORE_CTX_new());
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get_extra_chain_certs(&context, &chain);
  if (judge == nullptr || X509_STORE_CTX_init(judge.get(), SSL_CTX_get_cert_store(&context),
                                              SSL_CTX_get0_certificate(&context), chain) != 1) {
    return X509_V_OK;
  }
  X509_STORE_CTX_set_purpose(judge.get(), X509_PURPOSE_SSL_CLIENT);
  X509_verify_cert(judge.get());
  ERR_clear_error();
  return X509_STORE_CTX_get_error(judge.get());
}

// An agent ends the connection when it has seen our certificate. gRPC sends no alert then: the certificate's content
// itself is the next best thing.
std::string WhyAgentRefuses(int alert, SSL_CTX& context, const TlsIdentity& identity) {
  const CertificateFacts& ours = identity.certificate;
  if (ours.not_after_s <= std::time(nullptr)) {
    return absl::StrCat("not trusted: this controller's certificate (--tls-cert) expired on ",
                        FormatDay(ours.not_after_s));
  }
  if (!ours.client_auth) {
    return "not trusted: this controller's certificate (--tls-cert) is not for a client (extended key usage)";
  }
  const std::string shown =
      alert < 0 ? "" : absl::StrCat(" (alert: ", std::string(SSL_alert_desc_string_long(alert)), ")");
  if (const int error = JudgeOurselves(context); error != X509_V_OK) {
    return absl::StrCat("not trusted: the agent refused this controller's certificate", shown,
                        "; it is not good for the CA in --tls-ca either: ", X509_verify_cert_error_string(error),
                        ", its issuer is ", ours.issuer);
  }
  return absl::StrCat("not trusted: the agent refused this controller's certificate", shown,
                      ": see the agent's log; does its --tls-ca match, and is its clock right?");
}

// Whether what listens there begins to speak HTTP/2 without TLS.
bool SpeaksPlainly(const Target& target, SteadyClock::time_point deadline) {
  const Dialled dialled(target, deadline);
  if (!dialled.connected() || !dialled.Await(POLLOUT)) return false;
  // The preface, and an empty SETTINGS frame.
  const std::string hello = std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string("\0\0\0\4\0\0\0\0\0", 9);
  if (send(dialled.get(), hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size())) return false;
  std::array<unsigned char, 9> header{};
  size_t got = 0;
  while (got < header.size() && dialled.Await(POLLIN)) {
    const ssize_t more = recv(dialled.get(), header.data() + got, header.size() - got, 0);
    if (more <= 0) return false;
    got += static_cast<size_t>(more);
  }
  constexpr unsigned char kSettings = 4;
  return got == header.size() && header[3] == kSettings;
}

}  // namespace

std::string DiagnoseHandshake(const std::string& address, const AgentTrust& trust, std::chrono::milliseconds limit) {
  if (absl::StartsWith(address, "unix:")) return "";
  const SteadyClock::time_point deadline = SteadyClock::now() + limit;
  const Target target = SplitAddress(address);
  const bool tls = trust.TlsFor(address);
  const SslContextPtr context = MakeContext(trust.identity(), tls);
  const Dialled dialled(target, deadline);
  if (context == nullptr || !dialled.connected()) return "";
  const SslPtr ssl(SSL_new(context.get()));
  if (ssl == nullptr || SSL_set_fd(ssl.get(), dialled.get()) != 1) return "";
  Seen seen;
  SSL_set_msg_callback(ssl.get(), OnMessage);
  SSL_set_msg_callback_arg(ssl.get(), &seen);
  SSL_set_app_data(ssl.get(), &seen);
  if (tls) {
    X509_VERIFY_PARAM* checks = SSL_get0_param(ssl.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(checks, target.host.c_str()) != 1) {
      SSL_set1_host(ssl.get(), target.host.c_str());
      SSL_set_tlsext_host_name(ssl.get(), target.host.c_str());
    }
  }
  const bool shaken = Drive(ssl.get(), dialled, [&] { return SSL_connect(ssl.get()); });
  if (!tls) return seen.tls ? kUseTls : "";
  if (!shaken) {
    const long verified = SSL_get_verify_result(ssl.get());
    if (verified != X509_V_OK) return WhyAgentIsNotTrusted(seen.certificate, target, verified);
    // In TLS 1.2 the agent has seen our certificate by now.
    if (seen.tls) return WhyAgentRefuses(seen.alert, *context, trust.identity());
    return SpeaksPlainly(target, deadline) ? kNoTls : "";
  }
  // OpenSSL accepts a certificate without a declared use; the controller does not.
  if (!seen.certificate.server_auth) return kNotServing;
  // In TLS 1.3 the agent looks at our certificate only now. If it likes it, HTTP/2's first frame comes.
  char first = 0;
  if (Drive(ssl.get(), dialled, [&] { return SSL_read(ssl.get(), &first, 1); })) return "";
  const bool ended = SteadyClock::now() < deadline;
  return seen.alert >= 0 || ended ? WhyAgentRefuses(seen.alert, *context, trust.identity()) : "";
}

absl::Status ExplainConnectError(const std::string& address, const absl::Status& failure) {
  return {failure.code(), InWords(address, std::string(failure.message()))};
}

std::string DirectoryInWords(const std::string& label, const std::string& error, const std::string& option) {
  const std::string prefix = option.empty() ? "" : absl::StrCat(option, ": ");
  if (!absl::EndsWith(error, " does not exist")) return absl::StrCat(label, ": ", prefix, error);
  return absl::StrCat(prefix, error, " on ", label, "; create it there or ",
                      option.empty() ? "name another directory" : absl::StrCat("pass another ", option));
}

std::string UnreachableInWords(const std::string& address, const absl::Status& failure) {
  const bool nameless = failure.message() == kNameNotFound;
  return absl::StrCat(nameless ? address.substr(0, address.rfind(':')) : address, ": ", std::string(failure.message()));
}

}  // namespace plimsoll
