// The journal of a run. Where a step folds its frames by age (StepBegin.fold), it keeps what the fold makes of them.
//
// Frames of such a step that will be folded go to the files of RecentFrames as they come, and everything else to the
// journal. Once a minute is settled, what the fold made of it goes to the journal, with MinutesSettled behind it. From
// the step's begin on every record has a number, by which a reader finds the order of the files' records, and where one
// is missing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "controller/analysis/host_facts.h"
#include "controller/fold/step_fold.h"
#include "controller/journal/recent_frames.h"
#include "controller/journal/results.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// One thread, but for bytes().
class RunJournal {
 public:
  explicit RunJournal(std::unique_ptr<JournalWriter> journal, int64_t seconds_of_file = RecentFrames::kSecondsOfFile);

  // Keeps the run's next record. After an error nothing more is written, and every later call returns it.
  absl::Status Append(const v1::JournalRecord& record);
  // What was appended survives the process.
  absl::Status Flush();

  // Size of all its files together. Any thread.
  uint64_t bytes() const { return bytes_; }

 private:
  // The step that is being folded.
  struct Step {
    Step(uint32_t of_step, const FoldRules& by, StepFold::Emit emit)
        : number(of_step), rules(by), fold(by, std::move(emit)) {}

    const uint32_t number;
    const FoldRules rules;
    StepFold fold;
    // The last minutes that were settled, until they are in the journal.
    std::optional<StepFold::Mark> mark;
    // What the fold made of later seconds, and of these.
    std::vector<std::pair<uint32_t, v1::Frame>> given_out;
  };

  absl::Status Keep(const v1::JournalRecord& record);
  // Notes what the fold has to know of the run.
  void Note(const v1::JournalRecord& record);
  // Begins to fold, if the step does.
  absl::Status BeginStep(const v1::StepBegin& begin);
  absl::Status EndStep();
  absl::Status KeepFrames(const v1::JournalRecord& record);
  // Puts what is settled into the journal.
  absl::Status GiveOut();

  const std::unique_ptr<JournalWriter> journal_;
  RecentFrames recent_;
  absl::Status failed_;
  std::atomic<uint64_t> bytes_;
  v1::RunBegin run_;
  HostTable hosts_;
  std::optional<Step> step_;
  // Number and time of the last record; 0: no step was folded so far.
  uint64_t number_ = 0;
  int64_t time_ns_ = 0;
};

}  // namespace plimsoll
