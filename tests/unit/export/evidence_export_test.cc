// What a storage vendor is given: the slowest operations and the stalls, with when and where each was, and what the
// kernel counted around it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "controller/export/formats.h"
#include "controller/render/json.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/analysis/frame_cutter.h"
#include "tests/unit/export/traced_journal.h"

namespace plimsoll {
namespace {

constexpr char kRunDirectoryOfTest[] = "/mnt/mqlog/plimsoll-7f3a21/alpha";

using EvidenceCells = std::map<std::string, std::string>;

class EvidenceExportTest : public ::testing::Test {
 protected:
  void Export(std::vector<v1::JournalRecord> records, size_t slowest) {
    for (v1::JournalRecord& record : records) {
      if (!record.has_host_prepared()) continue;
      record.mutable_host_prepared()->mutable_prepared()->set_directory(kRunDirectoryOfTest);
    }
    const std::string journal = directory_.Sub(absl::StrCat("journal-", ++exports_));
    tests::WriteJournal(journal, records);
    const auto index = RunIndex::Read(journal);
    ASSERT_THAT(index, IsOk());
    const auto all = WriteStream::Open(**index, {});
    ASSERT_THAT(all, IsOk());
    for (const ExportedWrite& write : tests::ReadAll(**all)) {
      const IndexedWriter& writer = (*index)->writers()[write.writer];
      const std::string host = (*index)->hosts().at(writer.host).label;
      traced_[Key(host, writer.qm, write.step + 1, write.seq)] = write;
      starts_[Key(host, writer.qm, write.step + 1, write.seq)] =
          FormatMoment((*index)->timeline().ToUtc(write.start_ns));
    }
    const auto stream = WriteStream::Open(**index, {});
    ASSERT_THAT(stream, IsOk());
    std::ostringstream text;
    const auto output = MakeStreamOutput(text);
    const auto lines = ExportEvidence(**index, {}, slowest, **stream, *output);
    ASSERT_THAT(lines, IsOk());
    ASSERT_THAT(output->Finish(), IsOk());
    Parse(text.str());
    EXPECT_EQ(*lines, rows_.size());
  }

  std::vector<EvidenceCells> RowsOf(const std::string& kind) const {
    std::vector<EvidenceCells> found;
    for (const EvidenceCells& row : rows_) {
      if (row.at("kind") == kind) found.push_back(row);
    }
    return found;
  }

  static std::string Key(const std::string& host, uint64_t qm, uint64_t step, uint64_t seq) {
    return absl::StrCat(host, " ", qm, " ", step, " ", seq);
  }
  static std::string KeyOfCells(const EvidenceCells& row) {
    return absl::StrCat(row.at("host"), " ", row.at("qm"), " ", row.at("step"), " ", row.at("seq"));
  }

  std::vector<std::string> head_;
  std::vector<EvidenceCells> rows_;
  std::map<std::string, ExportedWrite> traced_;
  std::map<std::string, std::string> starts_;

 private:
  void Parse(const std::string& text) {
    std::vector<std::string> names;
    const std::vector<std::string> lines = absl::StrSplit(text, "\r\n", absl::SkipEmpty());
    for (const std::string& line : lines) {
      if (names.empty() && absl::StartsWith(line, "# ")) {
        head_.push_back(line);
        continue;
      }
      const std::vector<std::string> cells = absl::StrSplit(line, ',');
      if (names.empty()) {
        names = cells;
        continue;
      }
      ASSERT_EQ(cells.size(), names.size()) << line;
      EvidenceCells& row = rows_.emplace_back();
      for (size_t i = 0; i < cells.size(); ++i) row[names[i]] = cells[i];
    }
  }

