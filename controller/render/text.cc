#include "controller/render/text.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/stable_sort.h"
#include "common/units.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

constexpr uint64_t kMicrosecondsBelowNs = 100'000;
constexpr uint64_t kLargestP99InMicrosecondsNs = 100'000'000;
constexpr uint64_t kLargestInMicrosecondsNs = 10'000'000'000;

uint64_t FeltP99Ns(const v1::ScopeReport& scope) {
  const v1::LatencyReport& latency = FeltLatency(scope);
  return latency.count() == 0 ? std::numeric_limits<uint64_t>::max() : latency.p99_ns();
}

}  // namespace

const v1::LatencyReport& FeltLatency(const v1::ScopeReport& scope) {
  return scope.has_rate() ? scope.rate().response() : scope.latency();
}

bool HasTargetRate(const v1::StepReport& step) {
  return absl::c_any_of(step.scopes(), [](const v1::ScopeReport& scope) { return scope.has_rate(); });
}

const char* FeltName(const v1::StepReport& step) {
  return HasTargetRate(step) ? "response time" : "service time";
}

const v1::ScopeReport* ClusterOf(const v1::StepReport& step) {
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_CLUSTER) return &scope;
  }
  return nullptr;
}

std::vector<const v1::ScopeReport*> BestAndWorst(std::vector<const v1::ScopeReport*> scopes) {
  if (scopes.size() <= kMostRows) return scopes;
  StableSort(scopes, [](const v1::ScopeReport* a, const v1::ScopeReport* b) { return FeltP99Ns(*a) < FeltP99Ns(*b); });
  const auto end = static_cast<std::ptrdiff_t>(kRowsOfAnEnd);
  scopes.erase(scopes.begin() + end, scopes.end() - end);
  return scopes;
}

bool IsLarge(const v1::Report& report) {
  return static_cast<size_t>(report.hosts_size()) > kMostRows || report.run().queue_managers() > kMostRows;
}

LatencyUnit UnitFor(const std::vector<const v1::StepReport*>& steps) {
  bool fast = false;
  for (const v1::StepReport* step : steps) {
    for (const v1::ScopeReport& scope : step->scopes()) {
      for (const v1::LatencyReport* latency : {&scope.latency(), &FeltLatency(scope)}) {
        if (latency->p99_ns() >= kLargestP99InMicrosecondsNs || latency->max_ns() >= kLargestInMicrosecondsNs)
          return {};
        fast = fast || (scope.kind() == v1::SCOPE_KIND_CLUSTER && latency->count() > 0 &&
                        latency->p50_ns() < kMicrosecondsBelowNs);
      }
    }
  }
  if (fast) return {kNsPerUs, "us"};
  return {};
}

const TextSection* TextSectionOf(const v1::Report& report) {
  for (const TextSection* const section : {&HaTextSection(), &LimitTextSection(), &PlacementTextSection()}) {
    if (section->is_in(report)) return section;
  }
  return nullptr;
}

