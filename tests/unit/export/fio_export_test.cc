#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/block_access.h"
#include "controller/export/formats.h"
#include "controller/report/scopes.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/export/traced_journal.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using google::protobuf::Struct;
using google::protobuf::Value;

class FioExportTest : public ::testing::Test {
 protected:
  void Index(const tests::SimRun& run, bool random_order = false,
             const std::function<void(std::vector<v1::JournalRecord>&)>& change = nullptr) {
    std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
    if (change != nullptr) change(records);
    for (v1::LogStep& step : *records.front().mutable_run_begin()->mutable_steps()) {
      if (random_order) step.set_random_order(true);
    }
    std::mt19937_64 random(1);
    tests::AddTraces(run, records, random);
    tests::WriteJournal(directory_.Sub("journal"), records);
    auto index = RunIndex::Read(directory_.Sub("journal"));
    ASSERT_THAT(index, IsOk());
    index_ = std::move(index).value();
  }
  absl::StatusOr<uint64_t> Logs(const std::string& to, const WriteFilter& filter = {}, bool unix_epoch = false) {
    auto stream = WriteStream::Open(*index_, filter);
    EXPECT_THAT(stream, IsOk());
    return ExportFioLogs(*index_, filter, **stream, to, -1, unix_epoch);
  }
  static std::vector<std::vector<uint64_t>> ReadLog(const std::string& path) {
    std::vector<std::vector<uint64_t>> rows;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::vector<uint64_t>& row = rows.emplace_back();
      for (const std::string& cell : std::vector<std::string>(absl::StrSplit(line, ", ")))
        row.push_back(std::stoull(cell));
    }
    return rows;
  }
  Struct Json(const WriteFilter& filter = {}) {
    std::ostringstream text;
    auto output = MakeStreamOutput(text);
    EXPECT_THAT(ExportFioJson(*index_, filter, *output), IsOk());
    EXPECT_THAT(output->Finish(), IsOk());
    Struct json;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text.str(), &json).ok());
    return json;
  }

  tests::TempDirectory directory_;
  std::unique_ptr<RunIndex> index_;
};

