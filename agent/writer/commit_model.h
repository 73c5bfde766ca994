// What a queue manager's log would write: which commits leave with which write, and how long each of them waits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/writer/pattern_cursor.h"
#include "agent/writer/rate_schedule.h"
#include "common/load_pattern.h"

namespace plimsoll {

// Bytes that a queue manager logs for one operation beside the message: IBM MQ documentation, "Calculating the size of
// the log".
inline constexpr uint64_t kLogPutBytes = 750;     // persistent put, plus the message
inline constexpr uint64_t kLogGetBytes = 260;     // get of a persistent message
inline constexpr uint64_t kLogCommitBytes = 750;  // commit of a unit of work

// Commits of one round trip of IBM's workload: the requester commits its put, the responder its get and its put of a
// reply of the same length, the requester its get (mqio_v1, pages 7 and 41; MQ-CPH works in syncpoint).
inline constexpr uint64_t kCommitsPerTrip = 3;

// Size of a page of the log and of its buffer: IBM MQ documentation, LogFilePages and LogBufferPages.
inline constexpr uint64_t kLogPageBytes = 4096;
static_assert(kLogPageBytes == kPatternPageBytes);

// Load of one writer's log: clients, or recorded writes. Clients take turns at the round trip's three commits, each
// beginning with one at random.
struct CommitLoad {
  uint32_t clients = 1;
  // Of every message.
  uint64_t message_bytes = 0;
  // Closed loop: mean of the exponentially distributed time from the end of a client's commit to its next one.
  int64_t think_ns = 0;
  // Open loop: commits per second of all clients together, at random; 0: closed loop.
  double rate_per_second = 0;
  // Pages that a write has at most.
  uint64_t buffer_pages = 512;
  // Pages of an extent: no write goes beyond its extent.
  uint64_t extent_pages = 0;
  // A partly filled page is written elsewhere before it is overwritten (TripleWrite).
  bool copies_partial_pages = true;
  // Recorded writes in place of clients, which do not wait for one another; null: clients. Each is one commit of whole
  // pages, so that no page is written partly filled, and nothing is copied.
  std::shared_ptr<const LoadPattern> pattern = nullptr;
  // How many times faster than recorded they arrive; 0: clients.
  double load_factor = 0;
  // A write holds one recorded write, or its part in the extent, and never several of them; buffer_pages are then those
  // of the largest one. Otherwise they gather as commits do.
  bool one_by_one = false;
  // Equal keys give the same commits.
  struct Key {
    uint32_t seed = 0;
    uint32_t host = 0;    // number of the host in the run, from 0
    uint32_t writer = 0;  // of the host, from 1
    bool operator==(const Key&) const = default;
  };
  Key key;
  bool operator==(const CommitLoad&) const = default;
  // Whether recorded writes are played.
  bool plays() const { return load_factor > 0; }
};

// The log as a stream of records. One write is outstanding at a time; what arrives meanwhile leaves with the next one.
//
// A write that follows another directly, because commits waited for it, ends with the last full page if there is one:
// the rest of its last page is filled by the commits to come, and leaves with them. Any other write takes everything
// that has arrived, and leaves its last page partly filled. The next write begins with that page. With
// copies_partial_pages, a write of one page goes before it, which holds the copy. This is what IBM's own figures show:
// its log writes 3.99 bytes for each byte logged with one requester, 1.08 with twelve, and 1.000005 with sixty that
// send 200 KiB (mqio_v1, pages 37 and 38). docs/group-commit.md compares the model with them.
//
// Recorded writes arrive at their moments (see PatternCursor), and leave as commits of an open loop do. They are whole
// pages, so that the rules for partly filled ones have nothing to do.
//
// Only the ends of the writes enter: a copy of the model that is fed with the same ends reaches the same state. So the
// writer runs one copy to know what to write, and the recorder another one to know what each write held and which
// commits it completed. Allocates nothing after its construction. Not thread-safe.
class CommitModel {
 public:
  CommitModel(const CommitLoad& load, int64_t start_ns);

  struct Write {
    // Number of its first page in the log, from 0, and how many pages it has.
    uint64_t first_page = 0;
    uint64_t pages = 0;
    // It holds a copy of that page, and goes elsewhere.
    bool is_copy = false;
  };
  struct Commit {
    int64_t arrived_ns = 0;
    // From its arrival to the end of the write that holds its last byte.
    int64_t latency_ns = 0;
    // Of its records.
    uint64_t bytes = 0;
  };