namespace {

constexpr size_t kLabelWidth = 18;
constexpr size_t kFlagWidth = 15;

// "3 hosts x 2 QMs", or how many there are where hosts differ.
std::string Size(const v1::Report& report) {
  const v1::RunReport& run = report.run();
  const auto plural = [](uint32_t count, const char* what) {
    return absl::StrCat(FormatCount(count), " ", what, count == 1 ? "" : "s");
  };
  std::set<uint32_t> qms;
  for (const v1::HostReport& host : report.hosts()) qms.insert(host.workload().qm());
  if (qms.size() == 1 && !report.has_placement())
    return absl::StrCat(plural(run.hosts(), "host"), " x ", plural(*qms.begin(), "QM"));
  return absl::StrCat(plural(run.hosts(), "host"), ", ", plural(run.queue_managers(), "QM"));
}

// What is mounted below a host's directory, in a few words.
std::string MountOf(const v1::HostReport& host) {
  const v1::MountReport& mount = host.mount();
  if (mount.fs_type().empty()) return "";
  const std::string& source = mount.remote().empty() ? mount.fs_source() : mount.remote();
  return absl::StrCat(mount.fs_type(), source.empty() ? "" : " from ", source,
                      mount.mount_options().empty() ? "" : ", ", SharedMountOptions(mount.mount_options()));
}

// A value that all hosts have, or `several`.
template <typename Get>
std::string Common(const v1::Report& report, const std::string& several, Get get) {
  std::set<std::string> values;
  for (const v1::HostReport& host : report.hosts()) values.insert(get(host));
  return values.size() == 1 ? *values.begin() : values.empty() ? "" : several;
}

std::string Extents(const v1::LogWorkload& workload) {
  return absl::StrCat(workload.num_files(), " x ", FormatSizeForPeople(workload.file_size_bytes()), "  (--file-size ",
                      FormatSize(workload.file_size_bytes()), ")");
}

// "; starts spread evenly"; empty for a run of a version that knew no other way.
std::string Arrivals(const v1::LogWorkload& workload, const v1::TestPlan& plan) {
  switch (workload.arrival()) {
    case v1::ARRIVAL_EVEN:
      return ", spread evenly";
    case v1::ARRIVAL_POISSON:
      return absl::StrCat(" at random (--seed ", plan.seed(), ")");
    case v1::ARRIVAL_ALIGNED:
      return ", all at once";
    default:
      return "";
  }
}

std::string Writes(const v1::HostReport& host, const v1::TestPlan& plan) {
  const v1::LogWorkload& workload = host.workload();
  std::string text = host.mount().direct()                    ? "O_DIRECT accepted"
                     : !host.mount().direct_refused().empty() ? "O_DIRECT refused"
                                                              : "without O_DIRECT";
  text += plan.placement_size() > 0 ? absl::StrCat(", each QM at its own rate", Arrivals(workload, plan))
          : workload.rate_per_second() > 0
              ? absl::StrCat(", ", workload.rate_per_second(), " writes/s per QM", Arrivals(workload, plan))
              : std::string(", one in flight per QM");
  if (workload.delay_ns() > 0) text += absl::StrCat(", ", FormatLength(workload.delay_ns()), " pause after each");
  if (workload.cpu_load() > 0) text += absl::StrCat(", ", workload.cpu_load(), " busy threads per host");
  return text;
}

// A sentence in lines; a number stays with its percent sign.
std::vector<std::string> WrapSentence(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  for (const std::string& line : Wrap(absl::StrReplaceAll(SanitizeForTerminal(text), {{" %", "\u00a0%"}}), width)) {
    lines.push_back(absl::StrReplaceAll(line, {{"\u00a0%", " %"}}));
  }
  return lines;
}

}  // namespace

void TextOption(const std::string& label, const std::string& flag, const std::string& value,
                std::vector<std::string>& lines) {
  std::string front = absl::StrCat("  ", PadRight(label, kLabelWidth), PadRight(flag, kFlagWidth));
  for (const std::string& line : Wrap(SanitizeForTerminal(value), kTextWidth - front.size())) {
    lines.push_back(front + line);
    front.assign(front.size(), ' ');
  }
}

void AddIndented(const std::string& text, std::vector<std::string>& lines) {
  for (const std::string& line : WrapSentence(text, kTextWidth - 2)) lines.push_back("  " + line);
}

std::string ExtentName(const v1::Report& report, const std::string& host, uint32_t extent) {
  std::string prefix = "S";
  for (const v1::HostReport& one : report.hosts()) {
    if (one.label() == host && one.workload().has_file_prefix()) prefix = one.workload().file_prefix();
  }
  return absl::StrFormat("%s%07d.LOG", prefix, extent);
}

std::vector<std::string> UnderHeading(const std::string& heading, const std::string& text) {
  constexpr size_t kHeadingWidth = 10;
  std::vector<std::string> lines;
  for (const std::string& line : WrapSentence(text, kTextWidth - kHeadingWidth)) {
    lines.push_back(PadRight(lines.empty() ? heading : "", kHeadingWidth) + line);
  }
  return lines;
}