  tests::TempDirectory directory_;
  int exports_ = 0;
};

std::vector<v1::JournalRecord> TracedRecords(const tests::SimRun& run) {
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  std::mt19937_64 random(7);
  tests::AddTraces(run, records, random);
  return records;
}

// The largest latencies of operations, the largest first.
std::vector<std::string> Largest(const std::map<std::string, ExportedWrite>& writes, size_t count) {
  std::vector<uint64_t> latencies;
  for (const auto& [key, write] : writes) latencies.push_back(write.latency_ns);
  std::sort(latencies.rbegin(), latencies.rend());
  latencies.resize(std::min(count, latencies.size()));
  std::vector<std::string> texts;
  for (const uint64_t latency_ns : latencies) texts.push_back(absl::StrCat(latency_ns));
  return texts;
}

std::vector<std::string> LatenciesOf(const std::vector<EvidenceCells>& rows) {
  std::vector<std::string> latencies;
  for (const EvidenceCells& row : rows) latencies.push_back(row.at("latency_ns"));
  return latencies;
}

TEST_F(EvidenceExportTest, HasTheSlowestWritesOfAllHostsAndStepsWithTheirPlaces) {
  std::mt19937_64 random(3);
  const tests::SimRun run = tests::TwoHosts(random);
  Export(TracedRecords(run), 25);
  const std::vector<EvidenceCells> rows = RowsOf("write");
  EXPECT_EQ(LatenciesOf(rows), Largest(traced_, 25));
  for (const EvidenceCells& row : rows) {
    const auto write = traced_.find(KeyOfCells(row));
    ASSERT_NE(write, traced_.end()) << KeyOfCells(row);
    EXPECT_EQ(row.at("latency_ns"), absl::StrCat(write->second.latency_ns));
    EXPECT_EQ(row.at("utc"), starts_.at(write->first));
    EXPECT_EQ(row.at("error_ns"), absl::StrCat(write->second.error_ns));
    EXPECT_EQ(row.at("bytes"), absl::StrCat(write->second.bytes));
    const uint64_t place = (write->second.seq - 1) * write->second.bytes;
    EXPECT_EQ(row.at("offset"), absl::StrCat(place % tests::kExtentBytes));
    EXPECT_EQ(row.at("file"), absl::StrFormat("%s/qm%s/active/S%07d.LOG", kRunDirectoryOfTest, row.at("qm"),
                                              place / tests::kExtentBytes % 3));
    EXPECT_EQ(row.at("stall"), "");
  }
}

TEST_F(EvidenceExportTest, AsksForMoreThanThereAreAndGetsAll) {
  tests::SimRun run;
  run.hosts.push_back({"alpha", 0, {{{{100'000, 1'000}, {200'000, 3'000}, {300'000, 2'000}}}}, {}, 0, {}, 1});
  Export(TracedRecords(run), 100);
  EXPECT_THAT(LatenciesOf(rows_), ElementsAre("3000", "2000", "1000"));
  EXPECT_THAT(head_, Contains("# slowest: the 3 slowest writes (at most 100)"));
}

TEST_F(EvidenceExportTest, WithoutTracesTheWritesAreThoseThatFramesName) {
  std::mt19937_64 random(4);
  const tests::SimRun run = tests::TwoHosts(random);
  Export(TracedRecords(run), 8);
  const std::vector<std::string> expected = Largest(traced_, 8);
  const std::vector<EvidenceCells> traced = rows_;
  rows_.clear();
  head_.clear();
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames()) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      frame.set_untraced_writes(frame.latency().count());
    }
  }
  Export(std::move(records), 8);
  const std::vector<EvidenceCells> named = RowsOf("write");
  EXPECT_EQ(LatenciesOf(named), expected);
  for (const EvidenceCells& row : named) {
    const auto same = std::ranges::find_if(
        traced, [&row](const EvidenceCells& other) { return KeyOfCells(other) == KeyOfCells(row); });
    // Of writes that took equally long, another one may be there.
    if (same == traced.end()) continue;
    EXPECT_EQ(row.at("file"), same->at("file"));
    EXPECT_EQ(row.at("offset"), same->at("offset"));
  }
  EXPECT_THAT(head_, Contains(HasSubstr(" have no trace: of these, the slowest of each interval")));
}

