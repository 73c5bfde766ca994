// The HTTP server of `--metrics`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace plimsoll {

// Answers `GET /metrics` with a text, and anything else with 404.
//
// It listens from Listen on, and answers from Serve on, on one thread of its own with a low priority. What clients may
// do is bounded: a request has 8 KiB at most and 5 s to arrive, an answer 30 s to be read, and of more than 16
// connections the oldest is closed.
class MetricsServer {
 public:
  // `where`: "PORT", or "ADDRESS:PORT" with an IPv4 address, or an IPv6 address in brackets. Without an address
  // loopback; with port 0 any free port. INVALID_ARGUMENT for what is not of this form, and the system's error where it
  // cannot listen there.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(const std::string& where);

  // Returns once the thread has ended.
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // "http://127.0.0.1:9101/metrics".
  std::string url() const;

  // Starts to answer; does nothing where it answers already. `text` is called on the server's thread, once for all
  // requests of 200 ms.
  void Serve(std::function<std::string()> text);

 private:
  class Loop;
  explicit MetricsServer(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace plimsoll
