// Maps one agent's clock onto the controller's, with a bound on the error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

// A moment of the remote clock on the local one: the true moment is within [local_ns - error_ns, local_ns + error_ns].
struct MappedMoment {
  int64_t local_ns = 0;
  int64_t error_ns = 0;
};

// Offset of the remote clock (remote minus local) around a moment.
struct ClockOffset {
  int64_t offset_ns = 0;
  int64_t error_ns = 0;
};

// By how much the remote clock left the pace of the local one over a time.
struct ClockChange {
  // At least, all gains and all losses added up; losses that suspensions of the host explain are left out.
  int64_t gained_ns = 0;
  int64_t lost_ns = 0;
  // The largest change between two neighbouring exchanges, at least, and the time between these.
  int64_t largest_ns = 0;
  int64_t largest_within_ns = 0;
  // How many of the times between two exchanges the clock was off its pace, and how many there were.
  uint64_t off_pace = 0;
  uint64_t intervals = 0;
  // From the first of these exchanges to the last: its length, what `max_slew_ppm` allows for it, and by how much the
  // remote clock gained (an estimate).
  int64_t length_ns = 0;
  int64_t allowed_ns = 0;
  int64_t net_ns = 0;
};

// Takes exchanges in the order of local_sent_ns, and maps any moment.
//
// Guarantee: the true offset is within the stated bound at every moment between the return of the first exchange and
// the sending of the last, as long as the rates of the two clocks differ by at most `max_slew_ppm`, apart from steps.
// Steps may have any size and occur at any moment, but at most one between two neighbouring exchanges that are kept
// (one within an exchange counts for both sides of it). Before the first exchange and after the last the bound grows
// with the slew, and holds unless a step occurs there or in the adjacent burst.
//
// The bound for a moment is the hull of the bounds of the exchanges before and after it, each widened by the slew: at
// least one of the two holds. The estimate inside the bound also uses the exchanges around these in the segment: it is
// a line between neighbouring exchanges, and is monotonic except at a step. Exchanges whose bounds cannot both hold
// start a new segment: a step is never averaged.
//
// Kept are the first exchange, the last one, and between them one of each burst (50 ms), the one with the least round
// trip. Delayed exchanges, such as those of a suspended host, are dropped: those whose bound is more than twice as wide
// as the one that their two neighbours give there, if these are at most 120 s apart without a step between them. Beyond
// 65,536 exchanges (72 bytes each) only the one with the least round trip in each span of time is kept; all spans have
// the same length, which doubles whenever there would still be too many (3.2 s after a day of ten probes a second). Add
// takes constant time on average, a query O(log kept), 0.2 to 1 us: to map millions of moments, map the ends of short
// sections and interpolate. Not thread-safe, but several threads may query at the same time.
class ClockFit {
 public:
  // max_slew_ppm is in [0, 500000]: at most half the rate of the local clock.
  explicit ClockFit(double max_slew_ppm);

  // The remote clock is the local one, read by another process on the same kernel. As long as each exchange allows it
  // (the remote side read its clock neither before the sending nor after the return), the offset is zero, with no
  // error; the first exchange that contradicts it ends this for all moments. Takes effect only before the first Add.
  void AssumeSame() { same_ = kept_.empty(); }
  // Whether that holds, by at least one exchange.
  bool same() const { return same_ && !kept_.empty(); }

  // Exchanges that contradict themselves (received before sent, a negative round trip), that come out of order, or are
  // more than 18 years from the first one, are ignored and counted.
  void Add(const ClockExchange& exchange);

  bool empty() const { return kept_.empty(); }
  // Offset at a moment of the local clock. Without an exchange: offset 0, error_ns INT64_MAX.
  ClockOffset OffsetAtLocal(int64_t local_ns) const;
  // The remote moment on the local clock. Where the remote clock stepped back and passed the moment twice, the bound
  // includes both. Without any exchange: the moment itself, error_ns INT64_MAX.
  MappedMoment ToLocal(int64_t remote_ns) const;
  // The local moment on the remote clock (the estimate; its error is OffsetAtLocal's).
  int64_t ToRemote(int64_t local_ns) const;

  // From the last exchange before `from_ns` of the local clock to the first one after `to_ns`, as far as there are any.
  // Holds for any course of the clock that these exchanges allow. `paused_within` returns for how long the host reports
  // to have been suspended between two moments of the remote clock.
  ClockChange ChangeOver(int64_t from_ns, int64_t to_ns,
                         const std::function<int64_t(int64_t from_ns, int64_t to_ns)>& paused_within) const;

  // How much of the time from `from_ns` to `to_ns` of the local clock lies before the first exchange or after the last
  // one: nothing is known of the clock's speed there.
  int64_t UnseenNs(int64_t from_ns, int64_t to_ns) const;

  // The local moments before which the clock had stepped, by more than the bounds hide.
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
    // Weight in estimates: the narrower the bound, the larger.
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
  // Intersects the exchange's bound with those of its segment; true if it cannot belong to that segment.
  bool Stepped(const Kept& exchange);
  // Drops the exchange before the open one where it was delayed: both its neighbours are final.
  void DropDelayed();
  // Files the section between the two exchanges before `next` for ToLocal.
  void Settle(size_t next);
  void Thin();
  // Keeps only the best exchange of a segment in each span, counted from the first exchange; the first exchange and the
  // last two stay.
  void KeepOneOfEach(int64_t span_ns);

  std::ptrdiff_t SectionOf(int64_t local_ns) const;
  void Widen(Bounds& bounds, const Kept& exchange, int64_t local_ns) const;
  Bounds Hull(const Section& section) const;
  Section Whole(std::ptrdiff_t after, int64_t remote_ns) const;
  Section Earliest(int64_t remote_ns) const;
  Section Latest(int64_t remote_ns) const;
  // The part of a section that can have been `remote_ns` on the remote clock.
  Section Narrow(Section section, int64_t remote_ns) const;
  Line LineAt(size_t index) const;
  int64_t EstimateAt(size_t index) const;
  int64_t Estimate(int64_t local_ns) const;

  int64_t slew_ppb_;
  bool same_ = false;
  uint64_t ignored_ = 0;
  int64_t min_round_trip_ns_ = 0;
  std::vector<int64_t> steps_;
  // The first exchange on each clock: where all moments and offsets below count from.
  int64_t local_origin_ns_ = 0;
  int64_t remote_origin_ns_ = 0;
  // In the order of sent_ns. Exchanges before open_ - 1 are settled; open_ is the best of the burst that may continue;
  // the last exchange follows it if it is not the best.
  std::vector<Kept> kept_;
  size_t open_ = 0;
  bool burst_open_ = false;
  int64_t burst_from_ns_ = 0;
  size_t max_kept_;
  // Thin keeps one exchange of each span of this length.
  int64_t span_ns_ = 200'000'000;
  // Ascending in both members: the settled sections after which the remote clock stays above floor_ns.
  std::vector<Floor> floors_;
  // The intersection of all bounds of the segment, as if it were one exchange at these moments.
  Kept seen_;
};

}  // namespace plimsoll