TEST_F(FioExportTest, ALogHasOneLineAWriteAndOneFileAWriter) {
  tests::SimRun run;
  run.block_sizes = {8 << 20, 4096};
  // Extents of 16 MiB, three of them: the first step's blocks come round after six.
  run.hosts.push_back({"alpha", 7'000'000, {{{}, {}}, {{}, {}}}, {}, 0, {}, 1});
  for (int64_t i = 0; i < 8; ++i) run.hosts[0].steps[0][0].push_back({i * 10'000'000, 1'500'000 + i});
  run.hosts[0].steps[1][1].push_back({5, 7});
  Index(run);
  ASSERT_THAT(Logs(directory_.Sub("logs")), IsOk());
  const auto rows = ReadLog(directory_.Sub("logs/alpha_qm1_clat.1.log"));
  ASSERT_EQ(rows.size(), 8U);
  for (uint64_t i = 0; i < 8; ++i) {
    EXPECT_THAT(rows[i], ::testing::ElementsAre(i * 10 + 1, 1'500'000 + i, 1, 8 << 20, i % 6 * (8 << 20), 0));
  }
  const auto second = ReadLog(directory_.Sub("logs/alpha_qm2_clat.2.log"));
  ASSERT_EQ(second.size(), 1U);
  EXPECT_THAT(second[0], ::testing::ElementsAre(::testing::Gt(1'000), 7, 1, 4096, 0, 0));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.Sub("logs")), {}), 4);
  EXPECT_EQ(ReadLog(directory_.Sub("logs/alpha_qm1_lat.1.log")), rows) << "one call submits and completes a write";
}

// The number of the write or read that has this number among its kind, both from 0.
uint64_t OperationNumber(const Access& access, bool reads, uint64_t of_kind) {
  uint64_t number = 0;
  while (access.Reads(number) != reads || of_kind-- > 0) ++number;
  return number;
}

TEST_F(FioExportTest, ALogNamesTheDirectionAndTheOffset) {
  tests::SimRun run;
  run.block_sizes = {8 << 20};
  tests::SimWriter writer;
  for (int64_t i = 0; i < 8; ++i) writer.push_back({i * 10'000'000, 1'500'000 + i});
  run.hosts.push_back({"alpha", 0, {{writer}}, {}, 0, {}, 1});
  struct Case {
    const char* name;
    uint32_t read_percent;
    bool random_order;
  };
  // Extents of 16 MiB, three of them.
  constexpr uint64_t kBlocks = 6;
  for (const Case& one : {Case{"writes", 0, false}, Case{"reads", 100, false}, Case{"both", 50, false},
                          Case{"random", 0, true}, Case{"random-reads", 100, true}, Case{"random-both", 50, true}}) {
    run.read_percent = one.read_percent;
    fs::remove(directory_.Sub("journal"));
    Index(run, one.random_order);
    const std::string to = directory_.Sub(one.name);
    EXPECT_THAT(Logs(to), IsOk());
    const auto rows = ReadLog(to + "/alpha_qm1_clat.1.log");
    ASSERT_EQ(rows.size(), 8U) << one.name;
    const Access access(one.random_order, one.read_percent, 0, {.seed = 0, .host = 0, .writer = 1});
    for (uint64_t i = 0; i < 8; ++i) {
      // The simulated run writes and reads in turn.
      const bool mixed = one.read_percent == 50;
      const bool read = mixed ? i % 2 == 1 : one.read_percent == 100;
      const uint64_t number = mixed ? OperationNumber(access, read, i / 2) : i;
      const uint64_t block =
          one.random_order ? access.OrderOf(number / kBlocks, kBlocks).At(number % kBlocks) : number % kBlocks;
      EXPECT_THAT(rows[i],
                  ::testing::ElementsAre(i * 10 + 1, 1'500'000 + i, read ? 0 : 1, 8 << 20, block * (8 << 20), 0))
          << one.name;
    }
    EXPECT_EQ(ReadLog(to + "/alpha_qm1_lat.1.log"), rows);
  }
}

TEST_F(FioExportTest, ALogHasNoColumnForOffsetsThatAreNotKnown) {
  tests::SimRun run;
  run.block_sizes = {4096};
  const tests::SimWriter writer = {{0, 1'000}, {10'000'000, 2'000}, {20'000'000, 3'000}};
  run.hosts.push_back({"alpha", 0, {{writer, writer}}, {}, 0, {}, 1});
  Index(run, false, [](auto& records) { tests::UseOneFile(4 * 4096, records); });
  ASSERT_THAT(Logs(directory_.Sub("known")), IsOk());
  EXPECT_THAT(ReadLog(directory_.Sub("known/alpha_qm2_clat.2.log")),
              ElementsAre(std::vector<uint64_t>{0, 1'000, 1, 4096, 8192, 0},
                          std::vector<uint64_t>{10, 2'000, 1, 4096, 12'288, 0},
                          std::vector<uint64_t>{20, 3'000, 1, 4096, 8192, 0}));
  fs::remove(directory_.Sub("journal"));
  Index(run, false, [](auto& records) { tests::UseOneFile(std::nullopt, records); });
  ASSERT_THAT(Logs(directory_.Sub("unknown")), IsOk());
  EXPECT_THAT(ReadLog(directory_.Sub("unknown/alpha_qm2_clat.2.log")),
              ElementsAre(std::vector<uint64_t>{0, 1'000, 1, 4096, 0}, std::vector<uint64_t>{10, 2'000, 1, 4096, 0},
                          std::vector<uint64_t>{20, 3'000, 1, 4096, 0}));
}

TEST_F(FioExportTest, TimesCanBeThoseOfTheUnixEpoch) {
  std::mt19937_64 random(66);
  Index(tests::TwoHosts(random));
  ASSERT_THAT(Logs(directory_.Sub("relative")), IsOk());
  ASSERT_THAT(Logs(directory_.Sub("epoch"), {}, true), IsOk());
  const auto relative = ReadLog(directory_.Sub("relative/alpha_qm1_clat.1.log"));
  const auto epoch = ReadLog(directory_.Sub("epoch/alpha_qm1_clat.1.log"));
  ASSERT_EQ(relative.size(), epoch.size());
  const google::protobuf::Timestamp start = index_->timeline().ToUtc(index_->steps().begin()->second.begin.start_ns());
  const double start_ms = static_cast<double>(start.seconds()) * 1e3 + start.nanos() / 1e6;
  for (size_t i = 0; i < epoch.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(epoch[i][0]), start_ms + static_cast<double>(relative[i][0]), 2);
    EXPECT_EQ(epoch[i][1], relative[i][1]);
  }
}

TEST_F(FioExportTest, OffsetsAreThoseOfTheReport) {
  std::mt19937_64 random(61);
  tests::SimRun run = tests::TwoHosts(random);
  run.block_sizes = {4096, 65536};
  Index(run);
  ASSERT_THAT(Logs(directory_.Sub("logs")), IsOk());
  const uint64_t extent = run.hosts.empty() ? 0 : index_->hosts().at(0).workload().file_size_bytes();
  const std::vector<std::string> files = {"alpha_qm1_clat.1.log", "alpha_qm2_clat.2.log", "beta_qm1_clat.3.log"};
  size_t checked = 0;
  for (const v1::StepReport& step : index_->report().steps()) {
    for (const v1::ScopeReport& scope : step.scopes()) {
      if (scope.kind() != v1::SCOPE_KIND_QM) continue;
      const size_t file = scope.host() == "beta" ? 2 : scope.qm() - 1;
      for (const auto& row : ReadLog(directory_.Sub("logs/" + files[file]))) {
        if (row[3] != step.block_size_bytes() || row[1] != scope.slowest().latency_ns()) continue;
        const uint64_t wanted = scope.slowest().extent() * extent + scope.slowest().offset_bytes();
        if (row[4] == wanted) ++checked;
      }
    }
  }
  EXPECT_EQ(checked, 6U);
}

TEST_F(FioExportTest, NamesOfLogsNeverCollide) {
  tests::SimRun run;
  const std::string longest(200, 'n');
  for (const std::string& label : {std::string("Node"), std::string("node"), std::string("a/b"), std::string("a%2Fb"),
                                   longest + "1", longest + "2", std::string("..")}) {
    run.hosts.push_back({label, 0, {{tests::Steady(run.duration_ns, 1'000'000)}}, {}, 0, {}, 1});
  }
  Index(run);
  ASSERT_THAT(Logs(directory_.Sub("logs")), IsOk());
  std::set<std::string> names;
  for (const auto& file : fs::directory_iterator(directory_.Sub("logs"))) {
    std::string name = file.path().filename().string();
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    names.insert(name);
    EXPECT_GT(ReadLog(file.path().string()).size(), 0U);
  }
  EXPECT_EQ(names.size(), 2 * run.hosts.size());
}

TEST_F(FioExportTest, LogsGoIntoAnEmptyDirectoryOnly) {
  tests::SimRun run;
  run.hosts.push_back({"alpha", 0, {{tests::Steady(run.duration_ns, 1'000'000)}}, {}, 0, {}, 1});
  Index(run);
  fs::create_directories(directory_.Sub("made/empty"));
  EXPECT_THAT(Logs(directory_.Sub("made/empty")), IsOk());
  EXPECT_THAT(Logs(directory_.Sub("made/empty")), StatusIs(absl::StatusCode::kInvalidArgument, "is not empty"));
  EXPECT_THAT(Logs(directory_.Sub("journal")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       absl::StrCat("--output: ", directory_.Sub("journal"),
                                    " is not a directory; name the directory that the logs go into")));
}

TEST_F(FioExportTest, LogsThatCannotBeWrittenAreRemovedAgain) {
  std::mt19937_64 random(62);
  Index(tests::TwoHosts(random));
  const tests::FileSizeLimit limit(100'000);
  const auto written = Logs(directory_.Sub("logs"));
  EXPECT_NE(std::string(written.status().message()).find("_clat.1.log"), std::string::npos) << written.status();
  EXPECT_FALSE(fs::exists(directory_.Sub("logs")));
}

double Number(const Value& value) {
  return value.number_value();
}
const Struct& Part(const Struct& object, const std::string& key) {
  return object.fields().at(key).struct_value();
}
double Number(const Struct& object, const std::string& key) {
  EXPECT_TRUE(object.fields().contains(key)) << key;
  return object.fields().contains(key) ? Number(object.fields().at(key)) : NAN;
}

TEST_F(FioExportTest, JsonHoldsTheReportsFigures) {
  std::mt19937_64 random(63);
  const tests::SimRun run = tests::TwoHosts(random);
  Index(run);
  const Struct json = Json();
  EXPECT_EQ(json.fields().at("fio version").string_value(), "plimsoll-0.1.0");
  const auto& jobs = json.fields().at("jobs").list_value();
  ASSERT_EQ(jobs.values_size(), 8);
  int next = 0;
  for (const v1::StepReport& step : index_->report().steps()) {
    for (const v1::ScopeReport& scope : step.scopes()) {
      const bool cluster = scope.kind() == v1::SCOPE_KIND_CLUSTER;
      if (scope.kind() != v1::SCOPE_KIND_QM && !cluster) continue;
      const Struct& job = jobs.values(next++).struct_value();
      EXPECT_EQ(job.fields().at("jobname").string_value(),
                cluster ? "All clients" : scope.host() + "/qm" + std::to_string(scope.qm()));
      EXPECT_EQ(Number(job, "groupid"), step.number() - 1);
      const Struct& write = Part(job, "write");
      EXPECT_EQ(Number(write, "total_ios"), static_cast<double>(scope.writes()));
      EXPECT_EQ(Number(write, "io_bytes"), static_cast<double>(scope.bytes()));
      const int64_t runtime_ms = scope.measured_ns() / kNsPerMs;
      EXPECT_EQ(Number(write, "runtime"), static_cast<double>(runtime_ms));
      EXPECT_DOUBLE_EQ(Number(write, "iops"), scope.iops());
      EXPECT_NEAR(Number(write, "bw_bytes"), scope.mb_per_second() * 1e6, 1);
      EXPECT_NEAR(Number(write, "bw"), scope.mb_per_second() * 1e6 / 1024, 1);
      for (const char* kind : {"clat_ns", "lat_ns"}) {
        const Struct& latency = Part(write, kind);
        EXPECT_EQ(Number(latency, "N"), static_cast<double>(scope.latency().count()));
        EXPECT_EQ(Number(latency, "min"), static_cast<double>(scope.latency().min_ns()));
        EXPECT_EQ(Number(latency, "max"), static_cast<double>(scope.latency().max_ns()));
        EXPECT_DOUBLE_EQ(Number(latency, "mean"), scope.latency().avg_ns());
        EXPECT_EQ(Number(Part(latency, "percentile"), "99.000000"), static_cast<double>(scope.latency().p99_ns()));
        EXPECT_EQ(Number(Part(latency, "percentile"), "99.900000"), static_cast<double>(scope.latency().p99_9_ns()));
        double sum = 0;
        for (const auto& [bin, count] : Part(latency, "bins").fields()) sum += Number(count);
        EXPECT_EQ(sum, Number(latency, "N"));
      }
      double percent = 0;
      for (const char* unit : {"latency_ns", "latency_us", "latency_ms"}) {
        for (const auto& [limit, share] : Part(job, unit).fields()) percent += Number(share);
      }
      EXPECT_NEAR(percent, 100, 1e-6);
      for (const char* other : {"read", "trim"}) EXPECT_EQ(Number(Part(job, other), "total_ios"), 0);
    }
  }
  EXPECT_EQ(Json({1, false}).fields().at("jobs").list_value().values_size(), 4);
}

// Reads of each of the first `seconds` of a step, over the writers of a scope.
std::vector<double> ReadsBySecond(const tests::SimRun& run, uint32_t step, const v1::ScopeReport& scope,
                                  size_t seconds) {
  std::vector<double> counts(seconds);
  for (const tests::SimHost& host : run.hosts) {
    for (uint32_t qm = 1; qm <= host.steps[step].size(); ++qm) {
      if (!scope.host().empty() && (scope.host() != host.label || scope.qm() != qm)) continue;
      for (const tests::SimWrite& read : tests::OperationsOf(run, host, step, qm, /*reads=*/true)) {
        const auto second = static_cast<size_t>(std::max<int64_t>(read.end_ns(), 0) / kNsPerSecond);
        if (read.end_ns() >= 0 && second < seconds) ++counts[second];
      }
    }
  }
  return counts;
}

TEST_F(FioExportTest, JsonHasReadsAndWritesInTheirDirections) {
  std::mt19937_64 random(68);
  tests::SimRun run = tests::TwoHosts(random);
  run.read_percent = 30;
  Index(run);
  const Struct json = Json();
  const auto& jobs = json.fields().at("jobs").list_value();
  ASSERT_EQ(jobs.values_size(), 8);
  int next = 0;
  for (const v1::StepReport& step : index_->report().steps()) {
    ASSERT_EQ(step.operations_size(), 1);
    for (const v1::ScopeReport& scope : step.scopes()) {
      if (scope.kind() != v1::SCOPE_KIND_QM && scope.kind() != v1::SCOPE_KIND_CLUSTER) continue;
      const Struct& job = jobs.values(next++).struct_value();
      EXPECT_EQ(Part(job, "job options").fields().at("rw").string_value(), "rw");
      EXPECT_EQ(Part(job, "job options").fields().at("rwmixread").string_value(), "30");
      const Struct& write = Part(job, "write");
      EXPECT_EQ(Number(write, "total_ios"), static_cast<double>(scope.writes()));
      EXPECT_EQ(Number(Part(write, "clat_ns"), "N"), static_cast<double>(scope.latency().count()));

      const v1::OperationScopeReport* const reads = FindScope(step.operations(0), scope);
      ASSERT_NE(reads, nullptr);
      const Struct& read = Part(job, "read");
      EXPECT_GT(reads->throughput().count(), 0U);
      EXPECT_EQ(Number(read, "total_ios"), static_cast<double>(reads->throughput().count()));
      EXPECT_EQ(Number(read, "io_bytes"), static_cast<double>(reads->throughput().bytes()));
      EXPECT_DOUBLE_EQ(Number(read, "iops"), reads->throughput().iops());
      EXPECT_NEAR(Number(read, "bw_bytes"), reads->throughput().mb_per_second() * 1e6, 1);
      EXPECT_EQ(Number(read, "runtime"), Number(write, "runtime"));
      for (const char* kind : {"clat_ns", "lat_ns"}) {
        const Struct& latency = Part(read, kind);
        EXPECT_EQ(Number(latency, "N"), static_cast<double>(reads->latency().count()));
        EXPECT_EQ(Number(latency, "min"), static_cast<double>(reads->latency().min_ns()));
        EXPECT_EQ(Number(latency, "max"), static_cast<double>(reads->latency().max_ns()));
        EXPECT_DOUBLE_EQ(Number(latency, "mean"), reads->latency().avg_ns());
        EXPECT_EQ(Number(Part(latency, "percentile"), "99.000000"), static_cast<double>(reads->latency().p99_ns()));
      }

      // The step has two whole seconds.
      const std::vector<double> seconds = ReadsBySecond(run, step.number() - 1, scope, 2);
      const auto [least, most] = std::minmax(seconds[0], seconds[1]);
      const auto block = static_cast<double>(step.block_size_bytes());
      EXPECT_EQ(Number(read, "iops_samples"), 2);
      EXPECT_EQ(Number(write, "iops_samples"), 2);
      EXPECT_EQ(Number(read, "iops_min"), least);
      EXPECT_EQ(Number(read, "iops_max"), most);
      EXPECT_DOUBLE_EQ(Number(read, "iops_mean"), (least + most) / 2);
      EXPECT_NEAR(Number(read, "iops_stddev"), (most - least) / std::sqrt(2), 1e-6);
      EXPECT_EQ(Number(read, "bw_samples"), 2);
      EXPECT_EQ(Number(read, "bw_min"), std::floor(least * block / 1024));
      EXPECT_EQ(Number(read, "bw_max"), std::floor(most * block / 1024));
      EXPECT_DOUBLE_EQ(Number(read, "bw_mean"), (least + most) / 2 * block / 1024);

      double percent = 0;
      for (const char* unit : {"latency_ns", "latency_us", "latency_ms"}) {
        for (const auto& [limit, share] : Part(job, unit).fields()) percent += Number(share);
      }
      EXPECT_NEAR(percent, 100, 1e-6);
      EXPECT_EQ(Number(Part(job, "trim"), "total_ios"), 0);
    }
  }
}

TEST_F(FioExportTest, JsonOfOperationsThatAllReadHasThemAsReads) {
  std::mt19937_64 random(69);
  tests::SimRun run = tests::TwoHosts(random);
  Index(run);
  const Struct of_writes = Json();
  run.read_percent = 100;
  fs::remove(directory_.Sub("journal"));
  Index(run);
  const Struct of_reads = Json();
  const auto& jobs = of_reads.fields().at("jobs").list_value();
  ASSERT_EQ(jobs.values_size(), 8);
  for (int i = 0; i < jobs.values_size(); ++i) {
    const Struct& job = jobs.values(i).struct_value();
    const Struct& same = of_writes.fields().at("jobs").list_value().values(i).struct_value();
    EXPECT_GT(Number(Part(job, "read"), "total_ios"), 0);
    using google::protobuf::util::MessageDifferencer;
    EXPECT_TRUE(MessageDifferencer::Equals(Part(job, "read"), Part(same, "write"))) << i;
    EXPECT_TRUE(MessageDifferencer::Equals(Part(job, "write"), Part(same, "read"))) << i;
    EXPECT_EQ(Part(job, "job options").fields().at("rw").string_value(), "read");
    EXPECT_EQ(Part(same, "job options").fields().at("rw").string_value(), "write");
    EXPECT_FALSE(Part(job, "job options").fields().contains("rwmixread"));
  }
}

TEST_F(FioExportTest, JsonNamesARandomOrderAsFioDoes) {
  tests::SimRun run;
  run.hosts.push_back({"alpha", 0, {{tests::Steady(run.duration_ns, 1'000'000)}}, {}, 0, {}, 1});
  for (const auto& [read_percent, rw] : {std::pair{0U, "randwrite"}, {25U, "randrw"}, {100U, "randread"}}) {
    run.read_percent = read_percent;
    fs::remove(directory_.Sub("journal"));
    Index(run, /*random_order=*/true);
    const Struct json = Json();
    for (const Value& job : json.fields().at("jobs").list_value().values()) {
      EXPECT_EQ(Part(job.struct_value(), "job options").fields().at("rw").string_value(), rw);
    }
  }
}

TEST_F(FioExportTest, ASyncBehindEachWriteIsNoneOfTheReads) {
  tests::SimRun run = tests::TwoHosts();
  run.read_percent = 50;
  for (tests::SimHost& host : run.hosts) host.sync_ns = [](uint64_t) { return 200'000; };
  Index(run);
  const Struct json = Json();
  for (const Value& each : json.fields().at("jobs").list_value().values()) {
    const Struct& job = each.struct_value();
    EXPECT_GT(Number(Part(Part(job, "read"), "clat_ns"), "N"), 0);
    EXPECT_EQ(Number(Part(job, "sync"), "total_ios"), Number(Part(Part(job, "write"), "clat_ns"), "N"));
    EXPECT_EQ(Number(Part(Part(job, "sync"), "lat_ns"), "max"), 200'000);
  }
}

TEST_F(FioExportTest, ASyncBehindEachWriteHasItsPercentilesWhereFioHasThem) {
  tests::SimRun run = tests::TwoHosts();
  run.hosts[0].sync_ns = [](uint64_t number) { return number % 2 == 0 ? 300'000 : 200'000; };
  Index(run);
  const Struct json = Json();
  const auto& jobs = json.fields().at("jobs").list_value();
  for (const Value& job : jobs.values()) {
    const auto& fields = job.struct_value().fields();
    const std::string name = fields.at("jobname").string_value();
    ASSERT_EQ(fields.contains("sync"), name.rfind("beta/", 0) != 0) << name;
    if (!fields.contains("sync")) continue;
    const auto& lat_ns = fields.at("sync").struct_value().fields().at("lat_ns").struct_value().fields();
    EXPECT_EQ(lat_ns.at("min").number_value(), 200'000) << name;
    EXPECT_EQ(lat_ns.at("max").number_value(), 300'000) << name;
    EXPECT_EQ(lat_ns.at("percentile").struct_value().fields().at("99.000000").number_value(), 300'000) << name;
    if (name == "alpha/qm1") {
      EXPECT_EQ(
          lat_ns.at("N").number_value(),
          fields.at("write").struct_value().fields().at("clat_ns").struct_value().fields().at("N").number_value());
    }
  }
}

TEST_F(FioExportTest, WhatIsNotMeasuredHasNoKey) {
  tests::SimRun run;
  run.hosts.push_back({"alpha", 0, {{{{0, 100'000}, {300'000, 100'000}}}}, {}, 0, {}, 1});
  run.duration_ns = 500'000'000;
  Index(run);
  const Struct json = Json();
  for (const Value& each : json.fields().at("jobs").list_value().values()) {
    const Struct& job = each.struct_value();
    EXPECT_FALSE(job.fields().contains("sync"));
    EXPECT_TRUE(job.fields().contains("error"));
    const Struct& write = Part(job, "write");
    EXPECT_GT(Number(Part(write, "clat_ns"), "N"), 0);
    for (const char* key : {"slat_ns", "drop_ios", "bw_agg"}) EXPECT_FALSE(write.fields().contains(key)) << key;
    // The step had no whole second.
    for (const char* key : {"bw_min", "bw_mean", "iops_min", "iops_mean", "bw_samples"}) {
      EXPECT_FALSE(write.fields().contains(key)) << key;
    }
  }
}

TEST_F(FioExportTest, AJobWhoseStepEndedEarlyClaimsNoSuccess) {
  tests::SimRun run;
  run.hosts.push_back({"alpha", 0, {{tests::Steady(run.duration_ns, 1'000'000)}}, {}, 0, {}, 1});
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  std::erase_if(records, [](const v1::JournalRecord& record) { return record.has_step_end() || record.has_run_end(); });
  tests::WriteJournal(directory_.Sub("journal"), records);
  index_ = RunIndex::Read(directory_.Sub("journal")).value();
  const Struct json = Json();
  for (const Value& job : json.fields().at("jobs").list_value().values()) {
    EXPECT_FALSE(job.struct_value().fields().contains("error"));
  }
}

TEST_F(FioExportTest, ReadersOfFiosClientModeFindTheJobsToo) {
  std::mt19937_64 random(67);
  Index(tests::TwoHosts(random));
  const Struct json = Json();
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(json.fields().at("client_stats"), json.fields().at("jobs")));
}

TEST_F(FioExportTest, ABucketThatReachesALimitIsNotBelowIt) {
  tests::SimRun run;
  // 250 us lie within a bucket of 128 ns, from 249,984 to 250,111 ns; 500 ns have a bucket of their own.
  run.hosts.push_back(
      {"alpha", 0, {{{{0, 249'000}, {300'000, 249'990}, {600'000, 250'050}, {900'000, 499}}}}, {}, 0, {}, 1});
  Index(run);
  const Struct json = Json();
  const Struct& job = json.fields().at("jobs").list_value().values(0).struct_value();
  EXPECT_EQ(Number(Part(job, "latency_ns"), "500"), 25);
  EXPECT_EQ(Number(Part(job, "latency_us"), "250"), 25) << "only what is surely below";
  EXPECT_EQ(Number(Part(job, "latency_us"), "500"), 50);
}

TEST_F(FioExportTest, JsonsStandardDeviationIsThatOfTheWrites) {
  std::mt19937_64 random(64);
  const tests::SimRun run = tests::TwoHosts(random);
  Index(run);
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const tests::SimWrite& write : run.hosts[1].steps[0][0]) {
    if (write.end_ns() < 0) continue;
    const auto latency_ns = static_cast<double>(write.latency_ns);
    sum += latency_ns;
    squares += latency_ns * latency_ns;
    count += 1;
  }
  const double deviation = std::sqrt((squares - sum * sum / count) / (count - 1));
  const Struct json = Json();
  const Struct& job = json.fields().at("jobs").list_value().values(2).struct_value();
  EXPECT_EQ(job.fields().at("jobname").string_value(), "beta/qm1");
  EXPECT_NEAR(Number(Part(Part(job, "write"), "clat_ns"), "stddev"), deviation, deviation * 0.001);
}

// fio's own arithmetic, from its number of a bucket to the bucket's middle (64 buckets a power of two, 29 powers).
uint64_t FioMiddle(uint64_t index) {
  if (index < 128) return index;
  const uint64_t shift = index / 64 - 1;
  return (uint64_t{1} << (shift + 6)) +
         static_cast<uint64_t>((static_cast<double>(index % 64) + 0.5) * std::pow(2.0, static_cast<double>(shift)));
}

TEST(FioBins, AreFiosBuckets) {
  std::set<uint64_t> middles;
  for (uint64_t index = 0; index < uint64_t{29} * 64; ++index) middles.insert(FioMiddle(index));
  std::mt19937_64 random(65);
  for (int i = 0; i < 20'000; ++i) {
    Histogram one;
    const uint64_t value_ns = random() >> (20 + random() % 44);
    one.Record(value_ns);
    const auto bins = FioBins(one);
    ASSERT_EQ(bins.size(), 1U);
    const uint64_t middle_ns = bins.begin()->first;
    ASSERT_TRUE(middles.contains(middle_ns)) << value_ns;
    if (value_ns < uint64_t{1} << 34U) {
      ASSERT_LE(std::abs(static_cast<double>(middle_ns) - static_cast<double>(value_ns)),
                std::max(0.0, static_cast<double>(value_ns) / 128))
          << value_ns;
    } else {
      ASSERT_EQ(middle_ns, 17'112'760'320U) << "fio's last bucket";
    }
  }
}

TEST(StandardDeviation, IsNoneBelowTwoValues) {
  Histogram histogram;
  EXPECT_EQ(StandardDeviationNs(histogram), 0);
  histogram.Record(100);
  EXPECT_EQ(StandardDeviationNs(histogram), 0);
  histogram.Record(300);
  EXPECT_NEAR(StandardDeviationNs(histogram), 141.42, 0.01);
}

}  // namespace
}  // namespace plimsoll