  // When the next write may start: at the end of the one before if commits wait, otherwise when the next one arrives.
  int64_t NextStart() const {
    if (in_copy_) return previous_end_ns_;
    return AnyWaits() ? previous_end_ns_ : NextArrivalNs();
  }

  // Returns what the next write holds, which is settled at NextStart(). It must end before the next call.
  Write Begin();

  // The write ended. Calls `take(const Commit&)` for each commit that it completed, in the order of their arrivals.
  template <typename Take>
  void End(int64_t end_ns, Take&& take) {
    previous_end_ns_ = end_ns;
    if (write_.is_copy) return;
    in_copy_ = false;
    durable_bytes_ = stop_bytes_;
    while (waiting_ > 0) {
      const Commit commit = Front();
      if (front_bytes_ > durable_bytes_) break;
      Complete(end_ns);
      take(Commit{commit.arrived_ns, end_ns - commit.arrived_ns, commit.bytes});
    }
  }

  // In an open loop, calls `take(int64_t arrived_ns)` for each commit that has arrived before `end_ns` and was not
  // completed, in the order of their arrivals.
  template <typename Take>
  void ForEachWaiting(int64_t end_ns, Take&& take) const {
    if (completed_writes_) {
      for (PatternCursor next = *completed_writes_; next.moment_ns() < end_ns; next.Advance()) take(next.moment_ns());
    } else if (completed_arrivals_) {
      for (uint64_t number = appended_ - waiting_;; ++number) {
        const int64_t arrived_ns = start_ns_ + completed_arrivals_->At(number);
        if (arrived_ns >= end_ns) break;
        take(arrived_ns);
      }
    }
  }

  // Bytes logged so far, without what pages are padded with.
  uint64_t durable_bytes() const { return durable_bytes_; }

  // Bytes of the records of commit `number` of a round trip, from 0.
  static uint64_t RecordBytes(uint64_t number, uint64_t message_bytes);

 private:
  struct Arrival {
    int64_t at_ns = 0;
    uint32_t client = 0;
  };
  // Orders a heap whose first entry is the earliest arrival.
  static bool IsLater(const Arrival& a, const Arrival& b) {
    return a.at_ns != b.at_ns ? a.at_ns > b.at_ns : a.client > b.client;
  }

  // Whether commits arrive without waiting for one another.
  bool IsOpenLoop() const { return appended_arrivals_.has_value() || appended_writes_.has_value(); }
  // When the next commit that is not in the buffer arrives.
  int64_t NextArrivalNs() const {
    if (appended_writes_) return appended_writes_->moment_ns();
    return appended_arrivals_ ? start_ns_ + appended_arrivals_->At(appended_) : arrivals_.front().at_ns;
  }
  bool AnyWaits() const { return waiting_ > 0 || NextArrivalNs() < previous_end_ns_; }
  uint64_t BytesOf(uint32_t client) const { return record_bytes_[commit_of_client_[client]]; }
  // Puts the next arrival into the buffer.
  void Append();
  // The commit that has waited longest, and in front_bytes_ where its last byte lies.
  Commit Front();
  // Removes that commit; its client thinks, and commits again.
  void Complete(int64_t end_ns);
  int64_t ThinkNs(uint32_t client);

  const CommitLoad load_;
  const int64_t start_ns_;
  const uint64_t key_;
  uint64_t record_bytes_[kCommitsPerTrip];

  int64_t previous_end_ns_;
  // Logged, in the buffer, and where the write that is under way ends: places in the stream.
  uint64_t durable_bytes_ = 0;
  uint64_t appended_bytes_ = 0;
  uint64_t stop_bytes_ = 0;
  uint64_t front_bytes_ = 0;
  Write write_;
  // The copy is written, or being written; the write proper follows.
  bool in_copy_ = false;

  // Commits in the buffer, whose number among all is `appended_` - `waiting_` for the first one.
  uint64_t waiting_ = 0;
  uint64_t appended_ = 0;

  // Closed loop: a heap of the clients' next commits, a ring of those in the buffer, and for each client its next
  // commit within a round trip and how often it has thought.
  std::vector<Arrival> arrivals_;
  std::vector<Arrival> in_buffer_;
  std::vector<uint8_t> commit_of_client_;
  std::vector<uint64_t> thoughts_;
  // Open loop: arrivals are a function of their number. Two copies, each walked in order.
  std::optional<PoissonArrivals> appended_arrivals_;
  std::optional<PoissonArrivals> completed_arrivals_;
  // Playback: the recorded writes, walked as arrivals are.
  std::optional<PatternCursor> appended_writes_;
  std::optional<PatternCursor> completed_writes_;
  uint64_t first_commit_ = 0;
};

}  // namespace plimsoll
