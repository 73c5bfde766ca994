// Folds the frames of a step by their age.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "common/units.h"
#include "controller/fold/folded_frame.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

struct FoldRules {
  // The run's frame interval; divides one second.
  int64_t interval_ns = 250 * kNsPerMs;
  // The plan's shortest stall; 0: the plan sets none.
  int64_t stall_ns = 0;
  // Frames that begin before this second of the measured part, and those of the warm-up, stay as they are: a multiple
  // of 60.
  int64_t whole_seconds = 3'600;
  // A second is settled, which means that it is folded or stays whole, when every writer has passed its end by so many
  // seconds.
  int64_t settle_seconds = 10;
  // Seconds that begin up to so many seconds before or after the one in which a stall begins or ends stay whole, with
  // the frames of all writers. Fewer than settle_seconds.
  int64_t around_stall_seconds = 3;
  // At most so many seconds of each hour of the step do: more stalls leave no more frames whole.
  int64_t most_whole_of_hour = 60;
  // No writer of the step gets to this second: frames that begin there stay as they are, and stalls there are no
  // stalls. It bounds what an agent can make a fold keep.
  int64_t end_second = INT64_MAX;
};

// The second of the measured part in which the frame begins; 0 or negative in the warm-up.
int64_t SecondOf(const v1::Frame& frame, const FoldRules& rules);
// Whether a fold keeps the frame until its second is settled; it gives out any other one at once.
bool WaitsToBeFolded(const v1::Frame& frame, const FoldRules& rules);

// Takes the frames of a step and gives them on, first those that stay whole at once, then the others second by second.
// Each operation of a writer has one folded frame a minute, or several around seconds that stay whole, and around
// frames that cannot be folded (CanFold).
//
// What comes out after the first hour is a function of each writer's frames alone: neither of the order in which those
// of several writers arrive, nor of how many come at once. A second of the step has the same number for all hosts. A
// fold that stopped after any minute continues where it was, with the frames that it gave out (Restore, Resume) and the
// frames that it had not settled (Take). That holds as long as the frames of one writer come in order, and those of its
// further operations no later than settle_seconds behind those of its first.
//
// Memory: the frames of the last settle_seconds, longer while a host is silent and not yet lost; a histogram for each
// operation of a writer. Not thread-safe.
class StepFold {
 public:
  using Emit = std::function<void(uint32_t host, v1::Frame&& frame)>;

  // What Resume needs to know of the minutes that are over.
  struct Mark {
    // All seconds below it are settled, and given out; a multiple of 60.
    int64_t settled_seconds = 0;
    // How many seconds of the hour that holds that second stayed whole because a stall was near.
    int64_t whole_of_hour = 0;
    bool operator==(const Mark&) const = default;
  };

  // `emit` is called within Take, Leave and Finish.
  StepFold(const FoldRules& rules, Emit emit);

  // The writers `qms` of the host take part, from 1. `measured_start_ns`: start of the measured part in the host's
  // clock.
  void Expect(uint32_t host, const std::vector<uint32_t>& qms, int64_t measured_start_ns);
  // The next frame of the host, as its agent sent it.
  void Take(uint32_t host, v1::Frame frame);
  // The host sends nothing more: no second waits for it. Called for hosts that are lost or done.
  void Leave(uint32_t host);
  // No host sends anything more: gives out all that is left.
  void Finish();

  // Before the first Take: a frame that an earlier fold of this step gave out, in their order; and then where that one
  // was.
  void Restore(uint32_t host, const v1::Frame& frame);
  void Resume(const Mark& mark);

  // Called after each minute that was given out, from within the calls above. Default: none.
  void OnMinute(std::function<void(const Mark& mark)> on_minute) { on_minute_ = std::move(on_minute); }

 private:
  struct Key {
    uint32_t host = 0;
    uint32_t qm = 0;
    uint32_t operation = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Stream {
    explicit Stream(int64_t intervals_per_second) : folded(intervals_per_second) {}
    FoldedFrame folded;
    // Median of the last folded frame with writes.
    int64_t usual_ns = 0;
  };
  struct Host {
    int64_t measured_start_ns = 0;
    // Number of the first second that a writer has not passed.
    std::map<uint32_t, int64_t> passed;
    // It sends nothing more.
    bool left = false;
  };

  Stream& StreamOf(const Key& key) { return streams_.try_emplace(key, intervals_per_second_).first->second; }
  // Notes the stalls that the frame reports. `first_second`: with the frame of that second they were known.
  void NoteStalls(const Key& key, const v1::Frame& frame, int64_t first_second);
  void NoteStall(const Key& key, int64_t moment_ns, int64_t longest_ns, int64_t first_second);
  void NotePassed(const Key& key, const v1::Frame& frame);
  bool StallIsNear(int64_t second) const;
  // Settles all seconds below that one.
  void SettleBelow(int64_t second);
  void SettlePassed();
  void SettleSecond(int64_t second, std::map<Key, std::vector<v1::Frame>>& frames);
  // The minute that was settled last is over where `second` is in a later one.
  void CloseMinute(int64_t second);
  void CloseFolded(const Key& key, Stream& stream);

  const FoldRules rules_;
  const Emit emit_;
  const int64_t intervals_per_second_;
  std::function<void(const Mark& mark)> on_minute_;
  std::map<uint32_t, Host> hosts_;
  std::map<Key, Stream> streams_;
  // Frames that wait, by the second in which they begin.
  std::map<int64_t, std::map<Key, std::vector<v1::Frame>>> waiting_;
  // By second near the begin or the end of a possible stall: the longest one of each writer.
  std::map<int64_t, std::map<Key, int64_t>> near_;
  // Seconds below it are settled.
  int64_t settled_;
  // The hour that whole_of_hour_ counts in, and the minute that is not given out yet.
  int64_t hour_ = 0;
  int64_t whole_of_hour_ = 0;
  int64_t minute_;
};

}  // namespace plimsoll