// One host whose only writer stalls from 1.2 s to 1.9 s, and whose kernel counts a WRITE in each millisecond, each with
// a round trip of 3 ms, and five retransmissions from 1.5 s on.
tests::SimRun OneStall() {
  tests::SimRun run;
  run.duration_ns = 3 * kNsPerSecond;
  tests::SimHost& host = run.hosts.emplace_back();
  host.label = "alpha";
  host.steps = {{tests::ClosedLoop(
      run.duration_ns, 1'000,
      tests::WithStalls([](uint64_t, int64_t) { return 200'000; }, {{1'200 * kNsPerMs, 1'900 * kNsPerMs}}))}};
  host.sample = [](uint32_t /*step*/, int64_t since_start_ns) {
    v1::HostSample sample;
    const auto since_ms = static_cast<uint64_t>(since_start_ns / kNsPerMs);
    v1::NfsOperation& write = *sample.mutable_nfs()->mutable_write();
    write.set_operations(since_ms);
    write.set_transmissions(since_ms + (since_ms > 1'500 ? 5 : 0));
    write.set_round_trip_ms(3 * since_ms);
    write.set_execute_ms(4 * since_ms);
    return sample;
  };
  return run;
}

TEST_F(EvidenceExportTest, AStallHasTheCountersOfTheKernelAroundIt) {
  std::vector<v1::JournalRecord> records = TracedRecords(OneStall());
  for (v1::JournalRecord& record : records) {
    if (!record.has_host_joined()) continue;
    record.mutable_host_joined()->mutable_description()->mutable_directories(0)->set_mount_options(
        "rw,hard,vers=4.2,clientaddr=10.0.0.11,local_lock=none,addr=10.0.0.5");
  }
  Export(std::move(records), 1);
  const std::vector<EvidenceCells> stalls = RowsOf("stall");
  ASSERT_EQ(stalls.size(), 1U);
  const EvidenceCells& stall = stalls.front();
  EXPECT_EQ(stall.at("stall"), "1");
  EXPECT_EQ(stall.at("stall_class"), "single_host");
  EXPECT_EQ(stall.at("client_address"), "10.0.0.11");
  EXPECT_EQ(stall.at("server_address"), "10.0.0.5");
  EXPECT_NEAR(std::stod(stall.at("latency_ns")), 700e6, 1e6);
  EXPECT_EQ(stall.at("nfs_write_ops"), "1000");
  EXPECT_EQ(stall.at("nfs_write_retransmissions"), "5");
  EXPECT_EQ(stall.at("nfs_write_round_trip_ms"), "3");
  EXPECT_EQ(stall.at("nfs_write_execute_ms"), "4");
  EXPECT_EQ(stall.at("disk_writes"), "");
  EXPECT_LT(stall.at("counters_from_utc"), stall.at("utc"));
  EXPECT_GT(stall.at("counters_to_utc"), stall.at("utc"));
  // The write that stalled is the slowest one.
  const std::vector<EvidenceCells> writes = RowsOf("write");
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes.front().at("seq"), stall.at("seq"));
  EXPECT_EQ(writes.front().at("file"), stall.at("file"));
  EXPECT_EQ(writes.front().at("offset"), stall.at("offset"));
  EXPECT_EQ(writes.front().at("nfs_write_retransmissions"), "5");
}

TEST_F(EvidenceExportTest, AWriteWithoutASampleBehindItHasNoCounters) {
  tests::SimRun run = OneStall();
  run.duration_ns = 1'700 * kNsPerMs;
  run.hosts[0].steps = {{{{100'000, 1'000}, {1'600 * kNsPerMs, 30 * kNsPerMs}}}};
  Export(TracedRecords(run), 2);
  const std::vector<EvidenceCells> writes = RowsOf("write");
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[0].at("latency_ns"), "30000000");
  EXPECT_EQ(writes[0].at("nfs_write_ops"), "");
  EXPECT_EQ(writes[0].at("counters_to_utc"), "");
  EXPECT_EQ(writes[1].at("nfs_write_ops"), "1002") << "from the step's start to the first sample";
}

TEST_F(EvidenceExportTest, TheErrorOfUtcIsThatOfBothClocksWhereTheControllersIsKnown) {
  std::vector<v1::JournalRecord> records = TracedRecords(OneStall());
  v1::TimeStatus& time = *records.front().mutable_run_begin()->mutable_controller()->mutable_time();
  time.set_max_error_ns(12'000'000);
  Export(records, 1);
  EXPECT_EQ(rows_.front().at("utc_error_ns"), "") << "the clock is not synchronised";
  EXPECT_THAT(head_, Contains(HasSubstr("not synchronised: how far UTC times are off is not known")));
  rows_.clear();
  head_.clear();
  time.set_synchronized(true);
  time.set_service("chronyd");
  Export(records, 1);
  EXPECT_EQ(std::stoull(rows_.front().at("utc_error_ns")), std::stoull(rows_.front().at("error_ns")) + 12'000'000);
  EXPECT_THAT(head_, Contains(HasSubstr("synchronised by chronyd, maximum error 12")));
  EXPECT_THAT(head_, Contains(HasSubstr("Measured latencies do not depend on it.")));
}

TEST_F(EvidenceExportTest, TheHeadHasTheRunItsProgramsAndItsPlanAndNoLineOfAnybodyElse) {
  std::vector<v1::JournalRecord> records = TracedRecords(OneStall());
  v1::RunBegin& begin = *records.front().mutable_run_begin();
  begin.mutable_controller()->set_program_sha256("abcd");
  begin.mutable_controller()->set_command("plimsoll run --dir /mnt/mqlog");
  begin.mutable_plan()->set_change("CHG0012345");
  begin.mutable_plan()->set_operator_("J. Doe\r\nkind,step\r\nwrite,9");
  for (v1::JournalRecord& record : records) {
    if (record.has_host_joined()) record.mutable_host_joined()->mutable_description()->set_program_sha256("ef01");
  }
  Export(std::move(records), 1);
  EXPECT_THAT(head_, Contains("# run: 7f3a21"));
  EXPECT_THAT(head_, Contains("# change: CHG0012345"));
  EXPECT_THAT(head_, Contains("# controller: plimsoll 0.1.0, SHA-256 abcd"));
  EXPECT_THAT(head_, Contains("# command: plimsoll run --dir /mnt/mqlog"));
  EXPECT_THAT(head_, Contains(AllOf(StartsWith("# host alpha: "), HasSubstr("SHA-256 ef01"))));
  EXPECT_THAT(head_, Contains(AllOf(StartsWith("# plan: {"), EndsWith("}"))));
  EXPECT_THAT(head_, Contains(AllOf(StartsWith("# operator: J. Doe"), EndsWith("write,9"))));
  EXPECT_EQ(rows_.size(), 2U);
}

TEST_F(EvidenceExportTest, OfCommandsThatTheControllerRunsItHasTheProgramsOnly) {
  std::vector<v1::JournalRecord> records = TracedRecords(OneStall());
  v1::RunBegin& begin = *records.front().mutable_run_begin();
  begin.mutable_controller()->set_command(
      "plimsoll run plan.yaml --launch 'podman exec -e PASS=secret -i {host}' --agent-option=--tls-key=/secret "
      "--agent-option=--allow-kept '--ssh-command=ssh -i /secret' --between './flush.sh' '--do' 'cut=virsh secret' "
      "--dir '/mnt/it'\\''s' --between 'curl -u me:secret\u2026");
  for (const char* word : {"curl", "-u", "secret"}) {
    v1::Disturbance& disturbance = begin.mutable_plan()->disturb().empty() ? *begin.mutable_plan()->add_disturb()
                                                                           : *begin.mutable_plan()->mutable_disturb(0);
    disturbance.add_do_(word);
    disturbance.add_undo(word);
  }
  Export(std::move(records), 1);
  EXPECT_THAT(
      head_, Contains("# command: plimsoll run plan.yaml --launch 'podman \u2026' '--agent-option=--tls-key=\u2026' "
                      "--agent-option=--allow-kept '--ssh-command=ssh \u2026' --between './flush.sh' '--do' 'cut=virsh "
                      "\u2026' --dir '/mnt/it'\\''s' --between 'curl \u2026'"));
  EXPECT_THAT(head_, Not(Contains(HasSubstr("secret"))));
  EXPECT_THAT(head_, Contains(AllOf(StartsWith("# plan: {"), HasSubstr("\"curl\""), HasSubstr("\u2026"))));
}

}  // namespace
}  // namespace plimsoll
