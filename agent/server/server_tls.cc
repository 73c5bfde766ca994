#include "agent/server/server_tls.h"

#include <fcntl.h>
#include <grpc/grpc_security_constants.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/tls/tls.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kLookEvery{500};
constexpr unsigned kProviderSeconds = 1;

std::string PathOf(const UniqueFd& file) {
  return absl::StrCat("/proc/self/fd/", file.get());
}

}  // namespace

absl::Status ReloadingIdentity::Show(const std::string& text, UniqueFd& shown) {
  UniqueFd copy(memfd_create("plimsoll-tls", MFD_CLOEXEC));
  if (!copy.valid()) return PosixError("memfd_create", "", errno);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = write(copy.get(), text.data() + done, text.size() - done);
    if (put < 0 && errno != EINTR) return PosixError("write", "a copy of the TLS files", errno);
    if (put > 0) done += static_cast<size_t>(put);
  }
  if (!shown.valid()) {
    shown = std::move(copy);
  } else if (dup3(copy.get(), shown.get(), O_CLOEXEC) < 0) {
    return PosixError("dup3", "", errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ReloadingIdentity>> ReloadingIdentity::Start(const TlsPaths& paths, TlsIdentity identity,
                                                                            Log log) {
  auto made = std::unique_ptr<ReloadingIdentity>(new ReloadingIdentity(paths, std::move(identity), std::move(log)));
  PLIMSOLL_RETURN_IF_ERROR(Show(made->current_.ca_pem, made->shown_ca_));
  PLIMSOLL_RETURN_IF_ERROR(
      Show(absl::StrCat(made->current_.cert_pem, "\n", made->current_.key_pem), made->shown_identity_));
  const std::string both = PathOf(made->shown_identity_);
  made->provider_ = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      both, both, PathOf(made->shown_ca_), kProviderSeconds);
  made->thread_ = std::thread([raw = made.get()] { raw->Run(); });
  return made;
}

ReloadingIdentity::~ReloadingIdentity() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void ReloadingIdentity::Run() {
  while (true) {
    {
      MutexLock lock(mutex_);
      if (!stop_) changed_.WaitFor(mutex_, kLookEvery);
      if (stop_) return;
    }
    Look();
  }
}

void ReloadingIdentity::Look() {
  absl::StatusOr<TlsIdentity> found = ReadTlsIdentity(paths_);
  if (found.ok() && *found == current_) {
    complaint_.clear();
    return;
  }
  absl::Status status = found.status();
  if (status.ok() && found->ca_pem != current_.ca_pem) status = Show(found->ca_pem, shown_ca_);
  if (status.ok()) status = Show(absl::StrCat(found->cert_pem, "\n", found->key_pem), shown_identity_);
  if (!status.ok()) {
    const std::string complaint = absl::StrCat(
        "the TLS files have changed and are not good; the ones before stay in use: ", std::string(status.message()));
    // Once for each thing that is wrong, not twice a second. Files are often replaced one by one: what is wrong only
    // once is not reported.
    if (complaint == complaint_) return;
    complaint_ = complaint;
    log_(Level::kWarning, complaint);
    return;
  }
  current_ = *std::move(found);
  complaint_.clear();
  log_(Level::kInfo, absl::StrCat("the TLS files have changed and are used from now on; the certificate is good until ",
                                  FormatDay(current_.certificate.not_after_s)));
}

namespace {

// What the agent holds against a controller's certificate, for its log.
std::string FaultText(CertificateFault fault) {
  if (fault == CertificateFault::kExpired) return "its certificate has expired";
  if (fault == CertificateFault::kNotYetValid) return "its certificate is not yet valid: is a clock wrong?";
  return "its certificate is not for a controller (no client authentication)";
}

}  // namespace

AllowedCallers::AllowedCallers(const std::vector<std::string>& names) {
  for (const std::string& name : names) names_.insert(CanonicalName(name));
}

std::string AllowedCallers::WhyNot(const CertificateFacts& certificate, int64_t now_s) const {
  if (certificate.not_after_s <= now_s) return FaultText(CertificateFault::kExpired);
  if (certificate.not_before_s > now_s) return FaultText(CertificateFault::kNotYetValid);
  // OpenSSL accepts a certificate without a declared use; this agent does not.
  if (!certificate.client_auth) return FaultText(CertificateFault::kOtherPurpose);
  if (names_.empty()) return "";
  const bool allowed = std::any_of(certificate.names.begin(), certificate.names.end(),
                                   [&](const std::string& name) { return names_.count(CanonicalName(name)) > 0; });
  if (allowed) return "";
  return absl::StrCat("none of its names is among this agent's --allow (",
                      certificate.names.empty() ? "it has none" : PlainText(absl::StrJoin(certificate.names, ", ")),
                      ")");
}

grpc::Status CallerCheck::Process(const InputMetadata& /*metadata*/, grpc::AuthContext* context,
                                  OutputMetadata* /*consumed*/, OutputMetadata* /*response*/) {
  const auto found = context->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  const absl::StatusOr<CertificateFacts> certificate =
      found.empty() ? absl::StatusOr<CertificateFacts>(absl::UnauthenticatedError("no certificate"))
                    : ReadCertificate({found.front().data(), found.front().size()});
  if (!certificate.ok()) {
    refusals_->Add("a controller", "a controller", "its certificate cannot be read");
    return {grpc::StatusCode::UNAUTHENTICATED, "not trusted: the controller's certificate cannot be read"};
  }
  const int64_t now_s = clock_.WallNow().value / kNsPerSecond;
  const std::string why = allowed_.WhyNot(*certificate, now_s);
  if (why.empty()) return grpc::Status::OK;
  const std::string who = absl::StrCat("the controller ", PlainText(certificate->subject));
  refusals_->Add(who, who, why);
  if (certificate->not_after_s <= now_s || certificate->not_before_s > now_s) {
    return {
        grpc::StatusCode::UNAUTHENTICATED,
        absl::StrCat("not trusted: this controller's certificate is valid from ", FormatDay(certificate->not_before_s),
                     " to ", FormatDay(certificate->not_after_s), ", and the agent's clock shows ", FormatDay(now_s))};
  }
  return {grpc::StatusCode::PERMISSION_DENIED,
          certificate->client_auth
              ? absl::StrCat("not trusted: none of this controller's names (",
                             PlainText(absl::StrJoin(certificate->names, ", ")),
                             ") is among those that the agent was started with (--allow)")
              : std::string("not trusted: this controller's certificate is not for a client (extended key usage)")};
}

namespace {

using SteadyClock = std::chrono::steady_clock;

// One handshake, from the SSL object's making to its end. Touched by the thread that works on that object.
struct Attempt {
  Peer peer;
  std::shared_ptr<Refusals> refusals;
  std::chrono::milliseconds limit{};
  SteadyClock::time_point begun = SteadyClock::now();
  bool finished = false;
  // The first alert that we sent or received, and what OpenSSL held against the peer when we sent it.
  std::string sent;
  std::string received;
};

// Set while a connection is handed over on this thread.
thread_local const Attempt* handing_over = nullptr;

std::string ReasonFor(const SSL& ssl, const Attempt& attempt) {
  const long verified = SSL_get_verify_result(&ssl);
  switch (const CertificateFault fault = CertificateFaultOf(verified); fault) {
    case CertificateFault::kNone:
      break;
    case CertificateFault::kOtherAuthority:
      return "its certificate is not of this agent's CA (--tls-ca)";
    case CertificateFault::kOtherName:
    case CertificateFault::kOther:
      return absl::StrCat("its certificate: ", X509_verify_cert_error_string(verified));
    default:
      return FaultText(fault);
  }
  if (attempt.sent == "peer did not return a certificate") return "it has no certificate";
  if (attempt.sent == "unsupported protocol") return "its TLS is older than 1.2";
  if (!attempt.sent.empty()) return absl::StrCat("the TLS handshake failed: ", attempt.sent);
  if (!attempt.received.empty()) return absl::StrCat("it does not trust this agent's certificate: ", attempt.received);
  if (SteadyClock::now() - attempt.begun >= attempt.limit) {
    return absl::StrCat("no TLS handshake within ", attempt.limit.count() / 1000, " s");
  }
  return "it left during the TLS handshake";
}

// Takes OnMessage's place when the handshake is over. Not a null pointer: OpenSSL looks once and calls twice.
void IgnoreMessage(int, int, int, const void*, size_t, SSL*, void*) {}

// Sees every message of the handshake.
void OnMessage(int write_p, int /*version*/, int content_type, const void* buffer, size_t length, SSL* ssl,
               void* argument) {
  auto* attempt = static_cast<Attempt*>(argument);
  if (content_type == SSL3_RT_ALERT && length == 2 && attempt->sent.empty() && attempt->received.empty()) {
    const auto* alert = static_cast<const unsigned char*>(buffer);
    const std::string text = SSL_alert_desc_string_long(alert[1]);
    if (alert[1] != SSL_AD_CLOSE_NOTIFY) {
      const char* reason = write_p != 0 ? ERR_reason_error_string(ERR_peek_last_error()) : nullptr;
      (write_p != 0 ? attempt->sent : attempt->received) = reason == nullptr ? text : reason;
    }
  }
  if (SSL_is_init_finished(ssl) != 1) return;
  attempt->finished = true;
  // What follows is the session's data.
  SSL_set_msg_callback(ssl, IgnoreMessage);
}

void OnNew(void* parent, void* /*ptr*/, CRYPTO_EX_DATA* data, int index, long /*argl*/, void* /*argp*/) {
  if (handing_over == nullptr) return;
  auto* attempt = new Attempt(*handing_over);  // deleted by OnFree
  if (CRYPTO_set_ex_data(data, index, attempt) != 1) {
    delete attempt;
    return;
  }
  auto* ssl = static_cast<SSL*>(parent);
  SSL_set_msg_callback(ssl, OnMessage);
  SSL_set_msg_callback_arg(ssl, attempt);
  // Every connection makes a whole handshake, which looks at the certificate: none resumes an earlier one.
  SSL_set_options(ssl, SSL_OP_NO_TICKET);
  SSL_set_num_tickets(ssl, 0);
  SSL_CTX_set_session_cache_mode(SSL_get_SSL_CTX(ssl), SSL_SESS_CACHE_OFF);
}

void OnFree(void* parent, void* ptr, CRYPTO_EX_DATA* /*data*/, int /*index*/, long /*argl*/, void* /*argp*/) {
  const std::unique_ptr<Attempt> attempt(static_cast<Attempt*>(ptr));
  if (attempt == nullptr || parent == nullptr) return;
  const auto& ssl = *static_cast<const SSL*>(parent);
  if (attempt->finished || SSL_is_init_finished(&ssl) == 1) return;
  attempt->refusals->Add(attempt->peer.who, attempt->peer.name, ReasonFor(ssl, *attempt));
}

void Register() {
  static const int index = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nullptr, OnNew, nullptr, OnFree);
  static_cast<void>(index);
}

}  // namespace

HandshakeWatch::HandshakeWatch(const Peer& peer, std::shared_ptr<Refusals> refusals, int limit_ms) {
  Register();
  handing_over =
      new Attempt{peer, std::move(refusals), std::chrono::milliseconds(limit_ms), SteadyClock::now(), false, "", ""};
}

HandshakeWatch::~HandshakeWatch() {
  delete handing_over;
  handing_over = nullptr;
}

}  // namespace plimsoll
