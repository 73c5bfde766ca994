// Every kind of mistake in a plan's text, with the line and the column at which it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/plan_yaml.h"
#include "controller/plan/yaml_tree.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// Views, since the analyzer is slow with lists of many strings.
struct Mistake {
  std::string_view text;
  // How the message begins, after the file's name.
  std::string_view message;
};

std::string MessageFor(const std::string& text) {
  const auto plan = ReadPlan(text, "plan.yaml");
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << text.substr(0, 200);
  return std::string(plan.status().message());
}

void ExpectMistakes(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    const std::string message = MessageFor(std::string(mistake.text));
    EXPECT_THAT(message, StartsWith(absl::StrCat("plan.yaml:", std::string(mistake.message))))
        << mistake.text.substr(0, 200);
    EXPECT_THAT(message, Not(HasSubstr("\n")));
  }
}

TEST(PlanYamlErrors, AnUnknownKeyNamesTheKnownOnesAndTheClosest) {
  EXPECT_EQ(
      MessageFor("workload:\n  dir: /x\n  qmm: 4\n"),
      "plan.yaml:3:3: 'qmm' is not a key of workload; expected one of dir, qm, file_size, num_files, file_prefix, "
      "sync, direct, delay, rate, cpu_load, arrival, min_free, qm_dirs, files, share, create, one_pass, overwrite, "
      "pause; did you mean 'qm'?");
}

TEST(PlanYamlErrors, AKeyThatIsAnOptionOrBelongsElsewhereIsLedToItsPlace) {
  EXPECT_THAT(MessageFor("bsize: 4k\n"), HasSubstr("; did you mean 'block_size'?"));
  EXPECT_THAT(MessageFor("workload: {fileSize: 4k}\n"), HasSubstr("; did you mean 'file_size'?"));
  EXPECT_THAT(MessageFor("require: p99<1ms\n"), HasSubstr("; did you mean 'criteria'?"));
  EXPECT_THAT(MessageFor("name: x\nqm: 4\n"), HasSubstr("; 'qm' is a key of workload"));
  EXPECT_THAT(MessageFor("workload: {duration: 4}\n"), HasSubstr("; 'duration' is a key of the plan itself"));
  EXPECT_THAT(MessageFor("workload: {bsize: 4k}\n"), HasSubstr("; 'block_size' is a key of the plan itself"));
  EXPECT_THAT(MessageFor("fileSize: 16m\n"), HasSubstr("; 'file_size' is a key of workload"));
  EXPECT_THAT(MessageFor("hosts: [{adress: x}]\n"), HasSubstr("not a key of a host; expected one of address, workload; "
                                                              "did you mean 'address'?"));
}

TEST(PlanYamlErrors, KeysAreReportedWhereTheyStand) {
  ExpectMistakes({
      {"storage: x\n", "1:1: 'storage' is not a key of the plan; expected one of name, hosts, workload, "},
      {"duration: 4\nname: x\nduration: 5\n", "3:1: 'duration' is given twice; first in line 1"},
      {"workload: {qm: 1, qm: 2}\n", "1:19: 'qm' is given twice; first in line 1"},
      {"? [a]\n: 1\n", "1:3: expected a key of the plan, not a list"},
      {"\"a\\nb\": 1\n", "1:1: 'a?b' is not a key of the plan"},
      {"<<: {qm: 1}\n", "1:1: '<<' is not a key of the plan"},
      {"name: x\n" + std::string(100, 'k') + ": 1\n",
       "2:1: '" + std::string(60, 'k') + "...' is not a key of the plan"},
  });
}

TEST(PlanYamlErrors, AllMistakesAreReportedAtOnceUpToTwenty) {
  EXPECT_EQ(MessageFor("nam: x\nduration: 4q\nhosts: [http://a, b]\nworkload:\n  qm: 0\n  dir: [x]\n  qm: 1\n"),
            absl::StrCat("plan.yaml:1:1: 'nam' is not a key of the plan; expected one of ",
                         absl::StrJoin(FieldKeys(*v1::TestPlan::descriptor()), ", "),
                         "; did you mean 'name'?\n"
                         "plan.yaml:2:11: duration: '4q' is not a time: expected a time from 100ms to 3650d; units "
                         "are ns, us, ms, s, m, h and d, such as 250us or 1h30m\n"
                         "plan.yaml:3:9: hosts: 'http://a' is not a host: drop 'http://': write a\n"
                         "plan.yaml:5:7: qm: '0' is out of range: expected a whole number from 1 to 4096\n"
                         "plan.yaml:6:8: dir: expected text of at most 4096 bytes, not a list\n"
                         "plan.yaml:7:3: 'qm' is given twice; first in line 5"));
  std::string many;
  for (int i = 0; i < 30; ++i) absl::StrAppend(&many, "x", i, ": 1\n");
  EXPECT_EQ(std::count(many.begin(), many.end(), '\n'), 30);
  const std::string reported = MessageFor(many);
  EXPECT_EQ(std::count(reported.begin(), reported.end(), '\n'), 20);
  EXPECT_THAT(reported, EndsWith("\nplan.yaml: more errors follow; correct these first"));
  // Where there are no more, nothing says so.
  EXPECT_THAT(MessageFor(many.substr(0, many.find("x20"))), Not(HasSubstr("more errors")));
}

