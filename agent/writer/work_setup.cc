#include "agent/writer/work_setup.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "agent/writer/commit_setup.h"
#include "agent/writer/commit_source.h"
#include "agent/writer/files_setup.h"
#include "common/block_access.h"
#include "common/field_rules.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {
namespace {

constexpr int64_t kLeastFrameIntervalNs = kNsPerMs;

using Plan = v1::TestPlan;

absl::Status Bad(const std::string& text) {
  return absl::InvalidArgumentError(text);
}

bool IsHex(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

absl::Status CheckHost(const v1::HostPlan& plan) {
  if (!IsHex(plan.run_id())) return Bad("run_id must be lower-case hexadecimal digits");
  if (plan.run_token().size() != 16) return Bad("run_token must be 16 bytes");
  if (!IsPlainName(plan.host_label())) {
    return Bad("host_label must be 1 to 64 letters, digits, '.', '_' and '-', not beginning with '.'");
  }
  const int64_t interval = plan.frame_interval_ns();
  if (interval < kLeastFrameIntervalNs || interval > kNsPerSecond || kNsPerSecond % interval != 0) {
    return Bad(absl::StrCat("frame_interval must divide 1 s and be at least 1 ms; it is ", FormatDuration(interval)));
  }
  if (!plan.has_log()) return Bad("the plan asks for work that this agent does not know");
  return absl::OkStatus();
}

absl::Status CheckArrival(v1::Arrival arrival) {
  if (v1::Arrival_IsValid(arrival) && arrival != v1::ARRIVAL_UNSPECIFIED) return absl::OkStatus();
  return Bad("arrival must be even, poisson or aligned");
}

absl::Status CheckWorkload(const v1::LogWorkload& workload) {
  PLIMSOLL_RETURN_IF_ERROR(CheckRanges(WithoutUnset(workload)));
  if (!workload.qm_dirs().empty() && static_cast<uint32_t>(workload.qm_dirs_size()) != workload.qm()) {
    return Bad(absl::StrCat("qm_dirs must be as many as the queue managers, ", workload.qm(), "; they are ",
                            workload.qm_dirs_size()));
  }
  const std::vector<std::string> dirs = DirsOf(workload);
  if (dirs.size() > kMaxDirectories) {
    return Bad(
        absl::StrCat("qm_dirs: a host writes in at most ", kMaxDirectories, " directories; they are ", dirs.size()));
  }
  for (const std::string& dir : dirs) {
    if (dir.empty() || dir.front() != '/') {
      return Bad(workload.qm_dirs().empty() ? "dir must be an absolute path"
                                            : absl::StrCat("qm_dirs: '", dir, "' must be an absolute path"));
    }
  }
  if (!UsesFiles(workload) && !IsPlainName(workload.file_prefix())) {
    return Bad("file_prefix must be 1 to 64 letters, digits, '.', '_' and '-', not beginning with '.'");
  }
  if (!v1::SyncMode_IsValid(workload.sync()) || workload.sync() == v1::SYNC_MODE_UNSPECIFIED) {
    return Bad("sync must be dsync, sync, fdatasync, fsync or none");
  }
  if (!v1::DirectMode_IsValid(workload.direct()) || workload.direct() == v1::DIRECT_MODE_UNSPECIFIED) {
    return Bad("direct must be auto, on or off");
  }
  if (workload.rate_per_second() > 0 && workload.delay_ns() > 0) return Bad("rate and delay exclude one another");
  // Absent in a plan that knows no other: aligned.
  return workload.has_arrival() ? CheckArrival(workload.arrival()) : absl::OkStatus();
}

// Checks the load that a step has in place of the workload's.
absl::Status CheckLoad(const v1::LogStep& step, uint32_t writers, int64_t delay_ns) {
  if (step.has_rate_per_second()) {
    const auto& rule = *v1::LogWorkload::descriptor()->FindFieldByNumber(v1::LogWorkload::kRatePerSecondFieldNumber);
    PLIMSOLL_RETURN_IF_ERROR(CheckRange(rule, step.rate_per_second()));
    if (step.rate_per_second() > 0 && delay_ns > 0) return Bad("rate and delay exclude one another");
  }
  if (step.has_group_commit() && delay_ns > 0) return Bad("group_commit and delay exclude one another");
  if (step.has_arrival()) PLIMSOLL_RETURN_IF_ERROR(CheckArrival(step.arrival()));
  if (step.qm() > writers) {
    return Bad(absl::StrCat("a step is for ", step.qm(), " queue managers; the host has ", writers));
  }
  return absl::OkStatus();
}

constexpr char kOneListOfOperations[] = "all steps of a plan measure the same operations";

// The size that a block may have at most: an extent's. Where the plan names files, they are divided in blocks later
// (WorkSetup::Divide).
uint64_t MostBlockBytes(const v1::LogWorkload& workload) {
  return UsesFiles(workload) ? std::numeric_limits<uint64_t>::max() : workload.file_size_bytes();
}

absl::Status CheckBlock(uint64_t block, uint64_t file_size_bytes) {
  PLIMSOLL_RETURN_IF_ERROR(CheckRange(PlanField(Plan::kBlockSizeBytesFieldNumber), block));
  if (block > file_size_bytes) {
    return Bad(absl::StrCat("block_size ", FormatSize(block), " is larger than an extent of ",
                            FormatSize(file_size_bytes), "; use a larger --file-size or a smaller --bsize"));
  }
  return absl::OkStatus();
}

// The queue managers of a placement that this host simulates: `workload.qm` of them, each at home here or on standby.
absl::Status CheckQueueManagers(const v1::HostPlan& plan) {
  const v1::LogWork& work = plan.log();
  if (work.queue_managers().empty()) return absl::OkStatus();
  if (static_cast<uint32_t>(work.queue_managers_size()) != work.workload().qm()) {
    return Bad(absl::StrCat("the plan has ", work.queue_managers_size(), " queue managers of its placement for ",
                            work.workload().qm(), " writers"));
  }
  if (work.workload().delay_ns() > 0) return Bad("rate and delay exclude one another");
  const auto& rate =
      *v1::PlacedQueueManager::descriptor()->FindFieldByNumber(v1::PlacedQueueManager::kRatePerSecondFieldNumber);
  for (const v1::LogQueueManager& qm : work.queue_managers()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckBlock(qm.block_size_bytes(), work.workload().file_size_bytes()));
    PLIMSOLL_RETURN_IF_ERROR(CheckRange(rate, qm.rate_per_second()));
    const bool here = qm.home() == plan.host_index() || qm.standby() == plan.host_index();
    if (!here || qm.home() == qm.standby()) {
      return Bad("a queue manager of the placement needs two hosts, of which this one is one");
    }
    if (qm.number() >= work.placed()) return Bad("the placement has fewer queue managers than it numbers");
  }
  return absl::OkStatus();
}

// Checks that the recording that steps play is there, and that it is there for them alone.
absl::Status CheckRecording(const v1::LogWork& work) {
  const bool plays = std::ranges::any_of(work.steps(), PlaysPattern);
  if (plays != work.has_pattern()) {
    return Bad(plays ? "a step plays a recording, and the plan has no pattern for its writers"
                     : "the plan has a pattern for its writers, and no step plays it");
  }
  return plays ? CheckPatternParts(work.pattern(), work.workload().qm()) : absl::OkStatus();
}

// `own_loads`: the queue managers have block sizes of their own, and rates.
absl::Status CheckStep(const v1::LogStep& step, bool own_loads, uint64_t file_size_bytes, int64_t frame_interval_ns) {
  PLIMSOLL_RETURN_IF_ERROR(CheckOperations(step));
  if (step.has_group_commit()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckCommits(step, own_loads, file_size_bytes));
  } else if (!step.size_mix().empty()) {
    if (own_loads || step.block_size_bytes() != 0) return Bad("a step has one block size, or block_size_mix");
    PLIMSOLL_RETURN_IF_ERROR(CheckSizeMix(step.size_mix()));
    for (const v1::SizeShare& share : step.size_mix()) {
      PLIMSOLL_RETURN_IF_ERROR(CheckBlock(share.block_size_bytes(), file_size_bytes));
    }
  } else if (!own_loads) {
    PLIMSOLL_RETURN_IF_ERROR(CheckBlock(step.block_size_bytes(), file_size_bytes));
  }
  if (step.random_order() && !step.size_mix().empty()) {
    return Bad("random_order needs one block size; the step has size_mix");
  }
  if (own_loads && (step.read_percent() > 0 || step.random_order())) {
    return Bad("a step of a placement takes neither read_percent nor random_order");
  }
  if (own_loads && (step.has_rate_per_second() || step.qm() > 0)) {
    return Bad("a step of a placement has neither a rate nor a number of queue managers");
  }
  // A step may be shorter than what a plan asks for, never longer.
  if (step.duration_ns() <= 0) {
    return Bad(absl::StrCat("duration must be above 0; it is ", FormatDuration(step.duration_ns())));
  }
  const auto& duration = PlanField(Plan::kDurationNsFieldNumber);
  if (step.duration_ns() > std::get<int64_t>(LargestOf(duration).value())) {
    return CheckRange(duration, step.duration_ns());
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckRange(PlanField(Plan::kWarmupNsFieldNumber), step.warmup_ns()));
  // Intervals are numbered in 32 bits.
  if (step.duration_ns() / frame_interval_ns >= std::numeric_limits<int32_t>::max() - 1) {
    return Bad("duration is too long for this frame_interval");
  }
  return absl::OkStatus();
}

