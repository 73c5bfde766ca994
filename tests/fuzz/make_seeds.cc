// Writes the seeds that cannot be written by hand: make_seeds DIRECTORY fills DIRECTORY/<target>/.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/load_pattern.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/playback/pattern_file.h"
#include "plimsoll/v1/agent.pb.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"
#include "tests/unit/export/traced_journal.h"

namespace plimsoll::fuzz {
namespace {

std::filesystem::path g_directory;

void Keep(const std::string& target, const std::string& name, const std::string& bytes) {
  std::filesystem::create_directories(g_directory / target);
  std::ofstream(g_directory / target / name, std::ios::binary) << bytes;
}

// Few writes, two hosts, everything that a frame can hold.
SimRun SmallRun() {
  SimRun run;
  run.duration_ns = kNsPerSecond;
  run.criteria = {"p99<10ms"};
  for (const char* label : {"alpha", "beta"}) {
    SimHost host;
    host.label = label;
    host.clock_ahead_ns = run.hosts.empty() ? 0 : 1'000 * kNsPerSecond;
    host.sees = {"alpha"};
    host.steps = {{tests::Steady(run.duration_ns, 30 * kNsPerMs), tests::Steady(run.duration_ns, 45 * kNsPerMs)}};
    run.hosts.push_back(host);
  }
  return run;
}

// Threads 1 and 2 of a host have a named file each, in place of extents.
void UseFiles(bool one_pass, v1::LogWorkload& workload) {
  workload.clear_num_files();
  workload.clear_file_prefix();
  workload.add_files("F000");
  workload.add_files("F001");
  workload.set_share(v1::FILE_SHARE_OWN);
  if (one_pass) workload.set_one_pass(true);
}

// Gives the records of a run named files. The places of writes are then in the file of their thread.
void UseFiles(bool one_pass, std::vector<v1::JournalRecord>& records) {
  for (v1::JournalRecord& record : records) {
    if (record.has_run_begin()) UseFiles(one_pass, *record.mutable_run_begin()->mutable_plan()->mutable_workload());
    if (record.has_host_joined()) {
      UseFiles(one_pass, *record.mutable_host_joined()->mutable_plan()->mutable_log()->mutable_workload());
    }
    if (!record.has_frames()) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.has_slowest()) frame.mutable_slowest()->set_extent(frame.qm() - 1);
      for (v1::WriteSample& slow : *frame.mutable_slow()) slow.set_extent(frame.qm() - 1);
    }
  }
}

enum class Files { kNone, kNamed, kOnePass };

void KeepJournal(const std::string& name, const SimRun& run, bool traced, Files files = Files::kNone) {
  std::mt19937_64 random(7);
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  if (traced) tests::AddTraces(run, records, random);
  if (files != Files::kNone) UseFiles(files == Files::kOnePass, records);
  const std::string path = (g_directory / "journal_fuzz" / name).string();
  std::filesystem::create_directories(g_directory / "journal_fuzz");
  std::filesystem::remove(path);
  tests::WriteJournal(path, records);
}

void MakeJournals() {
  KeepJournal("traced", SmallRun(), true);
  SimRun run = SmallRun();
  run.block_sizes = {4096, 65536};
  for (SimHost& host : run.hosts) host.steps.push_back(host.steps.front());
  run.warmup_ns = 250 * kNsPerMs;
  KeepJournal("two_steps", run, false);
  run = SmallRun();
  run.hosts[1].lost_after_ns = 500 * kNsPerMs;
  KeepJournal("lost", run, true);
  run = SmallRun();
  run.cut_short = "interrupted";
  run.hosts[0].coalesce = 3;
  run.hosts[0].rate_per_second = 20;
  run.hosts[1].pauses = {{0, 300 * kNsPerMs, 500 * kNsPerMs}};
  KeepJournal("rate_coalesced_paused", run, true);
  run = SmallRun();
  run.read_percent = 40;
  run.criteria = {"read_p99<10ms", "read_iops>=1"};
  run.hosts[0].coalesce = 3;
  run.hosts[0].reads_first = 2;
  KeepJournal("mixed", run, true);
  KeepJournal("mixed_files", run, true, Files::kNamed);
  KeepJournal("one_pass", run, true, Files::kOnePass);
  run.cut_short = "alpha: the pass was not finished within --duration 1s";
  KeepJournal("pass_cut_short", run, false, Files::kOnePass);
  run = SmallRun();
  run.hosts.resize(1);
  run.hosts[0].steps = {{tests::ClosedLoop(
      run.duration_ns, 1'000,
      tests::WithStalls([](uint64_t, int64_t) { return 20 * kNsPerMs; }, {{200 * kNsPerMs, 450 * kNsPerMs}}))}};
  run.hosts[0].sample = [](uint32_t, int64_t) {
    v1::HostSample sample;
    sample.set_agent_cpu_ns(5 * kNsPerMs);
    sample.mutable_disk()->set_device("nvme0n1");
    sample.mutable_disk()->set_writes(50);
    sample.mutable_nfs()->mutable_write()->set_operations(50);
    return sample;
  };
  KeepJournal("stalled_loaded", run, true);
}

