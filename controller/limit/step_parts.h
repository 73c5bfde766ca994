// How sure a step's percentiles and averages are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/criteria/criteria.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// A criterion's figure in a step. For a percentile: the share of writes, of reads, or of times of a part, beyond the
// limit, in the scope with the largest share. For an average: the largest average, in nanoseconds.
struct StepFigure {
  bool is_average = false;
  // As measured, and the bounds of its confidence interval. Each of them is wrong with a chance of at most 1 %.
  double measured = 0;
  double low = 0;
  double high = 1;
  // The largest value that meets the criterion.
  double allowed = 0;
};

// The bounds of a share are those of independent writes (Wilson's), of which a step has fewer than writes: those beyond
// the limit come in bursts, as one slow write delays the next ones. How much fewer shows in equal parts of the step,
// whose shares differ more than independent writes would let them (batch means). The bounds of an average are
// Student's, by the averages of these parts, or of half or a quarter as many where those differ more: what delays the
// writes of one part may delay those of the next.
//
// Takes a step's frames, and keeps 20 to 40 numbers of each writer for each criterion, however long the step is. Not
// thread-safe.
class StepParts {
 public:
  // Percentiles and, where `averages`, averages with an upper limit; the others of `criteria` are left out.
  StepParts(const std::vector<Criterion>& criteria, bool averages);

  // Adds a frame of the measured time to the criteria on `operation` (name of a part, or of the read beside the writes;
  // empty: the main operation). The caller has checked that the host has that writer.
  void Add(uint32_t host, const v1::Frame& frame, const std::string& operation);

  // Figure of a criterion, given as text, over `measured_ns`; nothing where it has no such figure, or too little was
  // measured. `storages`: that of each host, by its number.
  std::optional<StepFigure> FigureOf(const std::string& criterion, int64_t measured_ns,
                                     const std::map<uint32_t, uint32_t>& storages) const;

 private:
  struct Part {
    double writes = 0;
    // How many of the writes are beyond the limit, or their time in nanoseconds.
    double sum = 0;
  };
  // What one writer did in equal parts of the time.
  class Series {
   public:
    void Add(int64_t interval, const Part& part);
    void Merge(Series other);
    // Makes them half as many, of twice the length.
    void Fold();
    const std::vector<Part>& parts() const { return parts_; }

   private:
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

  static Part PartOf(const Criterion& criterion, const v1::Distribution& latency);
  static StepFigure ShareIn(const Case& one, const std::vector<Part>& parts, int64_t measured_ns, size_t places);
  static std::optional<StepFigure> AverageIn(Series series, size_t places);

  std::vector<Case> cases_;
};

}  // namespace plimsoll
