// Maps one agent's clock onto the controller's, with a bound on the error.
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

// One four-timestamp exchange: local clock at sending and receiving, remote clock at receiving and sending (NTP, RFC
// 5905 section 8; only the bound is used, never the assumption that both ways take equally long).
struct ClockExchange {
  int64_t local_sent_ns = 0;
  int64_t remote_received_ns = 0;
  int64_t remote_sent_ns = 0;
  int64_t local_received_ns = 0;
};

// A moment of the remote clock on the local one: truth lies within [local_ns - error_ns, local_ns + error_ns].
struct MappedMoment {
  int64_t local_ns = 0;
  int64_t error_ns = 0;
};

// Offset of the remote clock (remote minus local) around a moment.
struct ClockOffset {
  int64_t offset_ns = 0;
  int64_t error_ns = 0;
};

// Takes exchanges in the order of local_sent_ns and answers for any moment, also before the first and after the last
// exchange (with a bound that grows).
//
// What is promised: as long as the two clocks part by at most `max_slew_ppm`, apart from steps (of any size, at most
// one between two exchanges that are kept), the true offset lies within the stated bound at every moment from the first
// exchange to the last. The estimate inside the bound uses all exchanges of a segment; the bound uses only what holds
// even if the clock stepped between neighbouring exchanges. Exchanges whose bounds cannot both hold start a new
// segment: a step is never averaged. Not thread-safe.
class ClockFit {
 public:
  explicit ClockFit(double max_slew_ppm) : max_slew_ppm_(max_slew_ppm) {}

  // Exchanges that contradict themselves (received before sent) are ignored and counted.
  void Add(const ClockExchange& exchange);

  bool empty() const { return kept_.empty(); }
  // Offset at a moment of the local clock. Without any exchange: error_ns is INT64_MAX.
  ClockOffset OffsetAtLocal(int64_t local_ns) const;
  // The remote moment on the local clock.
  MappedMoment ToLocal(int64_t remote_ns) const;
  // The local moment on the remote clock (the estimate; its error is OffsetAtLocal's).
  int64_t ToRemote(int64_t local_ns) const;

  // How often the clock stepped, and the local moments before which it had done so.
  const std::vector<int64_t>& steps_local_ns() const { return steps_; }
  // Rate at which the remote clock gains on the local one over the last segment, parts per million; 0 where the segment
  // is shorter than one second.
  double DriftPpm() const;
  // Smallest round trip seen, without the time that the remote side held the probe; 0 where there is none.
  int64_t MinRoundTripNs() const;
  uint64_t ignored() const { return ignored_; }

 private:
  struct Kept;
  double max_slew_ppm_;
  uint64_t ignored_ = 0;
  std::vector<int64_t> steps_;
  std::vector<Kept> kept_;
};

}  // namespace plimsoll