// What CheckPlan says of the text, a line each, without the values that are possible.
std::vector<std::string> ErrorsOf(const std::string& text) {
  PlanPlaces places;
  absl::StatusOr<v1::TestPlan> plan = ReadPlan(text, "plan.yaml", &places);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  FillDefaults(*plan);
  return absl::StrSplit(std::string(CheckPlan(*plan, places).message()), '\n');
}

TEST(PlanYamlErrors, WrongValuesHideNoErrorsOfMeaning) {
  EXPECT_THAT(
      ErrorsOf("hosts: [a, a]\ncriteria: [p99<10, speed>1]\nworkload:\n  qm: 0\n  dir: rel\nuntil_steady: 1s\n"),
      ElementsAre(HasSubstr("plan.yaml:1: --hosts (hosts): a:7461 is listed twice"),
                  HasSubstr("plan.yaml:2: --require (criteria): 'p99<10' is not a criterion"),
                  HasSubstr("plan.yaml:2: --require (criteria): 'speed>1' is not a criterion"),
                  HasSubstr("plan.yaml:4:7: qm: '0' is out of range"),
                  HasSubstr("plan.yaml:5: --dir (workload.dir) 'rel' is not absolute"),
                  HasSubstr("plan.yaml:6: --until-steady (until_steady) 1s is too short for 5 rounds")));
  EXPECT_THAT(ErrorsOf("workload: {qm: 0}\n"),
              ElementsAre(HasSubstr("qm: '0' is out of range"), HasSubstr("--dir (workload.dir) is missing")));
}

TEST(PlanYamlErrors, WhatFollowsFromAWrongValueIsLeftOut) {
  // The default of the extents' size is smaller than this block.
  EXPECT_THAT(ErrorsOf("block_size: 64m\nworkload: {dir: /x, file_size: 1q}\n"), ElementsAre(HasSubstr("'1q'")));
  EXPECT_THAT(ErrorsOf("workload: {dir: /x, arrival: poisson, rate: fast}\n"), ElementsAre(HasSubstr("'fast'")));
  EXPECT_THAT(ErrorsOf("workload: {dir: /x, direct: maybe, file_size: 5000001}\n"), ElementsAre(HasSubstr("'maybe'")));
  EXPECT_THAT(ErrorsOf("workload: 5\n"), ElementsAre(HasSubstr("expected keys of workload")));
  EXPECT_THAT(ErrorsOf("5\n"), ElementsAre(HasSubstr("expected keys of the plan")));
  EXPECT_THAT(ErrorsOf("workload: {dir: /x}\nhosts: ['http://b']\ncriteria: ['fairness>=0.9', 'fairness@host>=0.9']\n"),
              ElementsAre(HasSubstr("'http://b' is not a host")));
  // A key whose name is a word of the problem has nothing to do with it.
  EXPECT_THAT(ErrorsOf("name: [x]\nworkload: {qm: 2}\n"),
              ElementsAre(HasSubstr("name: expected text"), HasSubstr("--dir (workload.dir) is missing: name the")));
  // Either may be the directory.
  EXPECT_THAT(ErrorsOf("workload: {dri: /x}\n"), ElementsAre(HasSubstr("did you mean 'dir'?")));
  EXPECT_THAT(ErrorsOf("workload: {elsewhere: /x}\n"), ElementsAre(HasSubstr("'elsewhere' is not a key")));
  // A host that cannot be read, and one whose home it is.
  EXPECT_THAT(ErrorsOf("hosts: [a, 'http://b', c]\nworkload: {dir: /x, rate: 100}\nplacement:\n"
                       "  - {qm: Q1, home: a, standby: b}\n  - {qm: Q1, home: c, standby: a}\n"),
              ElementsAre(HasSubstr("'http://b' is not a host"),
                          HasSubstr("plan.yaml:5: placement[2].qm: Q1 is there already")));
  EXPECT_THAT(ErrorsOf("hosts: [a, b]\nworkload: {dir: /x, rate: 100}\nplacement:\n"
                       "  - {qm: Q1, home: a, standby: [b]}\n"),
              ElementsAre(HasSubstr("plan.yaml:4:32: standby: expected")));
}

