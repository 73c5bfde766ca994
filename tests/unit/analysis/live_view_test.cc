#include "controller/render/live_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "tests/random_seed.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// Columns that the line takes.
size_t LineWidth(const LiveLine& line) {
  size_t width = 0;
  for (const LiveSpan& span : line) width += DisplayWidth(span.text);
  return width;
}

std::vector<std::string> Plain(const std::vector<LiveLine>& lines) {
  std::vector<std::string> text;
  text.reserve(lines.size());
  for (const LiveLine& line : lines) text.push_back(EncodeLine(line, false));
  return text;
}

std::string Screen(const LiveView& view, size_t width, size_t height) {
  return absl::StrJoin(Plain(DrawLive(view, width, height)), "\n");
}

LiveHost HostOf(const std::string& label, uint64_t p99_ns) {
  LiveHost host;
  host.label = label;
  host.has_figures = true;
  host.figures = {1'000, 1'000, 4.096, 400'000, p99_ns, 2 * p99_ns};
  host.oldest_write_ns = 300'000;
  return host;
}

// A step of 30 s, 12 of them measured.
LiveView ViewOf(size_t hosts) {
  LiveView view;
  view.now.step = 2;
  view.now.steps = 3;
  view.now.block_size_bytes = 4096;
  view.now.duration_ns = 30 * kNsPerSecond;
  view.now.warmup_ns = 5 * kNsPerSecond;
  view.now.elapsed_ns = 12 * kNsPerSecond + 300 * kNsPerMs;
  view.now.later_steps_ns = 35 * kNsPerSecond;
  for (size_t i = 0; i < hosts; ++i) view.now.hosts.push_back(HostOf(absl::StrCat("node", i + 1), (i + 1) * kNsPerMs));
  for (int64_t i = 0; i < 12; ++i) {
    LiveSecond second;
    second.number = i;
    second.end_ns = (i + 1) * kNsPerSecond;
    second.cluster = {4'000, 4'000, 16.384, 400'000, 1'000'000, 9'000'000};
    second.worst_host = "node3";
    second.worst = {1'000, 1'000, 4.096, 400'000, 3'000'000, 6'000'000};
    view.seconds.push_back(second);
  }
  view.criteria = {{"p99<10ms", LiveState::kPassing, "3.000 ms", "step 2, node3/qm1"},
                   {"max<5ms", LiveState::kFailing, "9.000 ms", "step 1, node1/qm2"},
                   {"steady", LiveState::kUndecided, "", ""}};
  LiveStall stall;
  stall.begin_ns = 8'300 * kNsPerMs;
  stall.end_ns = 9'540 * kNsPerMs;
  stall.names = {"node2/qm1", "node3/qm1"};
  stall.writers = 5;
  stall.hosts = 3;
  view.stalls = {stall};
  view.stalls_so_far = 1;
  return view;
}

TEST(LiveTable, ShowsHostsCriteriaAndStalls) {
  const std::vector<std::string> lines = Plain(DrawLive(ViewOf(3), 80, 24));
  const std::string screen = absl::StrJoin(lines, "\n");
  EXPECT_EQ(lines[0], "step 2 of 3  4 KiB  measuring 12 of 30 s");
  EXPECT_THAT(lines[1], HasSubstr("step ends in 18 s, run ends in about 53 s"));
  EXPECT_THAT(screen, HasSubstr("\nall 3 hosts     4,000     16.38    0.400    1.000    9.000        0.3 ms\n"
                                "node3           1,000      4.10    0.400    3.000    6.000        0.3 ms\n"
                                "node2 "));
  EXPECT_THAT(screen, HasSubstr("criteria  1 failing  1 undecided  1 pass so far\n"
                                "  p99<10ms  pass so far  3.000 ms  step 2, node3/qm1\n"
                                "  max<5ms   failing      9.000 ms  step 1, node1/qm2\n"
                                "  steady    undecided "));
  EXPECT_THAT(screen, HasSubstr("stalls  1 so far in this step\n"
                                "  at      8.3 s     1.240 s         3 hosts: node2/qm1, node3/qm1 and 3 more"));
}

TEST(LiveTable, LongNamesThatDifferInTheMiddleStayDifferent) {
  for (const size_t host : {0U, 1U, 2U}) {
    LiveView view = ViewOf(3);
    std::vector<std::string> names;
    for (size_t i = 0; i < 3; ++i) {
      names.push_back(absl::StrCat("a-rather-long-storage-client-name-0", i + 1, ".example.com"));
      view.now.hosts[i].label = names[i];
    }
    const std::string number = absl::StrCat(host + 1, ".ex");
    view.criteria[0].place = absl::StrCat("step 2, ", names[host], "/qm1");
    view.stalls[0].names = {absl::StrCat(names[host], "/qm1")};
    view.stalls[0].writers = 1;
    view.stalls[0].hosts = 1;
    view.seconds.back().worst_host = names[host];
    EXPECT_THAT(SecondLine(view.now, view.seconds.back()), HasSubstr(number));
    std::vector<std::string> shown;
    for (const std::string& line : Plain(DrawLive(view, 60, 24))) {
      if (line.rfind("  p99<10ms", 0) == 0 || line.rfind("  at ", 0) == 0) shown.push_back(line);
    }
    EXPECT_THAT(shown,
                ElementsAre(AllOf(HasSubstr(number), EndsWith("/qm1")), AllOf(HasSubstr(number), EndsWith("/qm1"))));
  }
}

TEST(LiveTable, OfRoundsTheNumberOfTheRoundIsShownAndNoLastStep) {
  LiveView view = ViewOf(1);
  view.now.step = view.now.steps = 14;
  view.now.round_steps = 4;
  EXPECT_THAT(Plain(DrawLive(view, 80, 24))[0], HasSubstr("step 14, round 4  4 KiB"));
}

TEST(LiveTable, TheWarmUpIsLabelled) {
  LiveView view = ViewOf(1);
  view.now.elapsed_ns = -2 * kNsPerSecond;
  EXPECT_THAT(Plain(DrawLive(view, 80, 24))[0], HasSubstr("warm-up 3 of 5 s (not counted)"));
}

TEST(LiveTable, HostsThatDoNotFitAreCountedAndTheWorstAreShown) {
  const std::string screen = Screen(ViewOf(40), 80, 24);
  EXPECT_THAT(screen, HasSubstr("\nnode40 "));
  EXPECT_THAT(screen, Not(HasSubstr("\nnode2 ")));
  EXPECT_THAT(screen, ::testing::ContainsRegex("\nand [0-9]+ more hosts"));
  // Where there is room all of them are shown.
  EXPECT_THAT(Screen(ViewOf(40), 200, 60), Not(HasSubstr("more hosts")));
}

TEST(LiveTable, AHostThatMakesNoProgressComesFirst) {
  LiveView view = ViewOf(4);
  view.now.hosts[0].oldest_write_ns = 3'200 * kNsPerMs;
  view.now.hosts[0].oldest_write_qm = 2;
  view.now.hosts[1].lost = true;
  view.now.hosts[2].silent_ns = 4 * kNsPerSecond;
  const std::string screen = Screen(view, 80, 24);
  EXPECT_THAT(screen, ::testing::ContainsRegex("\nnode3 .* silent 4 s\nnode1 .* qm2 3.2 s\nnode2 .* lost\nnode4 "));
}

TEST(LiveTable, LongNamesAreShortenedAndStillDiffer) {
  LiveView view = ViewOf(2);
  view.now.hosts[0].label = "storage-client-frankfurt-01.example.com";
  view.now.hosts[1].label = "storage-client-frankfurt-02.example.com";
  const std::vector<std::string> lines = Plain(DrawLive(view, 80, 24));
  std::vector<std::string> names;
  for (const std::string& line : lines) {
    if (line.rfind("stor", 0) == 0) names.push_back(line.substr(0, line.find(' ')));
  }
  ASSERT_EQ(names.size(), 2);
  EXPECT_NE(names[0], names[1]);
}

TEST(LiveTable, TheChartGrowsWithThePercentileAndMarksSecondsWithoutAWrite) {
  LiveView view = ViewOf(1);
  view.seconds.resize(4);
  for (size_t i = 0; i < 3; ++i) view.seconds[i].cluster.p99_ns = uint64_t{kNsPerMs} << (2 * i);
  view.seconds[3].cluster = {};
  view.now.hosts.resize(1);
  const std::vector<std::string> lines = Plain(DrawLive(view, 80, 12));
  EXPECT_THAT(lines, ::testing::Contains("▁▄█·"));
}

TEST(LiveTable, TextFromAgentsDoesNotSteerTheTerminal) {
  LiveView view = ViewOf(2);
  view.now.hosts[0].label = "\x1b[2Jevil\nname";
  view.stalls[0].names[0] = "\x1b]0;evil\x07";
  view.criteria[0].place = "\x1b[31mevil";
  view.messages = {"host \x1b[5mevil is lost"};
  view.phase = "stopping (\x1b[5mevil)";
  for (const std::string& line : Plain(DrawLive(view, 120, 40))) {
    for (const char each : line) EXPECT_FALSE(static_cast<unsigned char>(each) < 0x20 || each == 0x7f) << line;
  }
}

TEST(LiveTable, OfASearchTheLoadTheBracketTheBudgetAndTheOutcomeOfEachStepAreUncut) {
  LiveView view = ViewOf(12);
  view.now.later_steps_ns = 0;
  view.outlook = "search: 1,730 writes/s per queue manager; limit from 1,538 to 1,923";
  view.left_ns = 300 * kNsPerSecond;
  view.messages = {"step 6, search: 1,538 writes/s per queue manager: met (p99<10ms: 8.412 ms)",
                   "step 8, search: 1,923 writes/s per queue manager: exceeded (service_p99@cluster<10ms: 12.410 ms)"};
  for (const size_t height : {size_t{24}, size_t{50}}) {
    const std::string screen = Screen(view, 80, height);
    EXPECT_THAT(screen, HasSubstr("\nsearch: 1,730 writes/s per queue manager; limit from 1,538 to 1,923\n"));
    EXPECT_THAT(screen, HasSubstr("step ends in 18 s, 4 min 43 s of the budget left"));
    // Where not all fit, the last ones are shown.
    if (height > 24) {
      EXPECT_THAT(screen, HasSubstr("1,538 writes/s per queue manager: met (p99<10ms: 8.412 ms)"));
    }
    EXPECT_THAT(screen, HasSubstr("1,923 writes/s per queue manager: exceeded"));
    EXPECT_THAT(screen, HasSubstr("12.410 ms)"));
  }
}

TEST(LiveTable, ColourIsAroundWholeSpansOnly) {
  const LiveLine line = {{"a ", LiveStyle::kPlain}, {"failing", LiveStyle::kBad}};
  EXPECT_EQ(EncodeLine(line, true), "a \033[31mfailing\033[0m");
  EXPECT_EQ(EncodeLine(line, false), "a failing");
}

TEST(LiveLines, ASecondIsTheClusterAndTheWorstHost) {
  const LiveView view = ViewOf(12);
  const std::string line = SecondLine(view.now, view.seconds.back());
  EXPECT_EQ(line,
            "step 2/3  4 KiB  12 s/30 s  4,000 IO/s  16.38 MB/s  p50 0.400  p99 1.000  max 9.000 ms  "
            "worst node3: p99 3.000 max 6.000");
}

TEST(LiveLines, HostsThatMakeNoProgressAreNamedUpToThree) {
  LiveView view = ViewOf(12);
  view.now.hosts[0].lost = true;
  view.now.hosts[1].oldest_write_ns = 3'200 * kNsPerMs;
  view.now.hosts[1].oldest_write_qm = 2;
  for (size_t i = 2; i < 6; ++i) view.now.hosts[i].silent_ns = 5 * kNsPerSecond;
  EXPECT_THAT(SecondLine(view.now, view.seconds.back()),
              HasSubstr("  node1 lost  node2/qm2 in one write for 3 s  node3 silent for 5 s  and 3 more hosts"));
  EXPECT_EQ(StallLine(view.stalls[0]), "stall at 8.3 s for 1.240 s: 3 hosts, node2/qm1, node3/qm1 and 3 more");
}

// Anything that a run may show, and more.
LiveView RandomView(std::mt19937_64& random) {
  const auto below = [&random](uint64_t limit) {
    return std::uniform_int_distribution<uint64_t>(0, limit - 1)(random);
  };
  const auto time_ns = [&] { return static_cast<int64_t>(below(uint64_t{1} << below(62))); };
  const auto text = [&] {
    static constexpr const char* kPieces[] = {"node",         "é",   "語", "\x1b[1m", "\n", "-very-long-name",
                                              ".example.com", "\xff"};
    std::string made;
    for (uint64_t i = below(8); i > 0; --i) made += kPieces[below(std::size(kPieces))];
    return made;
  };
  const auto figures = [&] {
    return LiveFigures{below(1'000'000'000),
                       static_cast<double>(below(1'000'000'000)) / 7,
                       static_cast<double>(below(1'000'000'000)) / 7,
                       static_cast<uint64_t>(time_ns()),
                       static_cast<uint64_t>(time_ns()),
                       static_cast<uint64_t>(time_ns())};
  };
  LiveView view;
  view.now.step = static_cast<uint32_t>(below(3));
  view.now.steps = static_cast<uint32_t>(below(1000));
  view.now.repetitions = static_cast<uint32_t>(below(4));
  view.now.block_size_bytes = below(uint64_t{1} << 40);
  view.now.duration_ns = time_ns();
  view.now.warmup_ns = time_ns();
  const int64_t begun_ns = time_ns();
  view.now.elapsed_ns = time_ns() - begun_ns;
  view.now.later_steps_ns = time_ns();
  for (uint64_t i = below(60); i > 0; --i) {
    LiveHost host = HostOf(text(), below(1'000'000'000));
    host.label += absl::StrCat(i);
    host.lost = below(9) == 0;
    host.has_figures = below(4) != 0;
    host.figures = figures();
    host.oldest_write_ns = below(3) == 0 ? time_ns() : 0;
    host.silent_ns = below(5) == 0 ? time_ns() : 0;
    view.now.hosts.push_back(host);
  }
  for (uint64_t i = below(300); i > 0; --i) {
    LiveSecond second;
    second.warmup = below(2) == 0;
    second.cluster = below(4) == 0 ? LiveFigures() : figures();
    view.seconds.push_back(second);
  }
  for (uint64_t i = below(20); i > 0; --i) {
    view.criteria.push_back({text(), static_cast<LiveState>(below(3)), below(2) == 0 ? "" : "1.000 ms", text()});
  }
  for (uint64_t i = below(20); i > 0; --i) {
    LiveStall stall;
    stall.begin_ns = time_ns();
    stall.end_ns = stall.begin_ns + time_ns() / 2;
    stall.open = below(2) == 0;
    for (uint64_t name = below(16); name > 0; --name) stall.names.push_back(text());
    stall.writers = stall.names.size() + below(5);
    stall.hosts = below(20);
    view.stalls.push_back(stall);
  }
  for (uint64_t i = below(10); i > 0; --i) view.messages.push_back(text());
  if (below(3) == 0) view.phase = text();
  if (below(3) == 0) view.outlook = text();
  return view;
}

TEST(LiveTableProperty, NoLineIsWiderThanTheWidthAndThereAreNoMoreThanTheHeight) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2'000; ++i) {
    const LiveView view = RandomView(random);
    const size_t width = random() % 220;
    const size_t height = random() % 70;
    const std::vector<LiveLine> lines = DrawLive(view, width, height);
    ASSERT_LE(lines.size(), height);
    for (const LiveLine& line : lines) {
      ASSERT_LE(LineWidth(line), width) << EncodeLine(line, false);
      ASSERT_EQ(SanitizeForTerminal(EncodeLine(line, false)), EncodeLine(line, false));
    }
    // What is shown of a step begins with which one it is.
    if (height > 0 && width >= 80 && view.now.step > 0) {
      ASSERT_EQ(EncodeLine(lines[0], false).rfind(absl::StrCat("step ", view.now.step), 0), 0);
    }
    if (!view.seconds.empty()) {
      ASSERT_EQ(SecondLine(view.now, view.seconds[0]).find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace plimsoll