// The step with what it does not say of its own taken from the workload. The steps of a plan's list have the same
// random arrivals, so that they can be compared; each one of a search has its own, so that chance does not repeat
// itself.
WorkSetup::Step MakeStep(const WorkSetup& setup, uint32_t number, const v1::LogStep& step) {
  const bool of_search = step.purpose() != v1::STEP_PURPOSE_UNSPECIFIED;
  std::vector<SizeMix::Share> mix;
  for (const v1::SizeShare& share : step.size_mix()) mix.push_back({share.block_size_bytes(), share.percent()});
  return {step.block_size_bytes(),
          std::move(mix),
          step.duration_ns(),
          step.warmup_ns(),
          step.has_group_commit()      ? 0
          : step.has_rate_per_second() ? step.rate_per_second()
                                       : setup.workload.rate_per_second(),
          step.has_arrival() ? step.arrival() : setup.workload.arrival(),
          step.qm() > 0 ? step.qm() : setup.workload.qm(),
          SeedOfStep(setup.seed, number, of_search),
          step.random_order(),
          step.read_percent(),
          plimsoll::CommitsOf(step),
          DownHostOf(step)};
}

}  // namespace

absl::StatusOr<WorkSetup> MakeWorkSetup(const v1::HostPlan& plan) {
  PLIMSOLL_RETURN_IF_ERROR(CheckHost(plan));
  const v1::LogWorkload& workload = plan.log().workload();
  PLIMSOLL_RETURN_IF_ERROR(CheckNamedFiles(plan));
  PLIMSOLL_RETURN_IF_ERROR(CheckWorkload(workload));
  if (plan.log().steps().empty()) return Bad("the plan has no step");
  if (plan.log().hosts() > kMaxRunHosts) {
    return Bad(absl::StrCat("a run has at most ", kMaxRunHosts, " hosts; the plan has ", plan.log().hosts()));
  }
  const int64_t stall_ns = plan.log().stall_ns();
  if (stall_ns != 0) PLIMSOLL_RETURN_IF_ERROR(CheckRange(PlanField(Plan::kStallNsFieldNumber), stall_ns));
  PLIMSOLL_RETURN_IF_ERROR(CheckQueueManagers(plan));
  PLIMSOLL_RETURN_IF_ERROR(CheckRecording(plan.log()));
  WorkSetup setup;
  setup.queue_managers.assign(plan.log().queue_managers().begin(), plan.log().queue_managers().end());
  setup.placed = plan.log().placed();
  std::vector<v1::LogStep> steps(plan.log().steps().begin(), plan.log().steps().end());
  for (v1::LogStep& step : steps) {
    const bool sized = step.block_size_bytes() != 0 || step.has_group_commit();
    if (!sized && step.size_mix().empty()) *step.mutable_size_mix() = steps.front().size_mix();
    if (step.operations().empty()) *step.mutable_operations() = steps.front().operations();
    if (step.operations_size() != steps.front().operations_size()) return Bad(kOneListOfOperations);
    PLIMSOLL_RETURN_IF_ERROR(
        CheckStep(step, !setup.queue_managers.empty(), MostBlockBytes(workload), plan.frame_interval_ns()));
    PLIMSOLL_RETURN_IF_ERROR(CheckLoad(step, workload.qm(), workload.delay_ns()));
    PLIMSOLL_RETURN_IF_ERROR(CheckNamedFilesStep(workload, step));
  }
  setup.run_id = plan.run_id();
  std::copy(plan.run_token().begin(), plan.run_token().end(), setup.run_token.begin());
  setup.host_label = plan.host_label();
  setup.host_index = plan.host_index();
  setup.frame_interval_ns = plan.frame_interval_ns();
  setup.dirs = DirsOf(workload);
  for (uint32_t writer = 1; writer <= workload.qm(); ++writer) {
    const auto at = std::find(setup.dirs.begin(), setup.dirs.end(), DirOf(workload, writer));
    setup.dir_of_writer.push_back(static_cast<size_t>(at - setup.dirs.begin()));
  }
  setup.workload = workload;
  if (!workload.has_arrival()) setup.workload.set_arrival(v1::ARRIVAL_ALIGNED);
  setup.trace = plan.log().trace();
  setup.parts = plan.log().steps(0).operations_size() > static_cast<int>(kSyncOperation);
  setup.operations = plan.log().steps(0).operations();
  setup.read_operation = ReadOperationOf(plan.log().steps(0)).value_or(kMainOperation);
  setup.commit_operation = CommitOperationOf(plan.log().steps(0)).value_or(kMainOperation);
  setup.stall_ns = plan.log().stall_ns();
  setup.seed = plan.log().seed();
  setup.hosts = std::max(plan.log().hosts(), 1U);
  setup.stream_of_writer.assign(plan.log().pattern().stream_of_writer().begin(),
                                plan.log().pattern().stream_of_writer().end());
  setup.steps.reserve(static_cast<size_t>(plan.log().steps_size()) + WorkSetup::kMostAddedSteps);
  for (const v1::LogStep& step : steps) {
    setup.steps.push_back(MakeStep(setup, static_cast<uint32_t>(setup.steps.size()), step));
  }
  if (MakesFiles(workload)) {
    PLIMSOLL_RETURN_IF_ERROR(setup.Divide(std::vector<uint64_t>(CountUsedFiles(workload), workload.file_size_bytes())));
  }
  return setup;
}

