// What commands print of a report: one screen, whatever the report holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "controller/render/merge_alike.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "plimsoll/v1/report.pb.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/analysis/random_report.h"

namespace plimsoll {
namespace {

std::vector<std::string> BriefLines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_EQ(lines.back(), "");
  lines.pop_back();
  return lines;
}

// Adds the part of another kind of run, of up to `most` rows.
void AddKind(uint64_t kind, uint32_t most, v1::Report& report) {
  if (kind == 1) {
    for (uint32_t i = 1; i <= most; ++i) {
      v1::HaRoundReport& round = *report.mutable_ha()->add_rounds();
      round.set_number(i);
      round.set_host("node1");
      if (i % 7 == 0) round.add_reasons("a reason");
      for (uint32_t qm = 1; qm <= 2; ++qm) round.add_takeovers()->set_qm(qm);
    }
    for (uint32_t qm = 1; qm <= most; ++qm) report.mutable_ha()->add_queue_managers()->set_qm(qm);
    for (uint32_t phase = 0; phase < 8; ++phase) report.mutable_ha()->add_phases()->set_phase(absl::StrCat("p", phase));
  } else if (kind == 2) {
    v1::LimitReport& limit = *report.mutable_limit();
    limit.set_limit(100);
    limit.set_cause_text(std::string(900, 'x') + " " + std::string(900, 'y'));
    for (uint32_t i = 1; i <= most; ++i) {
      v1::LimitPoint& point = *limit.add_points();
      point.set_curve(true);
      point.set_load(i);
      point.mutable_confidence()->set_criterion("p99<5ms");
    }
  } else if (kind == 3) {
    report.mutable_placement()->set_answer("It does not: node7 down fails.");
    for (uint32_t i = 1; i <= most; ++i) {
      v1::PlacementStepReport& step = *report.mutable_placement()->add_steps();
      step.set_step(i);
      step.set_outcome(i % 9 == 0 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS);
      step.set_reason("a reason");
      for (uint32_t moved = 0; moved < 20; ++moved) step.add_moved()->set_queue_manager(absl::StrCat("QM", moved));
    }
  }
}

TEST(BriefProperty, NoMoreThanFortyLinesAndVerdictCauseAndFailedCriteriaAreAlwaysThere) {
  const uint64_t seed = tests::RandomSeed();
  for (uint64_t round = 0; round < 60; ++round) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, " round ", round));
    v1::Report report = tests::RandomReport(seed + round, 200).Make();
    AddKind(round % 4, static_cast<uint32_t>((seed + round * 7) % 120), report);
    for (uint64_t i = 0; i < (round * 5) % 60; ++i) {
      v1::CriterionReport& criterion = *report.mutable_verdict()->add_criteria();
      criterion.set_criterion(absl::StrCat("p99<", i, "ms"));
      criterion.set_outcome(i == 7 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS);
    }
    report.mutable_verdict()->mutable_reasons()->DeleteSubrange(0, report.verdict().reasons_size());
    for (uint64_t i = 0; i <= round % 20; ++i) {
      report.mutable_verdict()->add_reasons(absl::StrCat("cause", i, i % 3 == 0 ? " " + std::string(300, 'z') : ""));
    }
    std::vector<std::string> kept;
    for (uint64_t i = 0; i < round; ++i) kept.push_back(absl::StrCat("Files kept in /", i));
    const std::string digest = round % 2 == 0 ? "" : absl::StrCat("sha256:", std::string(64, 'f'));
    const std::string text = RenderBrief(report, {.path = "plimsoll-results/x", .digest = digest}, kept);
    const std::vector<std::string> lines = BriefLines(text);
    ASSERT_LE(lines.size(), 40U) << text;
    const std::string outcome = OutcomeText(report.verdict().outcome());
    EXPECT_THAT(lines.front(), StartsWith("Verdict   " + outcome));
    EXPECT_EQ(lines.back(), outcome + "   Results in plimsoll-results/x");
    EXPECT_EQ(lines[lines.size() - 2] == "Digest  " + digest, !digest.empty()) << text;
    EXPECT_THAT(text, HasSubstr("cause0"));
    size_t failed = 0;
    for (const v1::CriterionReport& criterion : report.verdict().criteria()) {
      // A long name may have to be shortened.
      if (criterion.outcome() != v1::OUTCOME_FAIL || ++failed > 4 || criterion.criterion().size() > 30) continue;
      EXPECT_THAT(text, HasSubstr(criterion.criterion() + " ")) << text;
    }
    for (const std::string& line : lines) {
      if (line.substr(line.rfind(' ') + 1).starts_with('/')) continue;
      ASSERT_LE(DisplayWidth(line), 80) << line;
      ASSERT_EQ(line.find('\x1b'), std::string::npos) << line;
    }
  }
}

