// The text report of a drill.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "plimsoll/v1/report.pb.h"
#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

// Ten rounds of the fault with the longest name, on two pairs of three queue managers each, with nothing that is short.
v1::Report WideReport(uint64_t lost) {
  v1::Report report;
  v1::HaReport& ha = *report.mutable_ha();
  for (uint32_t number = 1; number <= 10; ++number) {
    v1::HaRoundReport& round = *ha.add_rounds();
    round.set_number(number);
    round.set_fault(v1::HA_FAULT_KIND_SERVER_RESTART);
    round.set_host(absl::StrCat("storage-client-", number % 4, ".example.com"));
    for (uint32_t qm = 1; qm <= 3; ++qm) {
      v1::HaTakeoverReport& one = *round.add_takeovers();
      one.set_qm(number % 2 * 3 + qm);
      one.set_outcome(qm == 1 ? v1::HA_TAKEOVER_OUTCOME_NONE : v1::HA_TAKEOVER_OUTCOME_TAKEN);
      for (v1::HaSpan* span : {one.mutable_gap(), one.mutable_to_free(), one.mutable_to_granted(),
                               one.mutable_to_replayed(), one.mutable_to_first_write()}) {
        span->set_ns(12'345 * kNsPerMs);
      }
      one.mutable_findings()->set_lost(qm == 3 ? lost : 0);
    }
  }
  for (uint32_t qm = 1; qm <= 6; ++qm) {
    v1::HaQueueManagerReport& line = *ha.add_queue_managers();
    line.set_qm(qm);
    line.add_hosts(absl::StrCat("storage-client-", qm <= 3 ? 1 : 3, ".example.com"));
    line.add_hosts(absl::StrCat("storage-client-", qm <= 3 ? 0 : 2, ".example.com"));
    line.set_acknowledged(123'456'789);
  }
  return report;
}

TEST(HaText, TheWidestRoundsFitTheScreenWithEveryColumn) {
  for (const uint64_t lost : {uint64_t{0}, uint64_t{3}}) {
    const std::string text = RenderText(WideReport(lost));
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_LE(DisplayWidth(std::string(line)), 80U) << line;
    }
    EXPECT_THAT(text, HasSubstr("gap   free  grant   read  first")) << "no heading is cut off";
    EXPECT_EQ(text.find("first lost\n") != std::string::npos, lost > 0);
  }
}

TEST(HaText, NamesTheHostsOfAPairOnceAndInFull) {
  const std::string text = RenderText(WideReport(0));
  EXPECT_THAT(text, HasSubstr("qm1, qm2, qm3 on storage-client-0.example.com,"));
  EXPECT_THAT(text, HasSubstr("qm4, qm5, qm6 on storage-client-2.example.com,"));
}

}  // namespace
}  // namespace plimsoll::tests
