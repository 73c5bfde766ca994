// The bytes of a perf ring, and the borders of the gaps in them.
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/watch/perf_records.h"
#include "agent/watch/perf_rings.h"
#include "agent/watch/tracefs.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using Kind = PerfRecord::Kind;

// The first fields of a tracepoint: its number, flags, and the thread.
uint64_t CommonFields(uint32_t tid) {
  return uint64_t{tid} << 32;
}

// Bytes of a ring.
class RingBytes {
 public:
  template <typename T>
  RingBytes& Put(T value) {
    const auto* const from = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(T));
    return *this;
  }
  RingBytes& Begin(uint32_t type, uint16_t misc = 0) {
    begin_ = bytes.size();
    return Put(perf_event_header{type, misc, 0});
  }
  RingBytes& End() {
    const auto size = static_cast<uint16_t>(bytes.size() - begin_);
    std::memcpy(bytes.data() + begin_ + offsetof(perf_event_header, size), &size, sizeof(size));
    return *this;
  }
  RingBytes& SampleHead(uint64_t id, uint64_t time) { return Begin(PERF_RECORD_SAMPLE).Put(id).Put(time); }
  RingBytes& Trailer(uint64_t time) { return Put(time).Put(uint64_t{1}); }

  std::vector<uint8_t> bytes;

 private:
  size_t begin_ = 0;
};

constexpr uint64_t kEnterEvent = 1;
constexpr uint64_t kExitEvent = 2;
constexpr uint64_t kCallEvent = 3;

class PerfRecordsTest : public ::testing::Test {
 protected:
  std::vector<PerfRecord> Parse(const std::vector<uint8_t>& bytes) {
    std::vector<PerfRecord> records;
    parser_.Parse(bytes, records);
    return records;
  }
  static void PutEnter(RingBytes& ring, uint64_t time) {
    ring.SampleHead(kEnterEvent, time);
    PutEnterFields(ring);
  }
  static void PutEnterFields(RingBytes& ring) {
    ring.Put(uint32_t{68}).Put(CommonFields(4713)).Put(int64_t{18});
    for (uint64_t arg = 0; arg < 6; ++arg) ring.Put(arg + 100);
    ring.Put(uint32_t{0}).End();
  }

  std::map<uint64_t, PerfEventInfo> infos_ = {{kEnterEvent, {Kind::kSyscallEnter, 4711, 4712, 0, false}},
                                              {kExitEvent, {Kind::kSyscallExit, 4711, 4712, 0, false}},
                                              {kCallEvent, {Kind::kCallEnter, 4711, 4712, 5, true}}};
  const std::function<const PerfEventInfo*(uint64_t)> info_of_ = [this](uint64_t id) {
    const auto found = infos_.find(id);
    return found == infos_.end() ? nullptr : &found->second;
  };
  PerfRecordParser parser_{ThreadField::kOfTracepoint, info_of_};
};

TEST_F(PerfRecordsTest, ReadsSamplesOfSystemCallsAndFunctions) {
  RingBytes ring;
  PutEnter(ring, 1000);
  ring.SampleHead(kExitEvent, 1100).Put(uint32_t{28}).Put(CommonFields(4713)).Put(int64_t{18}).Put(int64_t{-5});
  ring.Put(0U).End();
  ring.SampleHead(kCallEvent, 1200).Put(uint32_t{28}).Put(CommonFields(4714)).Put(uint64_t{0xabc}).Put(uint64_t{777});
  ring.Put(0U).End();
  const std::vector<PerfRecord> records = Parse(ring.bytes);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].kind, Kind::kSyscallEnter);
  EXPECT_EQ(records[0].number, 18);
  EXPECT_EQ(records[0].args[5], 105U);
  EXPECT_EQ(records[0].pid, 4711U);
  EXPECT_EQ(records[0].tid, 4713U);
  EXPECT_EQ(records[0].owner, 4712U);
  EXPECT_EQ(records[1].result, -5);
  EXPECT_EQ(records[1].tid, 4713U);
  EXPECT_EQ(records[2].tid, 4714U);
  EXPECT_EQ(records[2].number, 5);
  EXPECT_EQ(records[2].args[0], 777U);
  EXPECT_EQ(records[2].time_ns, 1200);
}

