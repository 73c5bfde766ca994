// No line of a text report is wider than 80 columns, whatever it is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "plimsoll/v1/report.pb.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/analysis/random_report.h"

namespace plimsoll {
namespace {

// Gives each scope of the steps reads with the figures of another scope's writes.
void AddReads(v1::Report& report) {
  report.mutable_plan()->set_read_percent(30);
  for (v1::StepReport& step : *report.mutable_steps()) {
    for (v1::HostLoadReport& load : *step.mutable_load()) {
      load.mutable_disk()->set_reads(load.disk().writes());
      load.mutable_disk()->set_read_ms(load.disk().write_ms());
      *load.mutable_nfs()->mutable_read() = load.nfs().write();
    }
    v1::OperationReport& reads = *step.add_operations();
    reads.set_name("read");
    for (int i = 0; i < step.scopes_size(); ++i) {
      const v1::ScopeReport& scope = step.scopes(i);
      const v1::ScopeReport& other = step.scopes(step.scopes_size() - 1 - i);
      v1::OperationScopeReport& own = *reads.add_scopes();
      own.set_kind(scope.kind());
      own.set_host(scope.host());
      own.set_qm(scope.qm());
      own.mutable_throughput()->set_count(other.writes());
      own.mutable_throughput()->set_bytes(other.bytes());
      own.mutable_throughput()->set_iops(other.iops());
      own.mutable_throughput()->set_mb_per_second(other.mb_per_second());
      *own.mutable_latency() = other.latency();
      if (other.has_rate()) *own.mutable_response() = other.rate().response();
      if (other.has_slowest()) *own.mutable_slowest() = other.slowest();
    }
  }
}

TEST(TextReportProperty, NoLineIsWiderThanEightyColumnsNorCutAndTheVerdictIsFirst) {
  const uint64_t seed = tests::RandomSeed();
  for (uint64_t round = 0; round < 60; ++round) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, " round ", round));
    v1::Report report = tests::RandomReport(seed + round).Make();
    const bool reads = round % 2 == 1;
    if (reads) AddReads(report);
    EXPECT_LE(TextSummary(report, TextDetail::kFull).size(), reads ? 22U : 15U);
    const std::string text = RenderText(report, 40);
    EXPECT_THAT(text, StartsWith("Verdict   "));
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      // A path stays whole.
      if (line.substr(line.rfind(' ') + 1).starts_with('/')) continue;
      ASSERT_LE(DisplayWidth(line), 80) << line;
      ASSERT_FALSE(line.ends_with("\u2026")) << line;
      ASSERT_EQ(line.find('\x1b'), std::string::npos) << line;
    }
  }
}

}  // namespace
}  // namespace plimsoll
