#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/mqldt.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

// Hosts with these names, one writer each, 20 ms writes for a second.
v1::Report ReportOf(const std::vector<std::string>& names, int64_t latency_ns = 20 * kNsPerMs) {
  SimRun run;
  for (const std::string& name : names) {
    SimHost host;
    host.label = name;
    host.steps = {{tests::Steady(run.duration_ns, latency_ns)}};
    run.hosts.push_back(host);
  }
  return tests::Analyze(tests::MakeJournal(run));
}

std::vector<size_t> Widths(const std::string& text) {
  std::vector<size_t> widths;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    widths.push_back(DisplayWidth(line));
  }
  return widths;
}

TEST(PlainText, FilesAreNamedByTheFirstAndTheLastOneThatIsUsed) {
  v1::LogWorkload workload;
  workload.set_qm(4);
  EXPECT_EQ(ShortenFiles(workload), "");
  for (const char* const file : {"F0", "F1", "F2", "F3", "F4"}) workload.add_files(file);
  EXPECT_EQ(ShortenFiles(workload), "F0 ... F3 (4 files)");
  workload.set_qm(2);
  EXPECT_EQ(ShortenFiles(workload), "F0, F1 (2 files)");
  workload.set_qm(1);
  EXPECT_EQ(ShortenFiles(workload), "F0");
}

