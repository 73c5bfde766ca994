// What a step measures: the list of its operations, and how messages name a long one.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/protocol.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;

v1::LogStep StepOf(uint32_t read_percent, bool parts) {
  v1::LogStep step;
  step.set_read_percent(read_percent);
  SetOperations(parts, step);
  return step;
}

std::string NamesOf(const v1::LogStep& step) {
  return absl::StrJoin(step.operations(), " ",
                       [](std::string* text, const v1::Operation& operation) { text->append(operation.name()); });
}

using Listed = std::pair<std::string, v1::OperationKind>;

const Listed kWrite = {"write", v1::OPERATION_UNSPECIFIED};
const Listed kWriteCall = {"write_call", v1::OPERATION_PART};
const Listed kSync = {"sync", v1::OPERATION_PART};
const Listed kRead = {"read", v1::OPERATION_READ};
// An operation that a later version may measure.
const Listed kSeek = {"seek", v1::OPERATION_READ};

v1::LogStep StepWith(uint32_t read_percent, const std::vector<Listed>& operations) {
  v1::LogStep step;
  step.set_read_percent(read_percent);
  for (const auto& [name, kind] : operations) {
    v1::Operation& operation = *step.add_operations();
    operation.set_name(name);
    operation.set_kind(kind);
  }
  return step;
}

TEST(StepOperations, AreThoseThatTheStepDoes) {
  struct Case {
    uint32_t read_percent;
    bool parts;
    std::string names;
    uint32_t known;
    std::optional<uint32_t> read;
  };
  const std::vector<Case> cases = {
      {0, false, "", 1, std::nullopt},         {0, true, "write write_call sync", 3, std::nullopt},
      {1, false, "write read", 2, 1U},         {99, true, "write write_call sync read", 4, 3U},
      {100, false, "read", 1, kMainOperation}, {100, true, "read", 1, kMainOperation},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.names);
    const v1::LogStep step = StepOf(one.read_percent, one.parts);
    EXPECT_EQ(NamesOf(step), one.names);
    EXPECT_EQ(KnownOperations(step), one.known);
    EXPECT_EQ(ReadOperationOf(step), one.read);
    EXPECT_THAT(CheckOperations(step), IsOk());
  }
  const v1::LogStep all = StepOf(50, /*parts=*/true);
  EXPECT_EQ(all.operations(kMainOperation).kind(), v1::OPERATION_UNSPECIFIED);
  EXPECT_EQ(all.operations(kWriteCallOperation).kind(), v1::OPERATION_PART);
  EXPECT_EQ(all.operations(kSyncOperation).kind(), v1::OPERATION_PART);
  EXPECT_EQ(all.operations(3).kind(), v1::OPERATION_READ);
}

TEST(StepOperations, ReplaceThoseThatWereListedBefore) {
  v1::LogStep step = StepOf(50, /*parts=*/true);
  step.set_read_percent(100);
  SetOperations(/*parts=*/true, step);
  EXPECT_EQ(NamesOf(step), "read");
  step.set_read_percent(0);
  SetOperations(/*parts=*/false, step);
  EXPECT_EQ(NamesOf(step), "");
}

TEST(StepOperations, AreKnownUpToTheFirstThatIsNot) {
  EXPECT_EQ(KnownOperations(StepWith(0, {kSeek})), 1U) << "a step has one operation at least";
  EXPECT_EQ(KnownOperations(StepWith(0, {kSeek, kWriteCall, kSync})), 1U);
  EXPECT_EQ(KnownOperations(StepWith(0, {kWrite, kSeek, kRead})), 1U);
  EXPECT_EQ(KnownOperations(StepWith(0, {kWrite, kWriteCall, kSync, kSeek, kRead})), 3U);
  EXPECT_EQ(KnownOperations(StepWith(0, {kWrite, kRead, kSeek})), 2U);
  EXPECT_EQ(KnownOperations(StepWith(0, {kWrite, kWriteCall, kSync, kRead, kSeek})), 4U);
  EXPECT_EQ(KnownOperations(StepWith(100, {kRead, kSeek})), 1U);
  EXPECT_EQ(KnownOperations(StepWith(0, {kWrite, kRead, kRead})), 2U);
  // The kind belongs to the operation.
  EXPECT_EQ(KnownOperations(StepWith(0, {kWrite, {"read", v1::OPERATION_PART}})), 1U);
  EXPECT_EQ(KnownOperations(StepWith(0, {kWrite, {"write_call", v1::OPERATION_UNSPECIFIED}, kSync})), 1U);
}