TEST(PlanYamlErrors, ARangeInAListIsToBeQuoted) {
  EXPECT_THAT(MessageFor("hosts: [a, node[1-3].x:70, b]\n"), HasSubstr("quote it: \"node[1-3].x:70\""));
  EXPECT_THAT(MessageFor("hosts: [a, [1-3]\n"), Not(HasSubstr("quote")));
}

TEST(PlanYamlErrors, WhatACheckFindsIsReportedWithItsLineUnlessAnOptionSetIt) {
  PlanPlaces places;
  const auto plan = ReadPlan("duration: 1h\nmax_slew: 20\nworkload:\n  file_size: 5000k\n", "plan.yaml", &places);
  ASSERT_TRUE(plan.ok());
  const PlanProblem file_size(PlanKey("workload.file_size"), " ", 5000, "k is wrong");
  EXPECT_THAT(places.Locate({file_size, PlanProblem(PlanKey("max_slew", "max_slew"), ": bad"),
                             PlanProblem(PlanKey("workload.dir"), " x")}),
              ElementsAre("plan.yaml:2: max_slew: bad", "plan.yaml:4: --file-size (workload.file_size) 5000k is wrong",
                          "--dir (workload.dir) x"));
  v1::TestPlan changed = *plan;
  changed.mutable_workload()->set_file_size_bytes(6000);
  places.ForgetChanged(*plan, changed);
  EXPECT_THAT(places.Locate({file_size}), ElementsAre("--file-size (workload.file_size) 5000k is wrong"));
}

TEST(PlanYamlErrors, ValuesAreReportedWhereTheyStand) {
  ExpectMistakes({
      {"workload:\n  file_size: 64q\n", "2:14: file_size: '64q' is not a size: expected a size from 4k to 2t, such as"},
      {"workload:\n  qm:   0\n", "2:9: qm: '0' is out of range: expected a whole number from 1 to 4096"},
      {"duration: -5\n", "1:11: duration: '-5' is out of range: expected a time from 100ms to 3650d"},
      {"duration: 11y\n", "1:11: duration: '11y' is not a time"},
      {"max_slew: fast\n", "1:11: max_slew: 'fast' is not a number: expected a number from 1 to 10000"},
      {"on_host_loss: ignore\n", "1:15: on_host_loss: 'ignore' is not known: expected one of abort, continue"},
      {"keep_files: maybe\n", "1:13: keep_files: 'maybe' is not a yes or no: expected true or false"},
      {"name: \"a\\x07\"\n", "1:7: name: 'a?' holds a character that does not show"},
      {"block_size: [4k, 16q]\n", "1:18: block_size: '16q' is not a size"},
      {"block_size:\n  - 4k\n  - 100\n", "3:5: block_size: '100' is out of range: expected a size from 512 to 64m"},
      {"block_size: 4k,,16k\n", "1:13: block_size: '' is not a size"},
  });
}

TEST(PlanYamlErrors, WrongTypesAreReportedWithWhatIsExpected) {
  ExpectMistakes({
      {"duration: [4]\n", "1:11: duration: expected a time from 100ms to 3650d, not a list"},
      {"workload:\n  qm:\n    a: 1\n", "3:5: qm: expected a whole number from 1 to 4096, not a map"},
      {"workload: 4\n", "1:11: expected keys of workload with their values, not text"},
      {"workload: [qm]\n", "1:11: expected keys of workload with their values, not a list"},
      {"block_size: {a: 4k}\n", "1:13: block_size: expected a size from 512 to 64m, not a map"},
      {"block_size: [[4k]]\n", "1:14: block_size: expected a size from 512 to 64m, not a list"},
      {"block_size: [4k, ~]\n", "1:18: block_size: expected a size from 512 to 64m, not nothing"},
      {"block_size: []\n", "1:1: 'block_size' has no value; expected a list; each one a size from 512 to 64m"},
      {"duration:\nrepeat: 3\n", "1:1: 'duration' has no value; expected a time from 100ms to 3650d"},
      {"name: ~\n", "1:1: 'name' has no value; expected text of at most 4096 bytes"},
      {"workload:\n", "1:1: 'workload' has no value; expected keys with values, such as dir, qm, "},
      {"plan\n", "1:1: expected keys of the plan with their values, not text"},
      {"- name: x\n", "1:1: expected keys of the plan with their values, not a list"},
      {"", "1:1: expected keys of the plan with their values, not nothing"},
      {"# nothing\n", "1:1: expected keys of the plan with their values, not nothing"},
  });
}