TEST_F(PerfRecordsTest, TakesProcessAndThreadFromTheSampleWhereProcessesInheritEvents) {
  RingBytes ring;
  ring.Begin(PERF_RECORD_SAMPLE).Put(kEnterEvent).Put(uint32_t{11}).Put(uint32_t{12}).Put(uint64_t{1000});
  PutEnterFields(ring);
  ring.Begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC).Put(uint32_t{11}).Put(uint32_t{11}).Put(uint64_t{0});
  ring.Put(uint32_t{11}).Put(uint32_t{11}).Trailer(1100).End();
  PerfRecordParser parser(ThreadField::kOfSample, info_of_);
  std::vector<PerfRecord> records;
  parser.Parse(ring.bytes, records);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].pid, 11U);
  EXPECT_EQ(records[0].tid, 12U);
  EXPECT_EQ(records[0].owner, 4712U);
  EXPECT_EQ(records[0].args[5], 105U);
  EXPECT_EQ(records[1].kind, Kind::kExec);
  EXPECT_EQ(records[1].pid, 11U);
  EXPECT_EQ(records[1].time_ns, 1100);
  EXPECT_EQ(parser.lost(), 0U);
}

TEST_F(PerfRecordsTest, MakesAGapFromTheLastRecordToTheOneThatReportsTheLoss) {
  RingBytes ring;
  PutEnter(ring, 1000);
  ring.Begin(PERF_RECORD_LOST).Put(uint64_t{1}).Put(uint64_t{42}).Trailer(1500).End();
  const std::vector<PerfRecord> records = Parse(ring.bytes);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[1].kind, Kind::kGapBegin);
  EXPECT_EQ(records[1].time_ns, 1000);
  EXPECT_EQ(records[2].kind, Kind::kGapEnd);
  EXPECT_EQ(records[2].time_ns, 1500);
  EXPECT_EQ(parser_.lost(), 42U);
}

TEST_F(PerfRecordsTest, ReportsAnotherProgramAndNotAnotherName) {
  RingBytes ring;
  ring.Begin(PERF_RECORD_COMM).Put(uint32_t{4711}).Put(uint32_t{4711}).Put(uint64_t{0}).Trailer(10).End();
  ring.Begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC).Put(uint32_t{4711}).Put(uint32_t{4711}).Put(uint64_t{0});
  ring.Trailer(20).End();
  const std::vector<PerfRecord> records = Parse(ring.bytes);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].kind, Kind::kExec);
  EXPECT_EQ(records[0].time_ns, 20);
}

TEST_F(PerfRecordsTest, PassesOverEventsThatAreClosedByNow) {
  infos_.erase(kEnterEvent);
  RingBytes ring;
  PutEnter(ring, 1000);
  EXPECT_THAT(Parse(ring.bytes), IsEmpty());
  EXPECT_EQ(parser_.last_time_ns(), 1000);
}

TEST_F(PerfRecordsTest, CountsMalformedRecordsAsLostAndReadsNothingBeyondThem) {
  RingBytes ring;
  PutEnter(ring, 1000);
  // Each cut of the record.
  for (size_t size = 8; size < ring.bytes.size(); ++size) {
    std::vector<uint8_t> cut(ring.bytes.begin(), ring.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto shorter = static_cast<uint16_t>(size);
    std::memcpy(cut.data() + offsetof(perf_event_header, size), &shorter, sizeof(shorter));
    const uint64_t before = parser_.lost();
    // Padding at the end may be missing.
    if (Parse(cut).empty()) {
      EXPECT_EQ(parser_.lost(), before + 1) << size;
    }
  }
}

TEST(PerfRings, ReadsTheKernelsListsOfCpus) {
  EXPECT_THAT(ParseCpuList("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(ParseCpuList("0"), ElementsAre(0));
  EXPECT_THAT(ParseCpuList(""), IsEmpty());
}

TEST(TraceFs, FindsAFieldByItsPlace) {
  const std::string format = "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n";
  EXPECT_TRUE(FormatHasField(format, "id", 8, 8));
  EXPECT_FALSE(FormatHasField(format, "id", 16, 8));
  EXPECT_FALSE(FormatHasField(format, "d", 8, 8));
}

}  // namespace
}  // namespace plimsoll
