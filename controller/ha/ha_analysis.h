// From the records of an HA drill to its section of the report and its verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/analysis/section_analysis.h"
#include "controller/analysis/timeline.h"
#include "controller/ha/ha_facts.h"
#include "controller/ha/ha_picture.h"
#include "controller/ha/ha_takeover.h"
#include "controller/ha/log_check.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// What is proved against the storage fails a criterion; what cannot be known is a reason for INCONCLUSIVE, never a
// PASS; the write in flight at a fault is neither.
class HaAnalysis final : public SectionAnalysis {
 public:
  explicit HaAnalysis(const v1::TestPlan& plan);

  absl::Status Take(const v1::JournalRecord& record, const Timeline& timeline) override;
  void Finish(const Timeline& timeline, const std::function<std::string(uint32_t host)>& label_of, v1::Report& report,
              std::vector<std::string>& reasons) override;
  v1::VerdictReport Judge(const std::vector<std::string>& reasons) const override;

 private:
  struct Bounds {
    int64_t low = 0;
    int64_t high = 0;
  };
  // The takeovers' values of one phase, and those that lasted longer than was waited for.
  struct Phase {
    std::vector<v1::HaSpan> spans;
    std::vector<int64_t> at_least_ns;
  };

  void FinishRound(const Timeline& timeline, const HaRoundFacts& round,
                   const std::function<std::string(uint32_t)>& label_of, v1::HaReport& report,
                   std::vector<std::string>& reasons);
  void FinishQueueManager(const Timeline& timeline, uint32_t qm, const std::function<std::string(uint32_t)>& label_of,
                          v1::HaReport& report, std::vector<std::string>& reasons);
  // Adds the blocks that takeovers did not find to those that are known to be wrong: they were counted then.
  void KnowLostTails(const std::vector<HaAcknowledged>& acknowledged, const std::vector<size_t>& judged,
                     std::set<uint64_t>& known) const;
  // A lock that was released, but later than the criteria allow a takeover to take.
  void NoteLateRelease(uint32_t round, v1::HaTakeoverReport& takeover);
  void AddPhases(v1::HaReport& report) const;
  // The value of a criterion's metric; false: there is none.
  bool ValueOf(int metric, Bounds& value) const;
  // Names what a criterion of this metric failed for; empty where the value is enough.
  std::string ProofOf(int metric) const;
  bool PhaseValue(const std::string& name, bool median, Bounds& value) const;

  const v1::TestPlan plan_;
  HaFacts facts_;
  HaPictures pictures_;
  int64_t max_window_ns_ = 0;
  // What was proved, in words.
  std::vector<std::string> split_brains_;
  std::vector<std::string> late_writers_;
  std::vector<std::string> not_released_;
  std::vector<std::string> released_late_;
  // The strictest limit of the criteria for the longest takeover, gap or grant.
  int64_t release_limit_ns_ = INT64_MAX;
  // Of each queue manager, blocks that are known to be wrong, and what its takeovers found.
  std::map<uint32_t, std::set<uint64_t>> known_;
  std::map<uint32_t, v1::HaFindings> found_;
  // New active instances, by the old ones, of the takeovers that were judged.
  std::map<uint32_t, uint32_t> judged_;
  std::map<std::string, Phase> phases_;
  v1::HaFindings total_;
};

}  // namespace plimsoll
