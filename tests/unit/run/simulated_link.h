// A host's network connection in virtual time, as TCP behaves on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "common/units.h"
#include "tests/virtual_clock.h"

namespace plimsoll::tests {

// Two directions, each in order. What is sent while packets are dropped is retransmitted: after 200 ms, 400 ms more,
// 800 ms more and so on, so that after a cut the connection resumes only when the next retransmission is due. Where
// only the acknowledgements are dropped, what is sent before the first retransmission still arrives. What was on its
// way at the moment of a cut arrives.
class SimulatedLink {
 public:
  enum Direction : uint8_t { kToAgent = 0, kToController = 1 };

  SimulatedLink(VirtualClock& clock, int64_t delay_ns) : clock_(clock), delay_ns_(delay_ns) {}

  // `arrive` happens when all of the message is there.
  void Send(Direction direction, size_t bytes, std::function<void()> arrive) {
    Way& way = ways_[direction];
    const int64_t now_ns = clock_.Now().value;
    if (!way.waiting.empty() || way.dropping || IsStuck(direction, now_ns)) {
      if (way.waiting.empty() && !way.unacknowledged_ns) way.unacknowledged_ns = now_ns;
      way.waiting.push_back({bytes, std::move(arrive)});
      return;
    }
    Carry(way, bytes, std::move(arrive));
  }

  // Packets of the direction are dropped, until Restore.
  void Drop(Direction direction) { ways_[direction].dropping = true; }
  void Restore() {
    for (Way& way : ways_) way.dropping = false;
    for (Way& way : ways_) {
      if (!way.waiting.empty()) {
        const int64_t resumes_ns = NextRetransmission(*way.unacknowledged_ns);
        resumes_ns_ = std::max(resumes_ns_, resumes_ns);
        clock_.At({resumes_ns}, [this, &way] { Resume(way); });
      } else {
        way.unacknowledged_ns.reset();
      }
    }
  }
  // Whether a new connection could be made.
  bool up() const { return !ways_[kToAgent].dropping && !ways_[kToController].dropping; }
  // When the connection carries again what had to be retransmitted.
  int64_t resumes_ns() const { return resumes_ns_; }

  // How many bytes a second a direction takes; 0: any.
  void SetRate(Direction direction, int64_t bytes_per_s) { ways_[direction].bytes_per_s = bytes_per_s; }
  int64_t round_trip_ns() const { return 2 * delay_ns_; }

 private:
  static constexpr int64_t kFirstRetransmissionNs = 200 * kNsPerMs;

  struct Message {
    size_t bytes = 0;
    std::function<void()> arrive;
  };
  struct Way {
    bool dropping = false;
    int64_t bytes_per_s = 0;
    // When all that was sent before has left.
    int64_t free_ns = 0;
    // The first message that no acknowledgement came for.
    std::optional<int64_t> unacknowledged_ns;
    std::deque<Message> waiting;
  };

  // Whether the direction waits for acknowledgements that are dropped.
  bool IsStuck(Direction direction, int64_t now_ns) {
    if (!ways_[direction == kToAgent ? kToController : kToAgent].dropping) return false;
    Way& way = ways_[direction];
    if (!way.unacknowledged_ns) way.unacknowledged_ns = now_ns;
    return now_ns >= *way.unacknowledged_ns + kFirstRetransmissionNs;
  }

  int64_t NextRetransmission(int64_t first_ns) const {
    int64_t wait_ns = kFirstRetransmissionNs;
    int64_t moment_ns = first_ns + wait_ns;
    while (moment_ns < clock_.Now().value) moment_ns += wait_ns *= 2;
    return moment_ns;
  }

  void Resume(Way& way) {
    if (way.dropping) return;
    way.unacknowledged_ns.reset();
    for (Message& message : std::exchange(way.waiting, {})) Carry(way, message.bytes, std::move(message.arrive));
  }

  void Carry(Way& way, size_t bytes, std::function<void()> arrive) {
    way.free_ns = std::max(way.free_ns, clock_.Now().value);
    if (way.bytes_per_s > 0) way.free_ns += static_cast<int64_t>(bytes) * kNsPerSecond / way.bytes_per_s;
    clock_.At({way.free_ns + delay_ns_}, std::move(arrive));
  }

  VirtualClock& clock_;
  const int64_t delay_ns_;
  Way ways_[2];
  int64_t resumes_ns_ = 0;
};

}  // namespace plimsoll::tests