// Moments of a frame as they count from the start that the host was told.
void CountFromStart(v1::Frame& frame, int64_t start_ns) {
  frame.set_first_start_ns(frame.first_start_ns() - start_ns);
  frame.set_last_end_ns(frame.last_end_ns() - start_ns);
  if (frame.in_flight_since_ns() != 0) frame.set_in_flight_since_ns(frame.in_flight_since_ns() - start_ns);
  frame.set_cut_ns(frame.cut_ns() - start_ns);
  frame.mutable_slowest()->set_start_ns(frame.slowest().start_ns() - start_ns);
  for (v1::WriteSample& slow : *frame.mutable_slow()) slow.set_start_ns(slow.start_ns() - start_ns);
  for (v1::StalledInterval& stall : *frame.mutable_stalls()) {
    stall.set_begin_ns(stall.begin_ns() - start_ns);
    stall.set_end_ns(stall.end_ns() - start_ns);
  }
}

// The items of coordinator_fuzz: what the hosts of a journal sent, one item for each message.
std::vector<Item> Said(const std::vector<v1::JournalRecord>& records) {
  std::vector<Item> items;
  std::map<uint32_t, int64_t> start_ns;
  const auto say = [&items](uint32_t host, const v1::AgentMessage& message) {
    items.push_back({static_cast<uint8_t>(host), message.SerializeAsString()});
  };
  for (const v1::JournalRecord& record : records) {
    v1::AgentMessage message;
    if (record.has_step_begin()) {
      for (int i = 0; i < record.step_begin().host_start_ns_size(); ++i) {
        start_ns[static_cast<uint32_t>(i)] = record.step_begin().host_start_ns(i);
      }
    } else if (record.has_frames()) {
      const uint32_t host = record.frames().host();
      *message.mutable_frames()->mutable_frames() = record.frames().frames();
      if (record.frames().has_sample()) {
        *message.mutable_frames()->mutable_sample() = record.frames().sample();
        message.mutable_frames()->mutable_sample()->set_time_ns(record.frames().sample().time_ns() - start_ns[host]);
      }
      for (v1::Frame& frame : *message.mutable_frames()->mutable_frames()) CountFromStart(frame, start_ns[host]);
      say(host, message);
    } else if (record.has_step_done()) {
      const uint32_t host = record.step_done().host();
      *message.mutable_step_done() = record.step_done().done();
      for (v1::WriterTotals& totals : *message.mutable_step_done()->mutable_writers()) {
        totals.set_first_start_ns(totals.first_start_ns() - start_ns[host]);
        totals.set_last_end_ns(totals.last_end_ns() - start_ns[host]);
      }
      say(host, message);
    }
  }
  return items;
}

