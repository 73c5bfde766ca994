// From the records of an HA drill to its section of the report and its verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/ha/ha_facts.h"
#include "controller/ha/ha_picture.h"
#include "controller/ha/ha_takeover.h"
#include "controller/ha/log_check.h"
#include "controller/timeline/section_analysis.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// A host's kernel; `boot_id` is empty where it is not known.
struct HaKernel {
  std::string label;
  std::string boot_id;
};
// That two hosts have, or may have, one kernel, so that a drill tests no locks between hosts. Empty: they have two.
std::string OneKernelText(const HaKernel& first, const HaKernel& second);

// What is proved against the storage fails a criterion; what cannot be known is a reason for INCONCLUSIVE, never a
// PASS; the write in flight at a fault is neither.
class HaAnalysis final : public SectionAnalysis {
 public:
  explicit HaAnalysis(const v1::TestPlan& plan);

  absl::Status Take(const v1::JournalRecord& record, const Timeline& timeline) override;
  void Finish(const Timeline& timeline, const std::function<std::string(uint32_t host)>& label_of, v1::Report& report,
              std::vector<std::string>& reasons) override;
  void DistrustClocks(const std::string& what) override { clock_doubt_ = what; }
  v1::VerdictReport Judge(const std::vector<std::string>& reasons) const override;
  std::string LastRoundText(const Timeline& timeline) const override;

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

  // Judges the rounds that are over, up to this many of all.
  void JudgeRounds(const Timeline& timeline, size_t rounds);
  // `known`: of each queue manager, blocks that are known to be wrong; those that the replay finds are added.
  HaJudgedRound JudgeRound(const Timeline& timeline, const HaRoundFacts& round,
                           std::map<uint32_t, std::set<uint64_t>>& known) const;
  void FinishRound(const Timeline& timeline, const HaRoundFacts& round, const HaJudgedRound& judged,
                   const std::function<std::string(uint32_t)>& label_of, v1::HaReport& report,
                   std::vector<std::string>& reasons);
  void FinishQueueManager(const Timeline& timeline, uint32_t qm, const std::function<std::string(uint32_t)>& label_of,
                          v1::HaReport& report, std::vector<std::string>& reasons);
  // Adds the blocks that takeovers did not find to those that are known to be wrong: they were counted then.
  void KnowLostTails(const std::vector<HaAcknowledged>& acknowledged, const std::vector<size_t>& judged,
                     std::set<uint64_t>& known) const;
  // Names what each old active instance of the queue manager overwrote, and adds it to the findings of its round.
  void NoteOverwrites(uint32_t qm, const HaLogFindings& log, const std::function<std::string(uint32_t)>& label_of,
                      v1::HaReport& report);
  // The hosts of pairs that have, or may have, one kernel; empty: none.
  std::string SharedKernels(const std::function<std::string(uint32_t)>& label_of) const;
  void AddPhases(v1::HaReport& report) const;
  // The value of a criterion's metric; false: there is none.
  bool ValueOf(int metric, Bounds& value) const;
  // Why the metric may be more than was found, or is not known at all where that is the clocks' doubt; empty: it is
  // not.
  const std::string& DoubtAbout(int metric) const;
  // Names what a criterion of this metric failed for; empty where the value is enough.
  std::string ProofOf(int metric) const;
  std::string ProofOfLoss() const;
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
  std::vector<std::string> waited_;
  std::vector<std::string> overwrites_;
  // The strictest limit of the criteria for the longest takeover, gap or grant.
  int64_t release_limit_ns_ = INT64_MAX;
  // Blocks of each queue manager that are known to be wrong, and what its takeovers found.
  std::map<uint32_t, std::set<uint64_t>> known_;
  std::map<uint32_t, v1::HaFindings> found_;
  std::vector<HaJudgedRound> judged_rounds_;
  // Where a takeover is: its round, and its place in that; from 0.
  struct Place {
    int round = 0;
    int takeover = 0;
  };
  // By old and new active instance.
  std::map<std::pair<uint32_t, uint32_t>, Place> taken_in_;
  // Boot ids of the hosts' kernels.
  std::map<uint32_t, std::string> boot_ids_;
  std::string shared_kernels_;
  // The first reason for which writes may be lost, two instances may have held a lock, or a takeover may have taken
  // longer, without being found so; and what is wrong with a host's clock.
  std::string log_doubt_;
  std::string holder_doubt_;
  std::string takeover_doubt_;
  std::string clock_doubt_;
  std::map<std::string, Phase> phases_;
  v1::HaFindings total_;
};

}  // namespace plimsoll
