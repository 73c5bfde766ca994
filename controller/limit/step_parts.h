// How sure a step's percentiles are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "controller/plan/criteria.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// The share of writes beyond a criterion's limit, in the place where most are.
struct BeyondShare {
  // As measured, and the bounds of its confidence interval. Each of them is wrong with a chance of at most 1 %.
  double measured = 0;
  double low = 0;
  double high = 1;
  // How many may be beyond.
  double allowed = 0;
};

// The bounds are those of independent writes (Wilson's), of which a step has fewer than writes: those beyond the limit
// come in bursts, as one slow write delays the next ones. How much fewer shows in equal parts of the step, whose shares
// differ more than independent writes would let them (batch means).
//
// Takes a step's frames, and keeps 20 to 40 numbers of each writer for each criterion, however long the step is. Not
// thread-safe.
class StepParts {
 public:
  // Percentiles with an upper limit; the others of `criteria` are left out.
  explicit StepParts(const std::vector<Criterion>& criteria);

  // Of the measured time. The host is known to have that writer.
  void Add(uint32_t host, const v1::Frame& frame);

  // Of a criterion by its text, over `measured_ns`; nothing where the criterion is none of a percentile, or nothing was
  // measured. `storages`: that of each host, by its number.
  std::optional<BeyondShare> ShareOf(const std::string& criterion, int64_t measured_ns,
                                     const std::map<uint32_t, uint32_t>& storages) const;

 private:
  struct Part {
    double writes = 0;
    double beyond = 0;
  };
  // What one writer did in equal parts of the time.
  class Series {
   public:
    void Add(int64_t interval, const Part& part);
    void Merge(Series other);
    const std::vector<Part>& parts() const { return parts_; }

   private:
    void Fold();

    int64_t intervals_ = 1;  // of each part
    std::vector<Part> parts_;
  };
  struct Case {
    Criterion criterion;
    // By host and queue manager.
    std::map<std::pair<uint32_t, uint32_t>, Series> writers;
    // Writes had scheduled starts.
    bool paced = false;
  };

  static BeyondShare ShareIn(const Case& one, const std::vector<Part>& parts, int64_t measured_ns, size_t places);

  std::vector<Case> cases_;
};

}  // namespace plimsoll