std::vector<std::string> TextHeading(const v1::Report& report) {
  const v1::RunReport& run = report.run();
  if (run.id().empty()) return UnderHeading("Plimsoll", run.state_reason());
  std::vector<std::string> lines = UnderHeading("Run", absl::StrCat(run.id(), ", ", FormatDateTime(run.begin()), ", ",
                                                                    Size(report), ", Plimsoll ", run.version()));
  if (!run.name().empty()) {
    for (const std::string& line : UnderHeading("", run.name())) lines.push_back(line);
  }
  lines.emplace_back("Configuration");
  const v1::TestPlan& plan = report.plan();
  std::vector<std::string> sizes;
  for (const uint64_t size : plan.block_size_bytes()) sizes.push_back(FormatSize(size));
  if (plan.placement().empty()) TextOption("Write block size", "--bsize", absl::StrJoin(sizes, ", "), lines);
  const std::string differs = "differs between hosts; see Hosts";
  const auto dir = [](const v1::HostReport& host) { return host.workload().dir(); };
  TextOption("Directory", "--dir", Common(report, differs, dir), lines);
  if (const std::string mount = Common(report, differs, MountOf); !mount.empty()) TextOption("", "", mount, lines);
  TextOption("Extents per QM", "--num-files",
             Common(report, differs, [](const v1::HostReport& host) { return Extents(host.workload()); }), lines);
  if (const TextSection* const section = TextSectionOf(report); section != nullptr) {
    section->options(plan, lines);
    if (section->shows_step == nullptr) return lines;
  }
  std::string duration = absl::StrCat(FormatLength(plan.duration_ns()), " per step");
  if (plan.warmup_ns() > 0) duration += absl::StrCat(", ", FormatLength(plan.warmup_ns()), " warm-up");
  if (plan.settle_ns() > 0)
    duration += absl::StrCat(", ", FormatLength(plan.settle_ns()), " to settle before the first");
  if (plan.until_steady_ns() > 0)
    duration += absl::StrCat(", in rounds until steady, at most ", FormatLength(plan.until_steady_ns()), " each");
  if (plan.repeat() > 1) duration += absl::StrCat(", all steps ", plan.repeat(), " times");
  TextOption("Duration", "--duration", duration, lines);
  const auto sync = [](const v1::HostReport& host) {
    return absl::StrCat("--sync ", EnumName(*v1::SyncMode_descriptor(), host.workload().sync()));
  };
  TextOption("Writes", Common(report, "--sync", sync),
             Common(report, differs, [&plan](const v1::HostReport& host) { return Writes(host, plan); }), lines);
  const auto flags = [](const v1::HostReport& host) { return host.mount().open_flags(); };
  if (const std::string opened = Common(report, differs, flags); !opened.empty()) TextOption("", "", opened, lines);
  if (run.hosts() > 1) {
    const bool goes_on = plan.on_host_loss() == v1::HOST_LOSS_POLICY_CONTINUE;
    TextOption("If a host is lost", "--on-host-loss", goes_on ? "continue with the others" : "abort: stop the others",
               lines);
  }
  return lines;
}

std::string RenderText(const v1::Report& report, uint32_t histogram_rows, TextDetail detail) {
  std::string text;
  const auto append = [&text](const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    if (!text.empty()) text += '\n';
    for (const std::string& line : lines) text += line + '\n';
  };
  append(TextVerdict(report, detail));
  const TextSection* const section = TextSectionOf(report);
  if (section != nullptr) {
    for (const std::vector<std::string>& lines : section->parts(report, detail)) append(lines);
  } else {
    append(TextCriteria(report, detail));
    append(TextSummary(report, detail));
  }
  append(TextHeading(report));
  const bool brief = detail == TextDetail::kShort && IsLarge(report);
  for (const v1::StepReport& step : report.steps()) {
    const bool chosen = section != nullptr && section->shows_step != nullptr && detail == TextDetail::kShort;
    if (chosen && !section->shows_step(report, step)) continue;
    append(TextStep(report, step, detail));
    if (brief) {
      for (const std::string& line : TextStalls(report, step)) text += line + '\n';
    } else {
      append(TextStalls(report, step));
      append(TextSlowest(report, step));
    }
    if (histogram_rows > 0) append(TextHistogram(step, histogram_rows));
  }
  append(TextClocks(report, detail));
  append(TextHosts(report, detail));
  append(TextNotes(report, detail));
  return text;
}

}  // namespace plimsoll