TEST(PlanYamlErrors, HostsAreReportedWhereTheyStand) {
  ExpectMistakes({
      {"hosts: {a: b}\n", "1:8: hosts: expected a list of hosts, not a map"},
      {"hosts: node[1-\n", "1:8: hosts: 'node[1-' is not a host: expected ']' after the range"},
      {"hosts:\n  - a\n  - b:x\n", "3:5: hosts: 'b:x' is not a host: expected ':' and a port"},
      {"hosts:\n  - [a]\n", "2:5: expected keys of a host with their values, not a list"},
      {"hosts:\n  - workload: {qm: 1}\n", "2:5: a host without its address; expected the key 'address'"},
      {"hosts:\n  - address: a\n    workload: {qm: 0}\n", "3:20: qm: '0' is out of range"},
      {"hosts: ['n[1-4096]', m]\n", "1:22: hosts: more than 4096 hosts"},
      {"hosts:\n", "1:1: 'hosts' has no value"},
  });
}

TEST(PlanYamlErrors, WhatIsNoYamlIsReportedWhereItBreaks) {
  ExpectMistakes({
      {"block_size: [4k\n", "2:1: not YAML: a list is not closed: expected ']'"},
      {"name: \"x\n", "1:7: a quote that is not closed"},
      {"name: 'x\n", "1:7: a quote that is not closed"},
      {"\xEF\xBB\xBFname: \"\xC3\xA4\"\nworkload: {dir: \"x\\\"\n", "2:17: a quote that is not closed"},
      {"workload: {qm: 1\n", "2:1: not YAML: a map is not closed: expected '}'"},
      {"name: x\n  qm: : 3\n", "2:5: not YAML: ':' is not expected here: check the indentation, or quote the text"},
      {"\tname: x\n", "1:6: not YAML: ':' is not expected here"},
      {"name: @x\n", "1:7: not YAML: a character that no value begins with: quote the text"},
      {"workload:\n  qm: 1\n dir: /x\n",
       "3:2: not YAML: the line does not fit what is above it: check the indentation"},
      {"name: \"\\q\"\n", "1:10: not YAML: an unknown escape after '\\': use single quotes"},
      {"name: x\n---\nname: y\n", "2:1: a second document; expected one plan"},
      {"name: a\xFF\n", "1:8: not UTF-8; a plan is UTF-8 text"},
      {"name: x\nduration: \x01\n", "2:11: a control character; a plan is text"},
      {std::string_view("\xFF\xFEn\0", 4), "1:1: not UTF-8; a plan is UTF-8 text"},
  });
}

TEST(PlanYamlErrors, AnchorsAliasesAndTagsAreRefused) {
  ExpectMistakes({
      {"name: &a x\n", "1:7: anchors are not supported in a plan"},
      {"workload: &w {qm: 1}\nname: x\n", "1:11: anchors are not supported in a plan"},
      {"name: *a\n", "1:7: not YAML: aliases are not supported in a plan"},
      {"name: !!str x\n", "1:7: tags are not supported in a plan"},
      {"workload: !x {qm: 1}\n", "1:11: tags are not supported in a plan"},
  });
}

TEST(PlanYamlErrors, DepthNodesAndSizeAreBounded) {
  std::string items = "block_size: [4k";
  for (size_t i = 0; i < kMaxYamlNodes; ++i) items += ",4k";
  ExpectMistakes({
      {std::string(9, '[') + std::string(9, ']'), "1:9: more than 8 levels"},
      {std::string(100'000, '['), "1:"},
      {items + "]", absl::StrCat("1:", 14 + 3 * (kMaxYamlNodes - 3), ": more than 200000 values")},
      {"name: " + std::string(kMaxYamlBytes, 'x'), "1:1: larger than 1048576 bytes; this is not a plan"},
  });
}

TEST(PlanYamlErrors, AnAliasBombEndsAtItsFirstAnchor) {
  std::string bomb = "a: &a [x, x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    absl::StrAppend(&bomb, std::string(1, c), ": &", std::string(1, c), " [*", before, ", *", before, "]\n");
  }
  ExpectMistakes({{bomb, "1:4: anchors are not supported in a plan"}});
}

TEST(PlanYamlErrors, AFileThatCannotBeReadIsNamed) {
  EXPECT_THAT(ReadPlanFile("/nonexistent/plan.yaml"),
              StatusIs(absl::StatusCode::kNotFound,
                       "/nonexistent/plan.yaml does not exist; `plimsoll plan example` prints a plan"));
  EXPECT_THAT(ReadPlanFile("/usr"), StatusIs(absl::StatusCode::kInvalidArgument,
                                             "/usr is a directory, not a plan; to measure it, use --dir /usr"));
  EXPECT_THAT(ReadPlanFile("/dev/zero"),
              StatusIs(absl::StatusCode::kInvalidArgument, "/dev/zero is larger than 1048576 bytes"));
}

}  // namespace
}  // namespace plimsoll