// A report of `hosts` hosts with as many steps of one kind of trouble.
v1::Report Troubled(uint32_t hosts, uint32_t steps) {
  v1::Report report;
  report.mutable_verdict()->set_outcome(v1::OUTCOME_PASS);
  for (uint32_t i = 1; i <= hosts; ++i) report.add_hosts()->set_label(absl::StrCat("node", i));
  for (uint32_t number = 1; number <= steps; ++number) {
    v1::StepReport& step = *report.add_steps();
    step.set_number(number);
    step.add_scopes()->set_kind(v1::SCOPE_KIND_CLUSTER);
    for (uint32_t i = 1; i <= hosts; ++i) {
      v1::HostLoadReport& load = *step.add_load();
      load.set_host(absl::StrCat("node", i));
      load.set_bottleneck(absl::StrCat("writers waited ", 16 + i, " % of the time for a CPU"));
    }
    v1::StallsReport& stalls = *step.mutable_stalls();
    stalls.set_count(2);
    v1::StallCount& count = *stalls.add_classes();
    count.set_stall_class(v1::STALL_CLASS_ALL_HOSTS);
    count.set_count(2);
    v1::StallReport& stall = *stalls.add_stalls();
    stall.set_length_ns(number * 1'000'000'000);
    for (uint32_t i = 1; i <= hosts; ++i) stall.add_hosts(absl::StrCat("node", i));
  }
  return report;
}

TEST(Brief, AWarningOfManyHostsAndStepsIsOneSentence) {
  const std::string text = RenderBrief(Troubled(3, 2), {"r"});
  EXPECT_THAT(text, HasSubstr("node[1-3], steps 1-2: the load generator may be CPU-bound: writers waited\n"
                              "  17\u201319 % of the time for a CPU.\n"));
}

TEST(Brief, StallsAreALineWithTheLongest) {
  const std::string text = RenderBrief(Troubled(3, 2), {"r"});
  EXPECT_THAT(text, HasSubstr("\nStalls    4: 4 x all hosts: the storage; longest 2.000 s in step 2, node[1-3]\n"));
}

TEST(Brief, TheLastLinesNameWhereTheRestIsAndRepeatTheVerdict) {
  const std::string text = RenderBrief(Troubled(1, 1), {"plimsoll-results/x"});
  EXPECT_THAT(text, EndsWith("\nEverything is in report.txt (--full prints it), charts are in report.html.\n"
                             "PASS   Results in plimsoll-results/x\n"));
  EXPECT_THAT(RenderBrief(Troubled(1, 1), {"old.journal", true}), EndsWith("\nPASS   From the journal old.journal\n"));
  EXPECT_THAT(RenderBrief(Troubled(1, 1), {.path = "plimsoll-results/x", .digest = "sha256:9f86d081"}),
              EndsWith(" charts are in report.html.\nDigest  sha256:9f86d081\nPASS   Results in plimsoll-results/x\n"));
}

TEST(Brief, CriteriaThatFailedComeFirstAndOthersAreCounted) {
  v1::Report report = Troubled(1, 1);
  for (uint32_t i = 1; i <= 100; ++i) {
    v1::CriterionReport& criterion = *report.mutable_verdict()->add_criteria();
    criterion.set_criterion(absl::StrCat("p99<", i, "ms"));
    criterion.set_outcome(i == 90 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS);
    criterion.set_value_text("5 ms");
    criterion.set_step(1);
  }
  const std::string text = RenderBrief(report, {"r"});
  EXPECT_LT(text.find("p99<90ms   FAIL"), text.find("p99<1ms "));
  EXPECT_THAT(text, ::testing::ContainsRegex("\n  \\.\\.\\. and [0-9]+ more PASS \\(report.txt\\)\n"));
}

TEST(MergeAlike, HostsStepsAndNumbersOfOneSentenceAreMerged) {
  EXPECT_THAT(MergeAlike({"node1, step 1: waited 17.2 % of 1,000 writes.", "filer: O_DIRECT was refused.",
                          "node3, step 2: waited 9 % of 1,000 writes.", "node2, step 1: waited 20 % of 1,000 writes."},
                         {"node1", "node2", "node3", "filer"}),
              ElementsAre("node[1-3], steps 1-2: waited 9\u201320 % of 1,000 writes.", "filer: O_DIRECT was refused."));
}

TEST(MergeAlike, WhatIsNoHostOrDiffersInMoreThanNumbersStays) {
  const std::vector<std::string> sentences = {"node1: its clock stepped.", "node2: its clock drifted.",
                                              "nodeX: its clock stepped.", "All is well: 7 hosts.", "step 1: short."};
  EXPECT_EQ(MergeAlike(sentences, {"node1", "node2"}), sentences);
}

TEST(MergeAlike, SentencesAboutTwoProcessesStay) {
  const std::vector<std::string> sentences = {"node1: process 4711 (amqzlaa0) ended.",
                                              "node1: process 4712 (amqzlaa0) ended."};
  EXPECT_EQ(MergeAlike(sentences, {"node1"}), sentences);
}

TEST(MergeAlike, QueueManagersOfSeveralHostsAreCounted) {
  EXPECT_THAT(MergeAlike({"node1/qm1, step 1: late by 2 s.", "node1/qm2, step 1: late by 3 s.",
                          "node2/qm1, step 1: late by 2 s."},
                         {"node1", "node2"}),
              ElementsAre("node[1-2] (3 queue managers), step 1: late by 2\u20133 s."));
}

TEST(JoinNames, NumbersAreRangesAndLeadingZerosStay) {
  EXPECT_EQ(JoinNames({"node08", "node09", "a.example.org", "node7", "node5", "node6.lan", "b"}),
            "node[08-09], a.example.org, node[5,7], node6.lan, b");
  EXPECT_EQ(JoinNames({"a", "b", "c", "d"}, 2), "a, b and 2 more");
}

}  // namespace
}  // namespace plimsoll