TEST(StepOperations, TheReadIsTheLastOfThem) {
  EXPECT_FALSE(ReadOperationOf(StepWith(50, {kWrite, kRead, kSeek})).has_value());
  EXPECT_FALSE(ReadOperationOf(StepWith(50, {kWrite, {"read", v1::OPERATION_PART}})).has_value());
  EXPECT_EQ(ReadOperationOf(StepWith(50, {kWrite, kSeek, kRead})), 2U);
}

TEST(StepOperations, AnAgentRefusesThoseThatItDoesNotKnow) {
  const auto refused = [](const std::vector<Listed>& operations, const std::string& named) {
    EXPECT_THAT(CheckOperations(StepWith(0, operations)),
                StatusIs(StatusCode::kInvalidArgument, "operation '" + named + "' of a step is unknown"));
  };
  refused({kSeek}, "seek");
  refused({kSeek, kWriteCall, kSync}, "seek");
  refused({kWrite, kSeek, kRead}, "seek");
  refused({kWrite, kWriteCall, kSync, kSeek, kRead}, "seek");
  refused({kWrite, kWriteCall, kSync, kRead, kSeek}, "seek");
  refused({kWrite, kRead, kRead}, "read");
  refused({kWrite, kSync}, "sync");
  refused({{"write", v1::OPERATION_READ}}, "write");
  // The read alone, or behind the write.
  refused({kRead, kWrite}, "write");
}

TEST(StepOperations, AStepThatReadsMeasuresItAndOneThatOnlyReadsMeasuresNothingElse) {
  const auto refused = [](uint32_t read_percent, const std::vector<Listed>& operations, const std::string& why) {
    EXPECT_THAT(CheckOperations(StepWith(read_percent, operations)), StatusIs(StatusCode::kInvalidArgument, why));
  };
  refused(30, {}, "a step that reads must measure reads");
  refused(30, {kWrite}, "a step that reads must measure reads");
  refused(30, {kWrite, kWriteCall, kSync}, "a step that reads must measure reads");
  refused(100, {}, "a step that reads must measure reads");
  refused(101, {kWrite, kRead}, "read_percent must be 0 to 100");
  refused(UINT32_MAX, {kRead}, "read_percent must be 0 to 100");
  for (const uint32_t read_percent : {0U, 1U, 99U}) {
    refused(read_percent, {kRead}, "measures its reads alone");
  }
  refused(100, {kWrite, kRead}, "measures its reads alone");
  refused(100, {kWrite, kWriteCall, kSync, kRead}, "measures its reads alone");
  // Another step with this list may read.
  EXPECT_THAT(CheckOperations(StepWith(0, {kWrite, kRead})), IsOk());
}

TEST(StepOperations, AMessageNamesALongOneAsFarAsItIsKnown) {
  v1::InFlight operation;
  operation.set_qm(3);
  operation.set_path("/mnt/mqlog/S0000001.LOG");
  const auto text = [&operation](uint32_t read_percent) {
    operation.set_read_percent(read_percent);
    return InFlightText(operation);
  };
  EXPECT_EQ(text(0), "qm3 has been in one write to /mnt/mqlog/S0000001.LOG");
  EXPECT_EQ(text(1), "qm3 has been in one read or write of /mnt/mqlog/S0000001.LOG");
  EXPECT_EQ(text(99), "qm3 has been in one read or write of /mnt/mqlog/S0000001.LOG");
  EXPECT_EQ(text(100), "qm3 has been in one read of /mnt/mqlog/S0000001.LOG");
  operation.set_filling(true);
  EXPECT_EQ(text(0), "qm3 has been filling /mnt/mqlog/S0000001.LOG");
}

}  // namespace
}  // namespace plimsoll
