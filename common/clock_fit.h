// Maps one agent's clock onto the controller's, with a bound on the error.
#pragma once

#include <cstddef>
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

// Takes exchanges in the order of local_sent_ns and answers for any moment.
//
// What is promised: the true offset lies within the stated bound at every moment between the return of the first
// exchange and the sending of the last, as long as the rates of the two clocks differ by at most `max_slew_ppm` apart
// from steps: of any size, at any moment, at most one between two neighbouring exchanges that are kept (one that falls
// into an exchange counts for both sides of it). Before the first exchange and after the last the bound grows with the
// slew, and holds as long as no step comes in there or in the burst next to it.
//
// The bound for a moment is the hull of what the exchange before it and the one after it allow, each for itself and
// widened by the slew: one of the two still, or already, holds. Only the estimate inside the bound uses more exchanges,
// those around it in its segment: it is a line between neighbouring exchanges, and turns over nowhere but at a step.
// Exchanges whose bounds cannot both hold start a new segment: a step is never averaged.
//
// What is kept: the first exchange, the last one, and in between one a burst (50 ms), that with the least round trip.
// Of those an exchange goes that was delayed, as by a suspended host: one whose bound is more than twice as wide
// as what its two neighbours, at most 120 s apart and without a step seen between them, allow there by themselves. Of
// more than 65,536 (72 bytes each) one stays of each span of time, that with the least round trip: the spans are
// equally long over all of the history, and twice as long whenever there would still be too many of them (3.2 s after a
// day of ten probes a second). Add takes constant time on average, a question O(log kept), 0.2 to 1 us: whoever maps
// millions of moments maps the ends of a short section and divides it. Not thread-safe, but questions alone may be
// asked by several threads at once.
class ClockFit {
 public:
  // Half the rate of the local clock is the most that can be allowed for: max_slew_ppm in [0, 500000].
  explicit ClockFit(double max_slew_ppm);

  // Exchanges that contradict themselves (received before sent, a negative round trip), that come out of order, or lie
  // more than 18 years from the first one are ignored and counted.
  void Add(const ClockExchange& exchange);

  bool empty() const { return kept_.empty(); }
  // Offset at a moment of the local clock. Without any exchange: offset 0, error_ns INT64_MAX.
  ClockOffset OffsetAtLocal(int64_t local_ns) const;
  // The remote moment on the local clock. Where the remote clock stepped back and passed the moment twice, the bound
  // holds both. Without any exchange: the moment itself, error_ns INT64_MAX.
  MappedMoment ToLocal(int64_t remote_ns) const;
  // The local moment on the remote clock (the estimate; its error is OffsetAtLocal's).
  int64_t ToRemote(int64_t local_ns) const;

  // How often the clock stepped by more than the bounds hide, and the local moments before which it had done so.
  const std::vector<int64_t>& steps_local_ns() const { return steps_; }
  // Rate at which the remote clock gains on the local one over the last segment, parts per million; 0 where the segment
  // is shorter than one second.
  double DriftPpm() const;
  // Smallest round trip seen, without the time that the remote side held the probe; 0 where there is none.
  int64_t MinRoundTripNs() const { return min_round_trip_ns_; }
  uint64_t ignored() const { return ignored_; }
  size_t kept() const { return kept_.size(); }

 private:
  struct Bounds {
    int64_t low_ns = INT64_MAX;
    int64_t high_ns = INT64_MIN;
  };
  // One exchange: the offset is at most high_ns (plus slew since sent_ns), at least low_ns (less slew since
  // received_ns).
  struct Kept {
    int64_t sent_ns = 0;
    int64_t received_ns = 0;
    int64_t low_ns = 0;
    int64_t high_ns = 0;
    // No moment before the next exchange is later than this on the remote clock (filled in when that one is settled).
    int64_t reach_ns = INT64_MIN;
    // What it counts in estimates: the narrower, the more.
    double weight = 0;
    uint32_t segment = 0;
  };
  // From exchange `after` on, the remote clock is never again earlier than floor_ns.
  struct Floor {
    int64_t floor_ns = 0;
    size_t after = 0;
  };
  // A line through the exchanges around one of them.
  struct Line {
    double offset_ns = 0;  // at its sent_ns, relative to base_ns
    double slope = 0;
    int64_t base_ns = 0;
  };
  // A section of the local clock: from the sending of exchange `after` (-1: from before the first) to that of the next.
  struct Section {
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    std::ptrdiff_t after = -1;
  };

  bool Usable(const ClockExchange& exchange) const;
  int64_t Slack(int64_t duration_ns) const;
  static int64_t WidthNs(const Kept& exchange) { return exchange.high_ns - exchange.low_ns; }
  static int64_t MiddleNs(const Kept& exchange) { return exchange.low_ns + WidthNs(exchange) / 2; }
  // Takes the exchange into the running intersection of its segment; true where it cannot be of that segment.
  bool Stepped(const Kept& exchange);
  // Drops the exchange before the open one where it was delayed: both its neighbours are final.
  void DropDelayed();
  // Files the section between the two exchanges before `next` for ToLocal.
  void Settle(size_t next);
  void Thin();
  // Of the exchanges of one segment in each span, counted from the first exchange, only the best; the first exchange
  // and the last two stay.
  void KeepOneOfEach(int64_t span_ns);

  std::ptrdiff_t SectionOf(int64_t local_ns) const;
  void Widen(Bounds& bounds, const Kept& exchange, int64_t local_ns) const;
  Bounds Hull(const Section& section) const;
  Section Whole(std::ptrdiff_t after, int64_t remote_ns) const;
  Section Earliest(int64_t remote_ns) const;
  Section Latest(int64_t remote_ns) const;
  // What of a section can have been `remote_ns` on the remote clock.
  Section Narrow(Section section, int64_t remote_ns) const;
  Line LineAt(size_t index) const;
  int64_t EstimateAt(size_t index) const;
  int64_t Estimate(int64_t local_ns) const;

  int64_t slew_ppb_;
  uint64_t ignored_ = 0;
  int64_t min_round_trip_ns_ = 0;
  std::vector<int64_t> steps_;
  // The first exchange on each clock: where all moments and offsets below count from.
  int64_t local_origin_ns_ = 0;
  int64_t remote_origin_ns_ = 0;
  // In the order of sent_ns. Those before open_ - 1 are settled; open_ is the best of the burst that may go on; one
  // behind it is the last exchange, where that is not the best.
  std::vector<Kept> kept_;
  size_t open_ = 0;
  bool burst_open_ = false;
  int64_t burst_from_ns_ = 0;
  size_t max_kept_;
  // Of which Thin keeps one exchange each.
  int64_t span_ns_ = 200'000'000;
  // Ascending in both members: the settled sections after which the remote clock stays above floor_ns.
  std::vector<Floor> floors_;
  // What all exchanges of the segment together allow, as if they were one exchange at these moments.
  Kept seen_;
};

}  // namespace plimsoll
