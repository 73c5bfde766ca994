// Names of a run's operations: of those that the main figures of a report are about, and of all together.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "controller/report/watched.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Whether no operation of the plan's steps writes.
inline bool OnlyReads(const v1::TestPlan& plan) {
  return plan.read_percent() == kOnlyReads;
}

// Name of the operations that the main figures are about: "write" and "writes", "read" and "reads" where all read, or
// "MQPUT" and "MQPUT calls" where only calls are watched.
inline std::string MainOperation(const v1::TestPlan& plan) {
  const std::string call = MainCall(plan);
  return !call.empty() ? call : OnlyReads(plan) ? kReadName : "write";
}
inline const char* MainOperations(uint32_t read_percent) {
  return read_percent == kOnlyReads ? "reads" : "writes";
}
inline std::string MainOperations(const v1::TestPlan& plan) {
  const std::string call = MainCall(plan);
  return !call.empty() ? CallsText(call) : MainOperations(plan.read_percent());
}
inline std::string MainOperations(const v1::LogStep& step) {
  const std::string call = MainCall(step);
  return !call.empty() ? CallsText(call) : MainOperations(step.read_percent());
}

// Plural of an operation beside the main one that has a throughput of its own: "reads", "commits", "MQPUT calls".
inline std::string WholeOperations(const std::string& name) {
  if (name == kReadName) return "reads";
  return name == kCommitName ? "commits" : CallsText(name);
}

// MQ's spelling of LogWriteIntegrity.
inline const char* LogWriteIntegrityName(v1::LogWriteIntegrity integrity) {
  return integrity == v1::LOG_WRITE_INTEGRITY_SINGLEWRITE   ? "SingleWrite"
         : integrity == v1::LOG_WRITE_INTEGRITY_DOUBLEWRITE ? "DoubleWrite, as TripleWrite"
                                                            : "TripleWrite";
}

// Whether some of a step's operations read and others write. `read_percent`: as in the plan.
inline bool ReadsAndWrites(uint32_t read_percent) {
  return read_percent > 0 && read_percent < kOnlyReads;
}

// Name of any operation of a step: "write", "read" where all read, or "operation" where some read and others write. A
// target rate counts these, and they stall, are overdue or in flight. OneOperation adds the article: "a write".
inline const char* AnyOperation(uint32_t read_percent) {
  return read_percent == 0 ? "write" : ReadsAndWrites(read_percent) ? "operation" : kReadName;
}
inline std::string OneOperation(uint32_t read_percent) {
  return absl::StrCat(ReadsAndWrites(read_percent) ? "an " : "a ", AnyOperation(read_percent));
}

}  // namespace plimsoll
