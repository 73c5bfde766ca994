#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "common/trace.h"
#include "controller/export/formats.h"
#include "controller/export/perfetto_trace.pb.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/export/traced_journal.h"

namespace plimsoll {
namespace {

class PerfettoExportTest : public ::testing::Test {
 protected:
  perfetto::Trace Export(const tests::SimRun& run, const WriteFilter& filter) {
    std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
    std::mt19937_64 random(1);
    tests::AddTraces(run, records, random);
    return Export(records, filter);
  }
  perfetto::Trace Export(const std::vector<v1::JournalRecord>& records, const WriteFilter& filter) {
    tests::WriteJournal(directory_.Sub("journal"), records);
    auto index = RunIndex::Read(directory_.Sub("journal"));
    EXPECT_THAT(index, IsOk());
    index_ = std::move(index).value();
    auto stream = WriteStream::Open(*index_, filter);
    EXPECT_THAT(stream, IsOk());
    std::ostringstream bytes;
    auto output = MakeStreamOutput(bytes);
    const auto writes = ExportPerfetto(*index_, **stream, *output);
    EXPECT_THAT(writes, IsOk());
    writes_ = writes.value_or(0);
    EXPECT_THAT(output->Finish(), IsOk());
    perfetto::Trace trace;
    EXPECT_TRUE(trace.ParseFromString(bytes.str()));
    return trace;
  }

