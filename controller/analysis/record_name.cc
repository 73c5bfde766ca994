#include "controller/analysis/record_name.h"

#include <utility>

namespace plimsoll {

const char* RecordName(const v1::JournalRecord& record) {
  static constexpr std::pair<v1::JournalRecord::RecordCase, const char*> kNames[] = {
      {v1::JournalRecord::kRunBegin, "run begin"},
      {v1::JournalRecord::kHostJoined, "host"},
      {v1::JournalRecord::kProbes, "clock probes"},
      {v1::JournalRecord::kHostPrepared, "preparation"},
      {v1::JournalRecord::kStepAhead, "step ahead"},
      {v1::JournalRecord::kHostCommand, "command"},
      {v1::JournalRecord::kHostCommandDone, "answer to a command"},
      {v1::JournalRecord::kStepBegin, "step begin"},
      {v1::JournalRecord::kFrames, "frames"},
      {v1::JournalRecord::kMinutesSettled, "settled minutes"},
      {v1::JournalRecord::kStepDone, "step totals"},
      {v1::JournalRecord::kHostLost, "loss"},
      {v1::JournalRecord::kFault, "fault"},
      {v1::JournalRecord::kStepEnd, "step end"},
      {v1::JournalRecord::kHa, "record of a drill"},
      {v1::JournalRecord::kRestart, "measurement of restart I/O"},
      {v1::JournalRecord::kDisturb, "record of a disturbance"},
      {v1::JournalRecord::kNote, "note"},
      {v1::JournalRecord::kRunEnd, "run end"},
  };
  for (const auto& [kind, name] : kNames) {
    if (kind == record.record_case()) return name;
  }
  return "unknown";
}

}  // namespace plimsoll
