// Whether a report tells of the writes that were received: of all of them and of no others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "controller/analysis/analyzer.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll::tests {

// Adds up, on its own, the frames that an Analyzer takes. Must outlive the analyser.
class ReportSums {
 public:
  // Watches every frame that `analyzer` takes from here on. The analyser's own listener is used up.
  void Watch(Analyzer& analyzer);
  void Add(uint32_t host, const v1::Frame& frame);

  // Compares the report with the sums, and its parts with one another; empty: all is right, else what is not.
  std::string Problem(const v1::Report& report) const;

  // Completed writes of all measured parts.
  uint64_t writes() const;
  // Measured reads of steps that write as well, closing ones included.
  uint64_t reads() const { return reads_; }

 private:
  struct Sums {
    // Closing writes included.
    uint64_t writes = 0;
    uint64_t closing_writes = 0;
    uint64_t warmup_writes = 0;
    uint64_t bytes = 0;
    uint64_t latency_sum_ns = 0;
    uint64_t latency_max_ns = 0;
    void Add(const Sums& other);
  };
  static std::string Compare(const Sums& sums, const v1::ScopeReport& scope);
  std::string StepProblem(const v1::StepReport& step) const;

  // By step (from 0), host's number and writer.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Sums> sums_;
  // Measured reads of steps that write as well.
  uint64_t reads_ = 0;
};

// What no report may say of itself, whatever it was made from; empty: nothing of that.
std::string Contradiction(const v1::StepReport& step);

}  // namespace plimsoll::tests