TEST(Text, NoLineIsWiderThanEightyColumns) {
  const std::string wide = std::string(300, 'x');
  v1::Report report = ReportOf({wide + "1", wide + "2", "\u65e5\u672c\u8a9e\u30db\u30b9\u30c8" + wide}, 1'000);
  report.add_notes(wide + " " + wide);
  report.mutable_run()->set_name(wide);
  report.mutable_run()->set_id(wide);
  for (v1::ScopeReport& scope : *report.mutable_steps(0)->mutable_scopes()) {
    scope.set_iops(1'234'567.8);
    scope.set_mb_per_second(123'456.78);
    scope.set_bytes(UINT64_MAX);
    scope.set_writes(UINT64_MAX);
    scope.mutable_latency()->set_max_ns(3'600'000'000'000);
    scope.mutable_latency()->set_avg_ns(3.6e12);
  }
  EXPECT_THAT(Widths(RenderText(report)), Each(Le(size_t{80})));
}

TEST(Text, LongNamesAreShortenedAndStillDiffer) {
  const std::string text =
      RenderText(ReportOf({"node-with-a-very-long-common-name-0001.example.org-which-does-not-fit",
                           "node-with-a-very-long-common-name-0002.example.org-which-does-not-fit"}));
  EXPECT_THAT(text, ContainsRegex("\n  [^ ]*\u2026[^ ]*0001[^ ]* +1 "));
  EXPECT_THAT(text, ContainsRegex("\n  [^ ]*\u2026[^ ]*0002[^ ]* +1 "));
}

TEST(Text, NamesThatDifferInTheMiddleStayDifferentInEveryPart) {
  std::vector<std::string> names;
  for (int i = 1; i <= 3; ++i) names.push_back(absl::StrCat("a-rather-long-storage-client-name-0", i, ".example.com"));
  for (int slowest = 0; slowest < 3; ++slowest) {
    v1::Report report = ReportOf(names);
    v1::StepReport& step = *report.mutable_steps(0);
    step.mutable_slowest(0)->set_host(names[static_cast<size_t>(slowest)]);
    step.mutable_slowest(0)->set_latency_ns(int64_t{900} * kNsPerSecond);
    for (v1::ScopeReport& scope : *step.mutable_scopes()) {
      if (scope.kind() == v1::SCOPE_KIND_CLUSTER) *scope.mutable_slowest() = step.slowest(0);
    }
    step.mutable_stalls()->set_count(1);
    v1::StallReport& stall = *step.mutable_stalls()->add_stalls();
    stall.set_stall_class(v1::STALL_CLASS_ONE_HOST);
    stall.add_hosts(names[static_cast<size_t>(slowest)]);
    const std::string text = RenderText(report);
    const std::string number = absl::StrCat(slowest + 1, "[.]ex");
    EXPECT_THAT(text, ContainsRegex(absl::StrCat("\n  Slowest write [^\n]*, [^\n]*", number, "[^\n]*/qm1\n")));
    EXPECT_THAT(text, ContainsRegex(absl::StrCat("\n  [-0-9:. ]+ one host +[^ ]*", number)));
    EXPECT_THAT(text.substr(text.find("\nClocks")),
                ContainsRegex(absl::StrCat("\n  [^ ]*\u2026[^ ]*", number, "[^ ]* ")));
    EXPECT_THAT(text, Not(HasSubstr("#1")));
  }
}

TEST(Text, TheNumberOfNotesHasThoseThatAreOnlyCounted) {
  v1::Report report = ReportOf({"alpha"});
  report.clear_notes();
  for (const char* note : {"one.", "two.", "three.", "... and 1,002 more like it."}) report.add_notes(note);
  EXPECT_THAT(RenderText(report), HasSubstr("\n  1,005 notes at the end\n"));
}

TEST(Text, LongNamesAreShortenedInTheMiddleWhereThatLeavesThemDifferent) {
  const std::string text = RenderText(ReportOf({"logger-of-the-first-datacentre-in-the-north-of-the-country-01",
                                                "logger-of-the-first-datacentre-in-the-north-of-the-country-02"}));
  EXPECT_THAT(text, ContainsRegex("\n  logger-[^ ]*\u2026[^ ]*-01 +1 "));
  EXPECT_THAT(text, ContainsRegex("\n  logger-[^ ]*\u2026[^ ]*-02 +1 "));
}

TEST(Text, StallsOfManyHostsStayWithinTheWidthAndSayWhatIsMissing) {
  v1::Report report = ReportOf({"alpha"});
  v1::StepReport& step = *report.mutable_steps(0);
  v1::StallsReport& stalls = *step.mutable_stalls();
  stalls.Clear();
  stalls.set_threshold_ns(100 * kNsPerMs);
  stalls.set_count(1'200);
  stalls.set_left_out(77'000);
  for (int i = 1; i <= 7; ++i) {
    stalls.add_classes()->set_stall_class(static_cast<v1::StallClass>(i));
    stalls.mutable_classes()->rbegin()->set_count(1'000'000);
  }
  for (int64_t i = 0; i < 100; ++i) {
    v1::StallReport& stall = *stalls.add_stalls();
    stall.set_stall_class(static_cast<v1::StallClass>(1 + i % 7));
    stall.set_offset_ns(i * kNsPerSecond);
    stall.set_length_ns((i % 10 == 3 ? 700 : 200) * kNsPerSecond + i);
    stall.set_error_ns(999 * kNsPerMs);
    stall.set_open(true);
    // Another day than the run's begin.
    stall.mutable_begin()->set_seconds(1'795'402'411 + i);
    for (int host = 0; host < 50; ++host) stall.add_hosts("node\x1b-with-a-long-name-" + std::to_string(host));
    for (uint32_t qm = 16; qm > 0; --qm) stall.add_writers()->set_qm(qm);
    stall.set_writers_count(40);
  }
  const std::string text = RenderText(report);
  EXPECT_THAT(Widths(text), Each(Le(size_t{80})));
  EXPECT_THAT(text, HasSubstr("1,000,000 x all hosts: the storage; "));
  EXPECT_THAT(text, HasSubstr("These are the 10 longest of 1,200; report.json has up to 100 of them."));
  EXPECT_THAT(text, HasSubstr("77,000 possible stall intervals"));
  // The ten longest, in the order of time.
  size_t last = 0;
  for (int64_t i = 3; i < 100; i += 10) {
    const size_t found = text.find(" 700,000 ", last + 1);
    ASSERT_NE(found, std::string::npos) << i;
    last = found;
  }
  EXPECT_EQ(text.find(" 200,000 "), std::string::npos);
}

TEST(Text, AStallOfSomeWritersNamesThem) {
  v1::Report report = ReportOf({"alpha"});
  v1::StallsReport& stalls = *report.mutable_steps(0)->mutable_stalls();
  stalls.set_count(1);
  v1::StallReport& stall = *stalls.add_stalls();
  stall.set_stall_class(v1::STALL_CLASS_SOME_QMS);
  stall.add_hosts("alpha");
  for (const uint32_t qm : {3U, 1U}) stall.add_writers()->set_qm(qm);
  stall.set_writers_count(2);
  EXPECT_THAT(RenderText(report), HasSubstr("some QMs  alpha/qm1,3"));
}

TEST(Text, AThinPercentileIsADash) {
  const v1::Report report = ReportOf({"alpha"});
  // The last one ends with the step, and so is none of the measured time.
  EXPECT_EQ(report.steps(0).scopes(0).writes(), 49U);
  EXPECT_THAT(report.steps(0).scopes(0).latency().thin(), ElementsAre("p90", "p99", "p99_9", "p99_99"));
  const std::string text = RenderText(report);
  const size_t row = text.find("\n  alpha") + 1;
  const std::string line = text.substr(row, text.find('\n', row) - row);
  const std::vector<std::string> cells = absl::StrSplit(line, ' ', absl::SkipEmpty());
  EXPECT_THAT(cells, ElementsAre("alpha", "1", "49.00", "0.20", "|", "20.000", "20.000", "\u2013", "\u2013", "\u2013",
                                 "20.000"));
}

TEST(Text, FastStorageIsShownInMicroseconds) {
  EXPECT_THAT(RenderText(ReportOf({"alpha"}, 12'345)), HasSubstr("service time in us"));
  EXPECT_THAT(RenderText(ReportOf({"alpha"})), HasSubstr("service time in ms"));
}

TEST(Text, NamesCannotSteerTheTerminal) {
  const std::string evil =
      "a\x1b]0;owned\x07\x9b"
      "2J\u202e\r\nPASS\x7f";
  const v1::Report report = ReportOf({evil});
  for (const std::string& output : {RenderText(report), RenderJson(report), RenderCsv(report)}) {
    EXPECT_THAT(output, Not(HasSubstr("\x1b")));
    EXPECT_THAT(output, Not(HasSubstr("\x7f")));
    EXPECT_THAT(output, Not(HasSubstr("\x9b"
                                      "2")));
    EXPECT_THAT(output, Not(HasSubstr("\nPASS")));
  }
}

TEST(Text, AnExportMountedByAllHostsIsOneMountThoughEachHasItsOwnAddress) {
  v1::Report report = ReportOf({"alpha", "beta"});
  for (int host = 0; host < 2; ++host) {
    v1::MountReport& mount = *report.mutable_hosts(host)->mutable_mount();
    mount.set_fs_type("nfs4");
    mount.set_remote("filer:/mq");
    mount.set_mount_options("rw,hard,clientaddr=10.0.0." + std::to_string(host + 1) + ",addr=10.0.0.9");
  }
  EXPECT_THAT(RenderText(report), ContainsRegex("nfs4 from filer:/mq,[ \n]+rw,hard,addr=10.0.0.9"));
  report.mutable_hosts(1)->mutable_mount()->set_mount_options("rw,soft,clientaddr=10.0.0.2,addr=10.0.0.9");
  EXPECT_THAT(RenderText(report), HasSubstr("differs between hosts; see Hosts"));
}

TEST(PlainText, WidthIsThatOfATerminal) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("\u00e4\u2013"), 2);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("\u65e5\u672c"), 4);
  EXPECT_EQ(DisplayWidth("\U0001F6A2"), 2);
}

TEST(PlainText, WhatIsNotUtf8IsReplacedByteForByte) {
  EXPECT_EQ(SanitizeForTerminal("a\xff\xc3"), "a\ufffd\ufffd");
  EXPECT_EQ(SanitizeForTerminal("\xc0\xaf"), "\ufffd\ufffd");            // an overlong '/'
  EXPECT_EQ(SanitizeForTerminal("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");  // a surrogate
  EXPECT_EQ(SanitizeForTerminal("\xf0\x9f\x9a\xa2"), "\U0001F6A2");
}

TEST(PlainText, ShortensByColumnsNotBytes) {
  EXPECT_EQ(Shorten("\u65e5\u672c\u8a9e", 5), "\u65e5\u672c\u2026");
  EXPECT_EQ(Shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(Shorten("abcdefg", 6), "abcde\u2026");
}

TEST(PlainText, ShortenedNamesAlwaysDiffer) {
  const std::vector<std::vector<std::string>> sets = {
      {"alpha-1", "beta-22"}, {"same-start-1", "same-start-2"}, {"x-middle1-end", "x-middle2-end"}};
  for (const std::vector<std::string>& names : sets) {
    for (size_t width = 6; width < 14; ++width) {
      const std::vector<std::string> shortened = ShortenNames(names, width);
      EXPECT_EQ(std::set<std::string>(shortened.begin(), shortened.end()).size(), names.size());
      for (const std::string& name : shortened) EXPECT_LE(DisplayWidth(name), width) << name;
    }
  }
}

TEST(PlainText, NamesThatDifferInTheMiddleKeepWhatDiffers) {
  const std::vector<std::string> names = {"a-rather-long-storage-client-name-01.example.com",
                                          "a-rather-long-storage-client-name-02.example.com",
                                          "a-rather-long-storage-client-name-13.example.com"};
  const std::vector<const char*> digits = {"1", "2", "3"};
  for (size_t width = 6; width < 40; ++width) {
    const std::vector<std::string> shortened = ShortenNames(names, width);
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_LE(DisplayWidth(shortened[i]), width);
      EXPECT_THAT(shortened[i], HasSubstr(digits[i]));
      EXPECT_THAT(shortened[i], Not(HasSubstr("#")));
    }
  }
  // Where they differ in two places, what is near the first is not enough.
  EXPECT_THAT(ShortenNames({"a1-in-the-middle-b1-at-the-end-of-it", "a1-in-the-middle-b2-at-the-end-of-it",
                            "a2-in-the-middle-b1-at-the-end-of-it"},
                           8),
              ElementsAre(EndsWith("#1"), EndsWith("#2"), EndsWith("#3")));
  EXPECT_EQ(ShortenNamesIn("at " + names[1] + "/qm2", names, 24).substr(0, 3), "at ");
  EXPECT_THAT(ShortenNamesIn("at " + names[1] + "/qm2", names, 24), AllOf(HasSubstr("2.ex"), EndsWith("/qm2")));
  EXPECT_EQ(DisplayWidth(ShortenNamesIn("at " + names[1] + "/qm2", names, 24)), 24);
  EXPECT_THAT(ShortenNamesIn(names[0] + ", " + names[2], names, 40), AllOf(HasSubstr("1.ex"), HasSubstr("3.ex")));
  EXPECT_EQ(ShortenNamesIn("node1, node2", {"node1", "node2"}, 12), "node1, node2");
  EXPECT_EQ(ShortenNamesIn("no name is in it", {"node1", "node2"}, 10), "no name i\u2026");
}

TEST(PlainText, ColumnsStayInTheirPlaceWithoutShorteningAnything) {
  const std::string name(60, 'x');
  EXPECT_THAT(AlignColumns({{"host", "n", "owner"}, {name, "7", "me"}, {"b", "1,000", ""}}, "lrl"),
              ElementsAre("host" + std::string(56, ' ') + "      n  owner", name + "      7  me",
                          "b" + std::string(59, ' ') + "  1,000"));
}

TEST(PlainText, WrapsBetweenWordsAndCutsWhatIsTooLong) {
  EXPECT_THAT(Wrap("one two three four", 10), ElementsAre("one two", "three four"));
  EXPECT_THAT(Wrap("abcdefghijklm no", 10), ElementsAre("abcdefghij", "klm no"));
  EXPECT_THAT(Wrap("", 10), ElementsAre(""));
}

TEST(TextNumbers, KeepAboutFiveDigits) {
  EXPECT_EQ(FormatLatency(912'345, kNsPerMs), "0.912");
  EXPECT_EQ(FormatLatency(14'211'000, kNsPerMs), "14.211");
  EXPECT_EQ(FormatLatency(120'412'000, kNsPerMs), "120.41");
  EXPECT_EQ(FormatLatency(3'000'000'000, kNsPerMs), "3,000.0");
  EXPECT_EQ(FormatLatency(71'902'000'000, kNsPerMs), "71,902");
  EXPECT_EQ(FormatRate(13'902.4), "13,902");
  EXPECT_EQ(FormatRate(0.5), "0.50");
  EXPECT_EQ(FormatFixed(-1'234.5, 1), "-1,234.5");
  EXPECT_EQ(FormatFixed(-0.01, 1), "0.0");
  EXPECT_EQ(FormatShortTime(999), "999 ns");
  EXPECT_EQ(FormatShortTime(-41'000), "-41 us");
  EXPECT_EQ(FormatLength(500 * kNsPerMs), "500 ms");
}

TEST(Json, EscapesWhatMustBeEscaped) {
  JsonWriter json;
  json.String("\"\\\n\t\x01\x7f\u0085\u2028\xff\u00e4");
  EXPECT_EQ(json.Take(), "\"\\\"\\\\\\n\\u0009\\u0001\\u007f\\u0085\\u2028\ufffd\u00e4\"\n");
}

TEST(Json, SpellsNumbersShortestAndNeverAsNan) {
  JsonWriter json;
  json.BeginArray(true);
  json.Double(0.1);
  json.Double(1e300);
  json.Double(5);
  json.Double(std::numeric_limits<double>::quiet_NaN());
  json.Double(-std::numeric_limits<double>::infinity());
  json.UInt(UINT64_MAX);
  json.Int(INT64_MIN);
  json.EndArray();
  EXPECT_EQ(json.Take(), "[0.1, 1e+300, 5, null, null, 18446744073709551615, -9223372036854775808]\n");
}

TEST(Json, PrintsZerosAndLeavesOutWhatIsAbsent) {
  const std::string json = RenderJson(v1::Report());
  EXPECT_THAT(json, HasSubstr("\"format\": 0"));
  EXPECT_THAT(json, HasSubstr("\"notes\": []"));
  EXPECT_THAT(json, Not(HasSubstr("\"run\"")));
}

TEST(Json, EnumsHaveTheirShortNames) {
  EXPECT_EQ(EnumName(*v1::SyncMode_descriptor(), v1::SYNC_MODE_DSYNC), "dsync");
  EXPECT_EQ(EnumName(*v1::RunState_descriptor(), v1::RUN_STATE_CUT_OFF), "cut_off");
  EXPECT_EQ(EnumName(*v1::HostLossPolicy_descriptor(), 99), "unspecified");
}

// Cells of one line of CSV, quotes taken off.
std::vector<std::string> CsvCells(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

TEST(Csv, EveryRowHasTheCellsOfTheHeading) {
  const v1::Report report = ReportOf({"plain", "with, comma", "with \"quotes\""});
  for (const std::string& csv : {RenderCsv(report), RenderTimelineCsv(report), RenderMqldtCsv(report)}) {
    const std::vector<std::string> lines = absl::StrSplit(absl::StrReplaceAll(csv, {{"\r\n", "\n"}}), '\n');
    ASSERT_GE(lines.size(), 3);
    EXPECT_EQ(lines.back(), "");
    for (size_t i = 0; i + 1 < lines.size(); ++i)
      EXPECT_EQ(CsvCells(lines[i]).size(), CsvCells(lines[0]).size()) << lines[i];
  }
  const std::vector<std::string> rows = absl::StrSplit(RenderCsv(report), "\r\n");
  EXPECT_EQ(CsvCells(rows[3])[6], "with, comma");
  EXPECT_EQ(CsvCells(rows[5])[6], "with \"quotes\"");
}

TEST(Csv, MqldtsColumnsHoldRightValues) {
  SimRun run;
  run.duration_ns = 2 * kNsPerSecond;
  SimHost host;
  host.label = "alpha";
  // One millisecond each, but one write of half a second.
  host.steps = {{tests::ClosedLoop(
      run.duration_ns, 0, [](uint64_t number, int64_t) { return number == 100 ? 500 * kNsPerMs : kNsPerMs; })}};
  run.hosts.push_back(host);
  const std::vector<std::string> lines = absl::StrSplit(RenderMqldtCsv(tests::Analyze(tests::MakeJournal(run))), '\n');
  EXPECT_THAT(lines[0], HasSubstr("Min bytes/sec (slowest write),Max bytes/sec (fastest write)"));
  // 99 + 1 + 401 writes in the first second less the one that ends with it, then 1,000, and the one in flight.
  EXPECT_THAT(CsvCells(lines[1]), ElementsAre("4096", "1500", "6144000", "4096000", "2048000", "3072000", "500000000",
                                              "1000000", "1332445", "8192", "4096000"));
}

TEST(Mqldt, QueueManagersShowTheBandwidthOfASingleOneAndTheNumbersOfWrites) {
  v1::StepReport step;
  step.set_block_size_bytes(4096);
  for (const uint64_t most : {uint64_t{8192}, uint64_t{40960}}) {
    v1::ScopeReport& qm = *step.add_scopes();
    qm.set_kind(v1::SCOPE_KIND_QM);
    qm.mutable_bandwidth()->set_seconds(2);
    qm.mutable_bandwidth()->set_max_bytes_per_second(most);
    qm.mutable_bandwidth()->set_min_bytes_per_second(most / 2);
  }
  v1::ScopeReport& cluster = *step.add_scopes();
  cluster.set_kind(v1::SCOPE_KIND_CLUSTER);
  cluster.set_writes(24);
  cluster.set_iops(12);
  cluster.set_bytes(98304);
  cluster.mutable_bandwidth()->set_seconds(2);
  cluster.mutable_bandwidth()->set_avg_bytes_per_second(49152);
  cluster.mutable_latency()->set_max_ns(4'096'000);
  cluster.mutable_latency()->set_min_ns(1'000'000);
  cluster.mutable_latency()->set_avg_ns(2'000'000.4);
  cluster.mutable_slowest()->set_number(7);
  cluster.set_fastest_number(11);
  EXPECT_EQ(RenderMqldtStep(step, 2),
            "Total writes to files                                               :              24\n"
            "IOPS                                                                :              12\n"
            "Total bytes written to files                                        :           98304\n"
            "Max bytes/sec written to files by a single qm (over 1 sec interval) :           40960\n"
            "Min bytes/sec written to files by a single qm (over 1 sec interval) :            4096\n"
            "Avg bytes/sec written to files by all queue managers                :           49152\n"
            "\n"
            "Max latency of write (ns)      :         4096000 (#7)\n"
            "Min bytes/sec (slowest write)  :         1000000\n"
            "Min latency of write (ns)      :         1000000 (#11)\n"
            "Max bytes/sec (fastest write)  :         4096000\n"
            "Avg latency of write (ns)      :         2000000\n"
            "\n");
}

TEST(CsvCell, IsNoFormulaForASpreadsheet) {
  EXPECT_EQ(CsvCell(std::string("=HYPERLINK(\"http://x\")")), "\"'=HYPERLINK(\"\"http://x\"\")\"");
  EXPECT_EQ(CsvCell(std::string("@SUM(A1)")), "'@SUM(A1)");
  EXPECT_EQ(CsvCell(std::string("+1+cmd")), "'+1+cmd");
  EXPECT_EQ(CsvCell(std::string("-node")), "'-node");
  // Behind blanks, and in the wide forms.
  for (const char* text : {" =1+cmd", "\u00A0=1+cmd", "\u2003 @SUM(A1)", "\u3000-1+cmd", "\uFF1D1+cmd", " \uFF20x"}) {
    EXPECT_EQ(CsvCell(std::string(text)), std::string("'") + text);
  }
  // Tabs, line ends and what has no width are visible characters by then.
  EXPECT_EQ(CsvCell(std::string("\t=1+cmd")), "'\uFFFD=1+cmd");
  EXPECT_EQ(CsvCell(std::string("\r\n\u200B=1+cmd")), "'\uFFFD\uFFFD\uFFFD=1+cmd");
  EXPECT_EQ(CsvCell(std::string(" node =1")), " node =1");
  EXPECT_EQ(CsvCell(std::string("a;=1+cmd")), "\"a;=1+cmd\"") << "a semicolon separates cells in some countries";
  EXPECT_EQ(CsvCell(std::string("-12.5")), "-12.5") << "a number";
  EXPECT_EQ(CsvCell(int64_t{-12}), "-12");
  EXPECT_EQ(CsvCell(std::string("alpha=1")), "alpha=1");
}

}  // namespace
}  // namespace plimsoll