  tests::TempDirectory directory_;
  std::unique_ptr<RunIndex> index_;
  uint64_t writes_ = 0;
};

// What the slices of a track come to; checks that they begin and end in turn.
struct Slices {
  bool open = false;
  uint64_t last_ns = 0;
  uint64_t count = 0;
  uint64_t latency_sum_ns = 0;
  uint64_t last_number = 0;
};

TEST_F(PerfettoExportTest, EverySliceEndsOnATrackThatIsThereInTheOrderOfTime) {
  std::mt19937_64 random(51);
  const tests::SimRun run = tests::TwoHosts(random);
  const perfetto::Trace trace = Export(run, {std::nullopt, true});
  std::map<uint64_t, perfetto::TrackDescriptor> tracks;
  std::map<uint64_t, Slices> slices;
  uint64_t last_ns = 0;
  for (const perfetto::Packet& packet : trace.packet()) {
    ASSERT_EQ(packet.trusted_packet_sequence_id(), 1U);
    if (packet.has_track_descriptor()) {
      const perfetto::TrackDescriptor& track = packet.track_descriptor();
      ASSERT_NE(track.uuid(), 0U);
      ASSERT_TRUE(tracks.try_emplace(track.uuid(), track).second) << "two tracks of one name";
      const uint64_t parent = track.parent_uuid();
      ASSERT_TRUE(parent == 0 || tracks.contains(parent)) << "a track below none";
    }
    if (!packet.has_track_event()) continue;
    ASSERT_GE(packet.timestamp(), last_ns) << "packets go back in time";
    last_ns = packet.timestamp();
    const perfetto::TrackEvent& event = packet.track_event();
    ASSERT_TRUE(tracks.contains(event.track_uuid()));
    Slices& of_track = slices[event.track_uuid()];
    ASSERT_EQ(event.type(), of_track.open ? 2 : 1) << "slices of a track overlap";
    ASSERT_GE(packet.timestamp(), of_track.last_ns);
    of_track.last_ns = packet.timestamp();
    of_track.open = !of_track.open;
    if (!of_track.open) continue;
    ++of_track.count;
    ASSERT_EQ(event.debug_annotations_size(), 3);
    of_track.latency_sum_ns += event.debug_annotations(1).uint_value();
    ASSERT_GT(event.debug_annotations(2).int_value(), 0);
  }
  uint64_t wanted = 0;
  for (const v1::StepReport& step : index_->report().steps()) {
    const v1::ScopeReport& cluster = *step.scopes().rbegin();
    wanted += cluster.latency().count() + cluster.warmup_writes();
  }
  uint64_t found = 0;
  for (const auto& [uuid, of_track] : slices) {
    EXPECT_FALSE(of_track.open) << "a slice does not end";
    found += of_track.count;
  }
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(writes_, wanted);
  std::vector<std::string> names;
  names.reserve(tracks.size());
  for (const auto& [uuid, track] : tracks) {
    names.push_back(track.parent_uuid() == 0 ? track.name() : tracks[track.parent_uuid()].name() + "/" + track.name());
  }
  EXPECT_EQ(names, std::vector<std::string>({"alpha", "beta", "alpha/qm1", "alpha/qm2", "beta/qm1"}));
}

TEST_F(PerfettoExportTest, ReportsEachWritesStepLatencyAndNumber) {
  std::mt19937_64 random(52);
  const tests::SimRun run = tests::TwoHosts(random);
  const perfetto::Trace trace = Export(run, {1, false});
  std::map<uint64_t, std::string> event_names;
  std::map<uint64_t, std::string> annotation_names;
  uint64_t latency_sum_ns = 0;
  bool anew = false;
  for (const perfetto::Packet& packet : trace.packet()) {
    if (packet.has_interned_data()) {
      anew = packet.sequence_flags() == 1;
      for (const auto& name : packet.interned_data().event_names()) event_names[name.iid()] = name.name();
      for (const auto& name : packet.interned_data().debug_annotation_names())
        annotation_names[name.iid()] = name.name();
    }
    if (packet.track_event().type() != 1) continue;
    ASSERT_TRUE(anew);
    ASSERT_EQ(packet.sequence_flags(), 2U);
    ASSERT_EQ(event_names[packet.track_event().name_iid()], "step 2: 64 KiB");
    ASSERT_EQ(annotation_names[packet.track_event().debug_annotations(0).name_iid()], "number");
    ASSERT_EQ(annotation_names[packet.track_event().debug_annotations(1).name_iid()], "latency_ns");
    ASSERT_EQ(annotation_names[packet.track_event().debug_annotations(2).name_iid()], "clock_error_ns");
    latency_sum_ns += packet.track_event().debug_annotations(1).uint_value();
  }
  EXPECT_EQ(latency_sum_ns, index_->report().steps(1).scopes().rbegin()->latency().sum_ns());
}

TEST_F(PerfettoExportTest, ASliceEndsWhereTheNextOneBeginsAndKeepsItsLatency) {
  tests::SimRun run;
  // The second write starts before the first one ends, as clocks that run apart make it look.
  run.hosts.push_back({"alpha", 0, {{{{0, 1'000}, {999, 500}, {999, 0}, {2'000, 10}}}}, {}, 0, {}, 1});
  const perfetto::Trace trace = Export(run, {});
  std::vector<std::pair<int, uint64_t>> events;
  uint64_t first_ns = 0;
  for (const perfetto::Packet& packet : trace.packet()) {
    if (!packet.has_track_event()) continue;
    if (events.empty()) first_ns = packet.timestamp();
    events.emplace_back(packet.track_event().type(), packet.timestamp() - first_ns);
  }
  EXPECT_EQ(events, (std::vector<std::pair<int, uint64_t>>{
                        {1, 0}, {2, 999}, {1, 999}, {2, 999}, {1, 999}, {2, 999}, {1, 2'000}, {2, 2'010}}));
}

TEST_F(PerfettoExportTest, ThePartsOfAWriteAreSlicesInsideItsOwn) {
  tests::SimRun run;
  // The second write is cut off in its call by the third one, and the third in its sync by the fourth.
  run.hosts.push_back({"alpha", 0, {{{{0, 1'000}, {1'500, 900}, {1'550, 400}, {1'900, 600}}}}, {}, 0, {}, 1});
  run.hosts[0].sync_ns = [](uint64_t number) { return number == 4 ? 600 : 300; };
  const perfetto::Trace trace = Export(run, {});
  std::map<uint64_t, std::string> names;
  std::vector<std::string> open;
  std::vector<std::string> events;
  uint64_t first_ns = 0;
  for (const perfetto::Packet& packet : trace.packet()) {
    for (const auto& name : packet.interned_data().event_names()) names[name.iid()] = name.name();
    if (!packet.has_track_event()) continue;
    if (events.empty()) first_ns = packet.timestamp();
    const std::string moment = " " + std::to_string(packet.timestamp() - first_ns);
    if (packet.track_event().type() == 1) {
      open.push_back(names[packet.track_event().name_iid()]);
      events.push_back(open.back() + moment);
    } else {
      ASSERT_FALSE(open.empty());
      events.push_back("end of " + open.back() + moment);
      open.pop_back();
    }
  }
  EXPECT_TRUE(open.empty());
  EXPECT_THAT(events,
              ElementsAre("step 1: 4 KiB 0", "write call 0", "end of write call 700", "sync 700", "end of sync 1000",
                          "end of step 1: 4 KiB 1000",  //
                          "step 1: 4 KiB 1500", "write call 1500", "end of write call 1550",
                          "end of step 1: 4 KiB 1550",  //
                          "step 1: 4 KiB 1550", "write call 1550", "end of write call 1650", "sync 1650",
                          "end of sync 1900", "end of step 1: 4 KiB 1900",  //
                          "step 1: 4 KiB 1900", "write call 1900", "end of write call 1900", "sync 1900",
                          "end of sync 2500", "end of step 1: 4 KiB 2500"));
}

// Each slice of the trace with its category, its begin after the first one's and its track; then the names of all
// categories.
std::vector<std::string> SlicesAndCategories(const perfetto::Trace& trace) {
  std::map<uint64_t, std::string> names;
  std::map<uint64_t, std::string> categories;
  std::vector<std::string> found;
  uint64_t first_ns = 0;
  for (const perfetto::Packet& packet : trace.packet()) {
    for (const auto& name : packet.interned_data().event_names()) names[name.iid()] = name.name();
    for (const auto& name : packet.interned_data().event_categories()) categories[name.iid()] = name.name();
    const perfetto::TrackEvent& event = packet.track_event();
    if (event.type() != 1) continue;
    if (found.empty()) first_ns = packet.timestamp();
    std::string categories_of_event;
    for (const uint64_t iid : event.category_iids()) categories_of_event += categories[iid];
    found.push_back(categories_of_event + ": " + names[event.name_iid()] + " " +
                    std::to_string(packet.timestamp() - first_ns) + " on " + std::to_string(event.track_uuid()));
  }
  for (const auto& [iid, name] : categories) found.push_back(name);
  return found;
}

TEST_F(PerfettoExportTest, ReadsAndWritesAreNamedOnTheTrackOfTheirWriter) {
  tests::SimRun run;
  run.read_percent = 50;
  run.hosts.push_back({"alpha", 0, {{{{0, 1'000}, {1'500, 900}, {3'000, 100}, {4'000, 600}}}}, {}, 0, {}, 1});
  const perfetto::Trace trace = Export(run, {});
  EXPECT_EQ(writes_, 4U);
  EXPECT_THAT(
      SlicesAndCategories(trace),
      ElementsAre("write: step 1: write, 4 KiB 0 on 2", "read: step 1: read, 4 KiB 1500 on 2",
                  "write: step 1: write, 4 KiB 3000 on 2", "read: step 1: read, 4 KiB 4000 on 2", "write", "read"));
  std::vector<int> types;
  for (const perfetto::Packet& packet : trace.packet()) {
    if (packet.has_track_event()) types.push_back(packet.track_event().type());
  }
  EXPECT_THAT(types, ElementsAre(1, 2, 1, 2, 1, 2, 1, 2));
}

TEST_F(PerfettoExportTest, NamesNoOperationAWriteWhereAllRead) {
  tests::SimRun run;
  run.read_percent = 100;
  run.hosts.push_back({"alpha", 0, {{{{0, 1'000}, {1'500, 900}}}}, {}, 0, {}, 1});
  EXPECT_THAT(SlicesAndCategories(Export(run, {})),
              ElementsAre("read: step 1: read, 4 KiB 0 on 2", "read: step 1: read, 4 KiB 1500 on 2", "read"));
}

TEST_F(PerfettoExportTest, ARunWithoutReadsNeedsNoWordForItsWrites) {
  tests::SimRun run;
  run.hosts.push_back({"alpha", 0, {{{{0, 1'000}}}}, {}, 0, {}, 1});
  EXPECT_THAT(SlicesAndCategories(Export(run, {})), ElementsAre("write: step 1: 4 KiB 0 on 2", "write"));
}

TEST_F(PerfettoExportTest, LeavesOutWhatIsNotKnown) {
  tests::SimRun run;
  run.hosts.push_back({"alpha", 0, {{{{0, 1'000}, {1'500, 400}, {2'000, 500}}}}, {}, 0, {}, 1});
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  int frames = 0;
  for (v1::JournalRecord& record : records) {
    if (record.has_probes()) record.mutable_probes()->clear_probes();
    if (!record.has_frames()) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.latency().count() == 0) continue;
      // Of three writes the one in the middle has a trace: its number is not known.
      TraceEncoder encoder;
      encoder.Add(frame.first_start_ns() + 1'500, 400);
      frame.add_trace(encoder.Finish());
      frame.set_untraced_writes(2);
      ++frames;
    }
  }
  ASSERT_EQ(frames, 1);
  const perfetto::Trace trace = Export(records, {});
  EXPECT_EQ(writes_, 1U);
  for (const perfetto::Packet& packet : trace.packet()) {
    if (packet.track_event().type() != 1) continue;
    ASSERT_EQ(packet.track_event().debug_annotations_size(), 1) << packet.DebugString();
    EXPECT_EQ(packet.track_event().debug_annotations(0).name_iid(), 2U) << "the latency's name";
    EXPECT_EQ(packet.track_event().debug_annotations(0).uint_value(), 400U);
  }
}

TEST_F(PerfettoExportTest, TiesTheTraceToTheCalendar) {
  tests::SimRun run;
  run.hosts.push_back({"al\x1bpha", 0, {{{{0, 1'000}}}}, {}, 0, {}, 1});
  const perfetto::Trace trace = Export(run, {});
  std::map<uint32_t, uint64_t> clocks;
  for (const auto& clock : trace.packet(0).clock_snapshot().clocks()) clocks[clock.clock_id()] = clock.timestamp();
  EXPECT_EQ(clocks,
            (std::map<uint32_t, uint64_t>{{1, 1'795'202'411'000'000'000}, {3, 500'000'000'000}, {6, 500'000'000'000}}));
  EXPECT_EQ(trace.packet(2).track_descriptor().process().process_name(), "al\uFFFDpha");
}

}  // namespace
}  // namespace plimsoll