absl::Status WorkSetup::Divide(const std::vector<uint64_t>& sizes_bytes) {
  std::vector<NamedFile> files;
  for (const uint64_t size_bytes : sizes_bytes) {
    files.push_back({workload.files(static_cast<int>(files.size())), size_bytes});
  }
  FileDivision division{.threads = workload.qm()};
  for (uint32_t step = 0; step < steps.size(); ++step) {
    division.block_bytes = std::max(division.block_bytes, BlockBytesOf(step, 1));
  }
  if (workload.share() == v1::FILE_SHARE_RANGES) {
    division.hosts = hosts;
    division.host_index = host_index;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(regions, DivideFiles(files, division));
  return absl::OkStatus();
}

absl::Status WorkSetup::Add(const v1::AddStep& add) {
  v1::LogStep spec = add.spec();
  if (spec.operations().empty()) *spec.mutable_operations() = operations;
  if (spec.operations_size() != operations.size()) return Bad(kOneListOfOperations);
  if (IsOnePass(workload)) return Bad("no step can be added where each block is taken once");
  PLIMSOLL_RETURN_IF_ERROR(CheckStep(spec, !queue_managers.empty(), MostBlockBytes(workload), frame_interval_ns));
  PLIMSOLL_RETURN_IF_ERROR(CheckLoad(spec, workload.qm(), workload.delay_ns()));
  PLIMSOLL_RETURN_IF_ERROR(CheckNamedFilesStep(workload, spec));
  const Step step = MakeStep(*this, add.step(), spec);
  const auto prepared = std::find_if(steps.begin(), steps.end(), [&step](const Step& known) {
    return known.block_bytes == step.block_bytes && known.mix == step.mix && SuitsCommits(known.commits, step.commits);
  });
  if (prepared == steps.end() && queue_managers.empty()) {
    const std::string blocks = step.mix.empty() ? FormatSize(step.block_bytes) : "this mix";
    const std::string writes = step.commits && step.commits->plays() ? "this playback" : "this log buffer";
    return Bad(absl::StrCat("nothing was prepared for blocks of ", step.commits ? writes : blocks,
                            ": a step that is added has the block sizes of a step of the plan"));
  }
  if (step.read_percent > 0 && !AnyReads()) {
    return Bad("the added step reads, but no step of the plan does; set read_percent in one of them");
  }
  if (step.read_percent < kOnlyReads && UsesPaths(workload) && OnlyReads()) {
    return Bad("the added step writes, but no step of the plan does: the files are open for reading alone");
  }
  if (add.step() < steps.size() && steps[add.step()] == step) return absl::OkStatus();
  if (add.step() != steps.size()) {
    return Bad(absl::StrCat("step ", add.step(), " cannot be added: the next one is ", steps.size()));
  }
  if (steps.size() == steps.capacity()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a session takes at most ", kMostAddedSteps, " steps that are added"));
  }
  steps.push_back(step);
  return absl::OkStatus();
}

StepTimes WorkSetup::TimesOf(uint32_t step, int64_t start_ns) const {
  return {start_ns, steps[step].warmup_ns, steps[step].duration_ns, frame_interval_ns};
}

bool WorkSetup::Writes(uint32_t step, uint32_t writer) const {
  if (queue_managers.empty()) return writer <= steps[step].qm;
  return HostOf(queue_managers[writer - 1], steps[step].down_host) == host_index;
}

bool WorkSetup::AnyWrites(uint32_t step) const {
  for (uint32_t writer = 1; writer <= workload.qm(); ++writer) {
    if (Writes(step, writer)) return true;
  }
  return false;
}

std::optional<CommitLoad> WorkSetup::CommitsOf(uint32_t step, uint32_t writer) const {
  std::optional<CommitLoad> commits = steps[step].commits;
  if (!commits) return commits;
  commits->key = {steps[step].seed, host_index, writer};
  if (commits->plays() && !streams.empty()) {
    const PlayedStream& stream = streams[stream_of_writer[writer - 1]];
    commits->pattern = stream.pattern;
    if (commits->one_by_one) commits->buffer_pages = stream.most_pages;
  }
  return commits;
}

uint64_t WorkSetup::BlockBytesOf(uint32_t step, uint32_t writer) const {
  if (!queue_managers.empty()) return queue_managers[writer - 1].block_size_bytes();
  if (const std::optional<CommitLoad> commits = CommitsOf(step, writer); commits) {
    return CommitWalk::MostBytes(*commits, ExtentLayout(workload.file_size_bytes(), workload.num_files(), 1));
  }
  uint64_t largest = steps[step].block_bytes;
  for (const SizeMix::Share& share : steps[step].mix) largest = std::max(largest, share.bytes);
  return largest;
}

uint64_t WorkSetup::BytesOfWriter(uint32_t writer) const {
  if (!regions.empty()) return regions[writer - 1].size_bytes;
  return workload.file_size_bytes() * workload.num_files();
}

uint64_t WorkSetup::total_bytes() const {
  if (UsesPaths(workload)) return 0;
  uint64_t bytes = 0;
  for (uint32_t writer = 1; writer <= workload.qm(); ++writer) bytes += BytesOfWriter(writer);
  return bytes;
}

std::optional<RateSchedule> WorkSetup::ScheduleOf(uint32_t step, int64_t start_ns, uint32_t writer) const {
  const bool own_load = !queue_managers.empty();
  const double rate = own_load ? queue_managers[writer - 1].rate_per_second() : steps[step].rate_per_second;
  // A queue manager of a placement has the same arrivals on whichever host it writes.
  const uint32_t number = own_load ? queue_managers[writer - 1].number() : 0;
  if (rate <= 0) return std::nullopt;
  switch (steps[step].arrival) {
    case v1::ARRIVAL_EVEN:
      if (own_load) return RateSchedule::Even(start_ns, rate, number, placed);
      // Hosts take turns: with equal numbers of writers all starts of the run are equally far from one another.
      return RateSchedule::Even(start_ns, rate, uint64_t{writer - 1} * hosts + host_index % hosts,
                                uint64_t{steps[step].qm} * hosts);
    case v1::ARRIVAL_POISSON:
      if (own_load) return RateSchedule::Poisson(start_ns, rate, {steps[step].seed, 0, number + 1});
      return RateSchedule::Poisson(start_ns, rate, {steps[step].seed, host_index, writer});
    default:
      return RateSchedule(start_ns, rate);
  }
}

WriteLoopParams WorkSetup::LoopOf(uint32_t step, int64_t start_ns, uint32_t writer) const {
  const Step& spec = steps[step];
  const bool one_pass = IsOnePass(workload);
  const bool is_log = !spec.random_order && spec.read_percent == 0 && !one_pass && workload.pause_percent() <= 0;
  const uint64_t block_bytes = BlockBytesOf(step, writer);
  const ExtentLayout layout = regions.empty()
                                  ? ExtentLayout(workload.file_size_bytes(), workload.num_files(), block_bytes)
                                  : ExtentLayout(regions[writer - 1].size_bytes, 1, block_bytes);
  const bool syncs = SyncCallOf(workload.sync()) != SyncCall::kNone;
  return {.epoch = step + 1,
          .layout = layout,
          .mix = steps[step].mix.empty() ? std::nullopt
                                         : std::optional<SizeMix>(std::in_place, steps[step].mix,
                                                                  SizeMix::Key{steps[step].seed, host_index, writer}),
          .access = is_log ? std::nullopt
                           : std::optional<Access>(std::in_place, spec.random_order, spec.read_percent, read_operation,
                                                   Access::Key{spec.seed, host_index, writer}),
          .commits = CommitsOf(step, writer),
          .start_ns = start_ns,
          .end_ns = TimesOf(step, start_ns).end_ns(),
          .delay_ns = workload.delay_ns(),
          .pause_percent = workload.pause_percent(),
          .pass_blocks = one_pass ? layout.blocks_per_lap() : 0,
          .sync_each_write = syncs,
          .measure_parts = syncs && parts,
          .schedule = ScheduleOf(step, start_ns, writer)};
}

TallyParams WorkSetup::TallyOf(uint32_t step, int64_t start_ns, uint32_t writer) const {
  const WriteLoopParams loop = LoopOf(step, start_ns, writer);
  return {.step = step,
          .qm = writer,
          .times = TimesOf(step, start_ns),
          .layout = loop.layout,
          .first_extent = regions.empty() ? 0 : static_cast<uint32_t>(regions[writer - 1].file),
          .base_bytes = regions.empty() ? 0 : regions[writer - 1].offset_bytes,
          .mix = loop.mix,
          .access = loop.access,
          .commits = loop.commits,
          .commit_operation = commit_operation,
          .schedule = loop.schedule,
          .trace = trace,
          .measure_parts = loop.measure_parts,
          .delay_ns = workload.delay_ns(),
          .pause_percent = loop.pause_percent,
          .pass_blocks = loop.pass_blocks,
          .stall_ns = stall_ns,
          // A writer that stalled for less than half of a stall was unaffected for more than half of it.
          .reported_from_ns = stall_ns / 2};
}

std::string WorkSetup::FileOf(uint32_t writer) const {
  const std::string& name = workload.files(static_cast<int>(regions[writer - 1].file));
  return UsesPaths(workload) ? name : absl::StrCat(kFilesDirectory, "/", name);
}

LogFilesOptions WorkSetup::FilesOf(uint32_t writer) const {
  LogFilesOptions options{.qm = writer, .workload = workload, .block_bytes = {}};
  if (!regions.empty()) {
    const FileRegion& region = regions[writer - 1];
    options.part = LogFilesOptions::Part{.file = FileOf(writer),
                                         .offset_bytes = region.offset_bytes,
                                         .size_bytes = region.size_bytes,
                                         .fill = !UsesPaths(workload),
                                         .read_only = UsesPaths(workload) && OnlyReads()};
  }
  const auto add = [&known = options.block_bytes](uint64_t bytes) {
    if (std::find(known.begin(), known.end(), bytes) == known.end()) known.push_back(bytes);
  };
  for (uint32_t step = 0; step < steps.size(); ++step) {
    add(BlockBytesOf(step, writer));
    for (const SizeMix::Share& share : steps[step].mix) add(share.bytes);
    if (steps[step].commits) add(kLogPageBytes);
  }
  return options;
}

}  // namespace plimsoll
