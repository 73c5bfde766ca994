// The formats of a report, from fixed journals to exact bytes.
//
// After a wanted change: PLIMSOLL_UPDATE_GOLDEN=1 build/dev/bin/report_golden_test, then look at the differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

using testing::ClosedLoop;
using testing::SimHost;
using testing::SimRun;

const std::string& Source() {
  static const std::string source = PLIMSOLL_SOURCE_DIR;
  return source;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Compares with the committed file, or writes it where PLIMSOLL_UPDATE_GOLDEN is set.
void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = Source() + "/" + name;
  if (std::getenv("PLIMSOLL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    ASSERT_TRUE(file.good()) << path;
    return;
  }
  EXPECT_EQ(text, ReadAll(path)) << path;
}

void ExpectGoldenReport(const std::string& name, const v1::Report& report) {
  ExpectGolden("tests/golden/" + name + ".txt", RenderText(report));
  ExpectGolden("tests/golden/" + name + ".json", RenderJson(report));
  ExpectGolden("tests/golden/" + name + ".csv", RenderCsv(report));
  ExpectGolden("tests/golden/" + name + ".timeline.csv", RenderTimelineCsv(report));
  ExpectGolden("tests/golden/" + name + ".mqldt.csv", RenderMqldtCsv(report));
}

// Latencies around `base_ns` that look natural and are the same on every machine.
std::function<int64_t(uint64_t, int64_t)> Jitter(int64_t base_ns, uint64_t seed) {
  return [base_ns, seed](uint64_t number, int64_t) {
    uint64_t mixed = (number + seed) * 0x9E3779B97F4A7C15U;
    mixed ^= mixed >> 29;
    const auto part = static_cast<int64_t>(mixed % 1000);
    const int64_t tail = part >= 995 ? base_ns * (part - 990) : 0;
    return base_ns + base_ns * part / 2000 + tail;
  };
}

// Three hosts whose clocks are far apart, two block sizes, two queue managers each, a verdict.
SimRun ClusterRun() {
  SimRun run;
  run.block_sizes = {4096, 65536};
  run.duration_ns = 3 * kNsPerSecond;
  run.warmup_ns = 500 * kNsPerMs;
  run.criteria = {"p99<10ms", "iops@4k>=1000"};
  uint64_t seed = 1;
  for (const char* label : {"alpha", "beta", "gamma"}) {
    SimHost host;
    host.label = label;
    host.clock_ahead_ns = static_cast<int64_t>(seed) * 100'000 * kNsPerSecond;
    host.sees = {"alpha", "beta", "gamma"};
    // In the first step: the storage, the path of beta, one queue manager of gamma, and alpha itself.
    std::vector<testing::SimStall> stalls = {{500 * kNsPerMs, 900 * kNsPerMs}};
    if (host.label == "beta") stalls.push_back({1'300 * kNsPerMs, 1'550 * kNsPerMs});
    if (host.label == "alpha") {
      stalls.push_back({2'200 * kNsPerMs, 2'520 * kNsPerMs});
      host.pauses.push_back({0, 2'203 * kNsPerMs, 2'520 * kNsPerMs});
    }
    for (const int64_t base_ns : {400'000, 1'300'000}) {
      std::vector<testing::SimWriter>& writers = host.steps.emplace_back();
      for (int qm = 0; qm < 2; ++qm, ++seed) {
        if (host.label == "gamma" && qm == 1 && host.steps.size() == 1)
          stalls.push_back({1'800 * kNsPerMs, 1'960 * kNsPerMs});
        writers.push_back(ClosedLoop(run.duration_ns, 2'000, testing::WithStalls(Jitter(base_ns, seed), stalls),
                                     run.warmup_ns, static_cast<int64_t>(seed) * 1'000));
      }
      stalls.clear();
    }
    run.hosts.push_back(host);
  }
  return run;
}

// Two hosts on two storages with a rate; one is lost, and its name tries to steer the terminal.
SimRun TroubledRun() {
  SimRun run;
  run.duration_ns = 2 * kNsPerSecond;
  run.criteria = {"p99.9<1ms"};
  run.stall_given = true;
  for (const std::string& label : {std::string("alpha"), std::string("b\x1b[31meta, \"<script>\"")}) {
    SimHost host;
    host.label = label;
    host.rate_per_second = 500;
    // Before the second one is lost it hangs.
    std::vector<testing::SimStall> stalls;
    if (!run.hosts.empty()) stalls.push_back({900 * kNsPerMs, 60 * kNsPerSecond});
    host.steps.push_back({ClosedLoop(run.duration_ns, 1'500'000, WithStalls(Jitter(500'000, label.size()), stalls))});
    run.hosts.push_back(host);
  }
  run.hosts[1].lost_after_ns = 1'250 * kNsPerMs;
  run.cut_short = "a host was lost";
  return run;
}

TEST(Golden, ClusterReport) {
  ExpectGoldenReport("cluster", testing::Analyze(testing::MakeJournal(ClusterRun())));
}

TEST(Golden, TroubledReport) {
  ExpectGoldenReport("troubled", testing::Analyze(testing::MakeJournal(TroubledRun())));
}

TEST(Golden, EmptyReport) {
  ExpectGoldenReport("empty", testing::Analyze({}));
}

// The committed schema is made from report.proto, with its comments as descriptions.
TEST(Golden, SchemaIsThatOfTheProto) {
  google::protobuf::FileDescriptorSet files;
  ASSERT_TRUE(files.ParseFromString(ReadAll(PLIMSOLL_REPORT_DESCRIPTORS)));
  google::protobuf::DescriptorPool pool;
  const google::protobuf::FileDescriptor* file = nullptr;
  for (const google::protobuf::FileDescriptorProto& proto : files.file()) file = pool.BuildFile(proto);
  ASSERT_NE(file, nullptr);
  ExpectGolden("docs/report.schema.json", RenderSchema(*file->FindMessageTypeByName("Report")));
}

}  // namespace
}  // namespace plimsoll