void MakeCoordinatorRuns() {
  constexpr uint8_t kAll = 1 | 2 | 4 | 8;
  const std::string target = "coordinator_fuzz";
  const auto keep = [&target](const std::string& name, uint8_t habits, std::vector<Item> items) {
    items.insert(items.begin(), Item{habits, ""});
    Keep(target, name, WriteItems(items));
  };
  // What the coordinator asks before the step runs takes so many turns.
  const std::vector<Item> quiet(6, Item{0, ""});
  std::vector<Item> whole = quiet;
  const std::vector<Item> said = Said(tests::MakeJournal(SmallRun()));
  whole.insert(whole.end(), said.begin(), said.end());
  keep("whole", kAll, whole);
  keep("early", kAll, said);
  keep("continue_on_loss", kAll | 16, whole);
  keep("two_steps", kAll | 32, whole);
  std::vector<v1::JournalRecord> with_files = tests::MakeJournal(SmallRun());
  UseFiles(/*one_pass=*/true, with_files);
  std::vector<Item> pass = quiet;
  for (Item& item : Said(with_files)) pass.push_back(std::move(item));
  keep("one_pass_over_files", kAll | 64, pass);
  v1::AgentMessage unfinished;
  unfinished.mutable_step_done()->set_stopped("the pass was not finished within --duration 1s");
  std::vector<Item> stopped = pass;
  stopped.insert(stopped.begin() + 9, Item{1, unfinished.SerializeAsString()});
  keep("pass_not_finished", kAll | 64, stopped);
  std::vector<Item> lost = whole;
  lost.insert(lost.begin() + 9, Item{1 | 2 << 1, std::string("\x0e", 1) + "connection reset"});
  keep("lost", kAll, lost);
  keep("lost_and_continue", kAll | 16, lost);
  std::vector<Item> interrupted = whole;
  interrupted.insert(interrupted.begin() + 9, Item{3 << 1, ""});
  keep("interrupted", kAll, interrupted);
  interrupted.insert(interrupted.begin() + 10, Item{3 << 1, ""});
  keep("interrupted_twice", kAll, interrupted);
  v1::AgentMessage fault;
  fault.mutable_fault()->set_code(8);
  fault.mutable_fault()->set_message("pwritev2 /fake/S0000000.LOG: No space left on device (28)");
  std::vector<Item> failed = whole;
  failed.insert(failed.begin() + 9, Item{1, fault.SerializeAsString()});
  keep("failed", kAll, failed);
  keep("failed_while_preparing", 1 | 8, {Item{0, fault.SerializeAsString()}});
  v1::AgentMessage late;
  late.mutable_armed()->set_late(true);
  keep("late", 1 | 2 | 8,
       {Item{0, ""}, Item{0, ""}, Item{0, ""}, Item{0, late.SerializeAsString()}, Item{1, late.SerializeAsString()}});
  v1::AgentMessage alive;
  alive.mutable_alive()->set_state("running");
  alive.mutable_alive()->add_in_flight()->set_qm(1);
  keep("alive", kAll, {Item{8, alive.SerializeAsString()}, Item{9, alive.SerializeAsString()}});
  v1::ProbeBatch probes;
  v1::ProbeResult& probe = *probes.add_probes();
  probe.set_sent_ns(kNsPerSecond);
  probe.set_agent_received_ns(2 * kNsPerSecond);
  probe.set_agent_sent_ns(2 * kNsPerSecond);
  probe.set_received_ns(kNsPerSecond + 1'000);
  keep("probes", 2 | 4 | 8, {Item{1 << 1, probes.SerializeAsString()}, Item{1 << 1 | 1, probes.SerializeAsString()}});
}

v1::ControllerMessage PrepareMessage() {
  v1::ControllerMessage message;
  message.mutable_prepare()->set_protocol_version(kProtocolVersion);
  v1::HostPlan& plan = *message.mutable_prepare()->mutable_plan();
  plan.set_run_id("4f3a21");
  plan.set_run_token("0123456789abcdef");
  plan.set_host_label("alpha");
  plan.set_lease_ns(10 * kNsPerSecond);
  plan.set_frame_interval_ns(kNsPerMs);
  plan.mutable_log()->set_trace(true);
  plan.mutable_log()->set_stall_ns(kNsPerMs);
  v1::LogWorkload& workload = *plan.mutable_log()->mutable_workload();
  workload.set_dir("/root/mq");
  workload.set_qm(2);
  workload.set_file_size_bytes(65536);
  workload.set_num_files(2);
  workload.set_file_prefix("S");
  workload.set_sync(v1::SYNC_MODE_DSYNC);
  workload.set_direct(v1::DIRECT_MODE_AUTO);
  for (const uint64_t block : {uint64_t{4096}, uint64_t{512}}) {
    v1::LogStep& step = *plan.mutable_log()->add_steps();
    step.set_block_size_bytes(block);
    step.set_duration_ns(3 * kNsPerMs);
    step.set_warmup_ns(kNsPerMs);
  }
  return message;
}

v1::ControllerMessage ReadBack(uint32_t step) {
  v1::ControllerMessage message;
  message.mutable_command()->set_id(step + 1);
  message.mutable_command()->mutable_read_back()->set_step(step);
  return message;
}

v1::ControllerMessage Arm(uint32_t step) {
  v1::ControllerMessage message;
  message.mutable_arm()->set_step(step);
  message.mutable_arm()->set_start_ns(300'000);  // 3 ms from now on
  return message;
}

// PrepareMessage's plan, whose two writers play two streams of 4 and 2 entries in two steps.
v1::ControllerMessage PlaybackMessage(v1::PlaybackMode mode) {
  v1::ControllerMessage message = PrepareMessage();
  v1::LogWork& work = *message.mutable_prepare()->mutable_plan()->mutable_log();
  work.mutable_workload()->set_file_size_bytes(256 << 10);
  for (int i = 0; i < work.steps_size(); ++i) {
    v1::LogStep& step = *work.mutable_steps(i);
    step.clear_block_size_bytes();
    v1::GroupCommit& commits = *step.mutable_group_commit();
    commits.set_pattern("pattern.plimsoll");
    commits.set_playback(mode);
    commits.set_load_factor(i == 0 ? 1 : 3.5);
    commits.set_log_buffer_pages(128);
    SetOperations(/*parts=*/false, step);
  }
  v1::PatternParts& parts = *work.mutable_pattern();
  for (const uint64_t entries : {4U, 2U}) {
    parts.add_entries(entries);
    parts.add_length_ns(kNsPerMs);
    parts.add_stream_of_writer(static_cast<uint32_t>(parts.stream_of_writer_size()));
  }
  return message;
}

// Writes of 1 page and more, and a pause.
v1::ControllerMessage RecordedChunk(uint32_t stream, uint16_t entries) {
  v1::ControllerMessage message;
  v1::PatternChunk& chunk = *message.mutable_pattern_chunk();
  chunk.set_stream(stream);
  for (uint16_t i = 1; i <= entries; ++i) {
    const bool pause = i % 4 == 3;
    const uint16_t count = pause ? 0 : i;
    AddEntry({uint32_t{i} * 30'000, static_cast<uint16_t>(pause ? 0 : 1 + i * i), count}, chunk);
  }
  return message;
}

std::vector<Item> Items(const std::vector<v1::ControllerMessage>& messages, uint8_t route) {
  std::vector<Item> items;
  items.reserve(messages.size());
  for (const v1::ControllerMessage& message : messages) items.push_back({route, message.SerializeAsString()});
  return items;
}

// Plans of `prepare`'s shape on named files, and on the files that session_fuzz has: /root/target, which its agent may
// overwrite, and /root/kept, which an earlier `create` left.
class FilePlans {
 public:
  explicit FilePlans(v1::ControllerMessage prepare) : prepare_(std::move(prepare)) {}

  v1::ControllerMessage On(const std::vector<std::string>& files, uint32_t threads) const {
    v1::ControllerMessage message = prepare_;
    v1::LogWorkload& workload = WorkloadOf(message);
    workload.clear_num_files();
    workload.clear_file_prefix();
    workload.set_dir("/root");
    workload.set_qm(threads);
    workload.mutable_files()->Assign(files.begin(), files.end());
    workload.set_share(v1::FILE_SHARE_OWN);
    return message;
  }
  // Each block once, in one step without a warm-up; `create`: that makes the files.
  v1::ControllerMessage OnePass(const std::vector<std::string>& files, uint32_t threads, bool create) const {
    v1::ControllerMessage message = On(files, threads);
    WorkloadOf(message).set_one_pass(true);
    if (create) WorkloadOf(message).set_create(true);
    WorkloadOf(message).set_sync(v1::SYNC_MODE_FSYNC);
    v1::LogWork& work = *message.mutable_prepare()->mutable_plan()->mutable_log();
    while (work.steps_size() > 1) work.mutable_steps()->RemoveLast();
    work.mutable_steps(0)->set_warmup_ns(0);
    work.mutable_steps(0)->set_duration_ns(5 * kNsPerMs);
    return message;
  }
  // The part that the files have already is used.
  static v1::ControllerMessage AsFound(v1::ControllerMessage message, bool overwrite) {
    WorkloadOf(message).clear_file_size_bytes();
    if (overwrite) WorkloadOf(message).set_overwrite(true);
    return message;
  }
  static v1::LogWorkload& WorkloadOf(v1::ControllerMessage& message) {
    return *message.mutable_prepare()->mutable_plan()->mutable_log()->mutable_workload();
  }

 private:
  v1::ControllerMessage prepare_;
};

void MakeSessions() {
  v1::ControllerMessage release;
  release.mutable_release();
  v1::ControllerMessage keep_files;
  keep_files.mutable_release()->set_keep_files(true);
  v1::ControllerMessage stop;
  stop.mutable_stop()->set_reason("interrupted");
  v1::ControllerMessage beat;
  beat.mutable_heartbeat()->set_id(7);
  v1::ControllerMessage stop_trace;
  stop_trace.mutable_command()->mutable_stop_trace()->set_at_ns(1);
  const v1::ControllerMessage prepare = PrepareMessage();
  v1::ControllerMessage outside = prepare;
  outside.mutable_prepare()->mutable_plan()->mutable_log()->mutable_workload()->set_dir("/root/link");
  v1::ControllerMessage up = prepare;
  up.mutable_prepare()->mutable_plan()->mutable_log()->mutable_workload()->set_dir("/root/mq/../../outside");
  v1::ControllerMessage taken = prepare;
  taken.mutable_prepare()->mutable_plan()->set_run_id("0123abcd");
  taken.mutable_prepare()->mutable_plan()->set_host_label("stranger");
  taken.mutable_prepare()->mutable_plan()->mutable_log()->mutable_workload()->set_dir("/root");
  v1::ControllerMessage rated = prepare;
  rated.mutable_prepare()->mutable_plan()->mutable_log()->mutable_workload()->set_rate_per_second(2'000);
  v1::ControllerMessage buffered = prepare;
  buffered.mutable_prepare()->mutable_plan()->mutable_log()->mutable_workload()->set_direct(v1::DIRECT_MODE_OFF);
  buffered.mutable_prepare()->mutable_plan()->mutable_log()->mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  for (v1::LogStep& step : *buffered.mutable_prepare()->mutable_plan()->mutable_log()->mutable_steps()) {
    SetOperations(/*parts=*/true, step);
  }
  const auto reading = [](v1::ControllerMessage message, uint32_t read_percent) {
    for (v1::LogStep& step : *message.mutable_prepare()->mutable_plan()->mutable_log()->mutable_steps()) {
      step.set_read_percent(read_percent);
      step.set_random_order(true);
      SetOperations(/*parts=*/false, step);
    }
    return message;
  };
  const v1::ControllerMessage mixed = reading(prepare, 40);
  const v1::ControllerMessage only_reads = reading(prepare, kOnlyReads);
  const FilePlans plans(prepare);
  v1::ControllerMessage paused = reading(plans.On({"A"}, 3), 40);
  FilePlans::WorkloadOf(paused).set_pause_percent(50);
  v1::ControllerMessage ranges = FilePlans::AsFound(plans.On({"/root/target"}, 2), /*overwrite=*/true);
  FilePlans::WorkloadOf(ranges).set_share(v1::FILE_SHARE_RANGES);
  ranges.mutable_prepare()->mutable_plan()->set_host_index(1);
  ranges.mutable_prepare()->mutable_plan()->mutable_log()->set_hosts(2);
  v1::ControllerMessage short_lease = prepare;
  short_lease.mutable_prepare()->mutable_plan()->set_lease_ns(4 * kNsPerMs);

  const v1::ControllerMessage playback = PlaybackMessage(v1::PLAYBACK_MODE_DEMAND);

  v1::ControllerMessage look;
  look.mutable_look()->set_round(1);
  look.mutable_look()->add_hosts("beta");
  v1::ControllerMessage fill;
  fill.mutable_fill();

  const std::string target = "session_fuzz";
  const auto keep = [&target](const std::string& name, const std::vector<v1::ControllerMessage>& messages,
                              uint8_t route = 1) { Keep(target, name, WriteItems(Items(messages, route))); };
  keep("two_steps", {prepare, Arm(0), beat, Arm(1), release});
  keep("read_back", {prepare, Arm(0), ReadBack(0), Arm(1), ReadBack(0), ReadBack(1), release});
  keep("kept", {prepare, Arm(0), keep_files});
  keep("stopped", {prepare, Arm(0), stop, Arm(1), beat, release}, 0);
  keep("rushed", {prepare, beat, Arm(0), Arm(1), stop_trace, stop, release, beat}, 0);
  keep("broken", {prepare, Arm(0)}, 0);
  keep("rated", {rated, Arm(0), Arm(1), release});
  keep("buffered", {buffered, Arm(0), stop_trace, Arm(1), release});
  keep("mixed", {mixed, Arm(0), Arm(1), release});
  keep("only_reads", {only_reads, Arm(0), Arm(1), release});
  keep("named_files", {plans.On({"F000", "F001", "F002"}, 2), Arm(0), Arm(1), release});
  keep("shared_file", {paused, Arm(0), Arm(1), release});
  keep("one_pass", {plans.OnePass({"F000", "F001"}, 3, /*create=*/false), Arm(0), release});
  keep("creates", {plans.OnePass({"/root/new", "/root/kept"}, 2, /*create=*/true), Arm(0), release});
  keep("uses_kept", {FilePlans::AsFound(plans.On({"/root/kept"}, 2), /*overwrite=*/false), Arm(0), Arm(1), release});
  keep("reads_found", {reading(FilePlans::AsFound(plans.On({"/root/target"}, 1), /*overwrite=*/false), kOnlyReads),
                       Arm(0), Arm(1), release});
  keep("overwrites", {FilePlans::AsFound(plans.On({"/root/target"}, 2), /*overwrite=*/true), Arm(0), Arm(1), release});
  keep("ranges", {ranges, Arm(0), Arm(1), release});
  keep("foreign_file", {FilePlans::AsFound(plans.On({"/outside/precious"}, 1), /*overwrite=*/true), Arm(0)});
  keep("file_through_link", {FilePlans::AsFound(plans.On({"/root/link/precious"}, 1), /*overwrite=*/true), Arm(0)});
  keep("creates_outside", {plans.OnePass({"/outside/new"}, 1, /*create=*/true), Arm(0)});
  keep("link_outside", {outside});
  keep("up_and_outside", {up});
  keep("taken", {taken, Arm(0)});
  keep("short_lease", {short_lease, Arm(0), Arm(1)});
  keep("no_prepare", {Arm(0)});
  keep("prepared_twice", {prepare, prepare});
  // Bit 1: nothing is filled before the input says so.
  keep("looks", {prepare, look, look, fill, fill, Arm(0), release}, 2);
  keep("arms_unfilled", {prepare, look, Arm(0)}, 2);
  keep("stops_unfilled", {prepare, stop, fill}, 2);
  keep("no_such_step", {prepare, Arm(7), release});
  const auto play = [&](const std::string& name, const v1::ControllerMessage& plan,
                        const std::vector<v1::ControllerMessage>& messages) {
    std::vector<Item> items = Items(messages, 1);
    items.insert(items.begin(), Item{2, plan.SerializeAsString()});
    Keep(target, name, WriteItems(items));
  };
  play("plays", playback,
       {RecordedChunk(0, 3), RecordedChunk(1, 2), RecordedChunk(0, 1), fill, Arm(0), Arm(1), release});
  play("plays_writes", PlaybackMessage(v1::PLAYBACK_MODE_WRITES),
       {RecordedChunk(1, 2), RecordedChunk(0, 4), fill, Arm(0), Arm(1), release});
  play("lacks_recorded_writes", playback, {RecordedChunk(0, 4), fill, Arm(0)});
  play("too_many_recorded_writes", playback, {RecordedChunk(0, 5), fill});
  play("unknown_stream", playback, {RecordedChunk(2, 1), fill});
  play("recorded_writes_unasked", prepare, {RecordedChunk(0, 1), fill});

  // Seeds of load_pattern_fuzz: a byte, and a chunk.
  for (const char how : {'\x00', '\x83'}) {
    Keep("load_pattern_fuzz", how == 0 ? "demand" : "writes",
         std::string(1, how) + RecordedChunk(0, 12).pattern_chunk().SerializeAsString());
  }
  v1::PatternChunk odd;
  AddEntry({UINT32_MAX, 0, 0}, odd);
  AddEntry({UINT16_MAX, kMostWritePages, UINT16_MAX}, odd);
  Keep("load_pattern_fuzz", "limits", std::string(1, '\x02') + odd.SerializeAsString());
  AddEntry({5, 3, 0}, odd);
  Keep("load_pattern_fuzz", "pause_of_pages", std::string(1, '\x01') + odd.SerializeAsString());

  // Seeds of agent_service_fuzz, where bits 0 to 2 choose the method.
  const std::string service = "agent_service_fuzz";
  const auto call = [&service](const std::string& name, const std::vector<Item>& items) {
    Keep(service, name, WriteItems(items));
  };
  call("session", Items({prepare, look, fill, Arm(0), beat, release}, 2));
  call("no_prepare", Items({Arm(0)}, 2));
  call("half_a_message", {{2, prepare.SerializeAsString().substr(0, 40)}, {2, beat.SerializeAsString()}});
  v1::DescribeRequest describe;
  describe.set_protocol_version(kProtocolVersion);
  for (const char* directory : {"/root/mq", "/root", "/outside", "/root/../outside", "relative", "/root/file", ""}) {
    describe.add_directories(directory);
  }
  call("describe", {{0, describe.SerializeAsString()}});
  for (const char* file : {"/root/file", "/root/missing", "/root/../outside", "/dev/null", "relative", ""}) {
    describe.add_files(file);
  }
  call("files", {{0, describe.SerializeAsString()}});
  describe.clear_files();
  call("session_on_files", Items({plans.On({"F000", "F001"}, 2), fill, Arm(0), release}, 2));
  describe.set_look_for_queue_managers(true);
  call("queue_managers", {{0, describe.SerializeAsString()}});
  describe.set_protocol_version(99);
  call("other_protocol", {{0, describe.SerializeAsString()}, {2, ""}, {0, ""}});
  v1::ClockProbe probe;
  probe.set_id(UINT64_MAX);
  call("probes", {{1, probe.SerializeAsString()}, {1, ""}, {1, "\xff\xff\xff"}});
  v1::RenewRequest renew;
  renew.set_run_id("4f3a21");
  renew.set_run_token("0123456789abcdef");
  call("renew", {{4, renew.SerializeAsString()}});
  call("unknown_method", {{3, "x"}});
}

// A file with one stream for each list of entries, of two seconds.
void KeepPatternFile(const std::string& name, const std::vector<std::vector<PatternEntry>>& streams) {
  v1::PatternHeader header;
  header.set_format(kPatternFormat);
  header.set_run_id("7f3a21");
  for (const std::vector<PatternEntry>& entries : streams) {
    v1::PatternStream& stream = *header.add_streams();
    stream.set_host("alpha");
    stream.set_queue_manager("QM1");
    stream.set_length_ns(2 * kNsPerSecond);
    for (const PatternEntry& entry : entries) {
      stream.set_entries(stream.entries() + 1);
      stream.set_writes(stream.writes() + entry.count);
      stream.set_paged_bytes(stream.paged_bytes() + uint64_t{entry.count} * entry.pages * kPatternPageBytes);
    }
    stream.set_bytes(stream.paged_bytes());
  }
  const std::filesystem::path directory = g_directory / "pattern_file_fuzz";
  std::filesystem::create_directories(directory);
  auto writer = PatternFileWriter::Create(FileWriter::ToPath((directory / name).string()).value(), header);
  for (uint32_t stream = 0; stream < streams.size(); ++stream) {
    for (const PatternEntry& entry : streams[stream]) writer->Add(stream, entry).IgnoreError();
  }
  writer->Finish().IgnoreError();
}

void MakePatternFiles() {
  KeepPatternFile("one_write", {{{1, 1, 1}}});
  KeepPatternFile("two_streams",
                  {{{1'000'000, 2, 1}, {500'000, 0, 0}, {300'000, 1, 4}}, {{1, 512, 1}, {90'000, 3, 2}}});
  KeepPatternFile("limits", {{{2'000'000'000, kMostWritePages, UINT16_MAX}}, {{1'999'999'999, 0, 0}, {1, 1, 1}}});
}

}  // namespace
}  // namespace plimsoll::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_seeds DIRECTORY\n");
    return 2;
  }
  plimsoll::fuzz::g_directory = argv[1];
  plimsoll::fuzz::MakeJournals();
  plimsoll::fuzz::MakeCoordinatorRuns();
  plimsoll::fuzz::MakeSessions();
  plimsoll::fuzz::MakePatternFiles();
}
