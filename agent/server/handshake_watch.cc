#include "agent/server/handshake_watch.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/tls/openssl.h"

namespace plimsoll {
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
  switch (const long verified = SSL_get_verify_result(&ssl); verified) {
    case X509_V_OK:
      break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is not yet valid: is a clock wrong?";
    case X509_V_ERR_INVALID_PURPOSE:
      return "its certificate is not for a controller (no client authentication)";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "its certificate is not of this agent's CA (--tls-ca)";
    default:
      return absl::StrCat("its certificate: ", X509_verify_cert_error_string(verified));
  }
  if (attempt.sent == "peer did not return a certificate") return "it has no certificate";
  if (attempt.sent == "unsupported protocol") return "it speaks no TLS that is new enough (1.2 and up)";
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
