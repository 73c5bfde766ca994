// Tells of TLS handshakes that fail inside gRPC, which says neither who failed nor why.
#pragma once

#include <memory>

#include "agent/server/peer.h"
#include "agent/server/refusals.h"

namespace plimsoll {

// gRPC makes the SSL object of a connection on the thread that hands the connection over. OpenSSL calls whoever asked
// (CRYPTO_get_ex_new_index) when an SSL object is made and when it goes, and shows him each alert: that ties peer,
// alert and end together. Every handshake that ends unfinished becomes one refusal.
class HandshakeWatch {
 public:
  // While it lives, an SSL object made on this thread belongs to `peer`. Handshakes that have not ended by `limit_ms`
  // are taken to have been ended for that.
  HandshakeWatch(const Peer& peer, std::shared_ptr<Refusals> refusals, int limit_ms);
  ~HandshakeWatch();
  HandshakeWatch(const HandshakeWatch&) = delete;
  HandshakeWatch& operator=(const HandshakeWatch&) = delete;
};

}  // namespace plimsoll
