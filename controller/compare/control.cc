#include "controller/compare/control.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/render/merge_alike.h"
#include "controller/render/plain_text.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

// Latencies of a host at a block size, of all steps of a side.
struct HostLatencies {
  size_t steps = 0;
  double log_avg = 0;
  // Nothing where one of the steps does not know it.
  std::optional<double> log_p99 = 0.0;
  uint64_t max_ns = 0;

  void Add(const v1::LatencyReport& latency) {
    ++steps;
    log_avg += std::log(std::max(latency.avg_ns(), 1.0));
    if (!IsKnown(latency, "p99")) log_p99.reset();
    if (log_p99.has_value()) *log_p99 += std::log(std::max(static_cast<double>(latency.p99_ns()), 1.0));
    max_ns = std::max(max_ns, latency.max_ns());
  }
  double avg_ns() const { return std::exp(log_avg / static_cast<double>(steps)); }
  std::optional<double> p99_ns() const {
    return log_p99.has_value() ? std::optional(std::exp(*log_p99 / static_cast<double>(steps))) : std::nullopt;
  }
};

using Place = std::pair<uint64_t, std::string>;  // block size and host

std::map<Place, HostLatencies> LatenciesOf(const SideInput& side) {
  std::map<Place, HostLatencies> places;
  for (const RunInput& run : side.runs) {
    for (const v1::StepReport& step : run.report.steps()) {
      for (const v1::ScopeReport& scope : OfKind(step.scopes(), v1::SCOPE_KIND_HOST)) {
        if (scope.latency().count() == 0) continue;
        places[{step.block_size_bytes(), scope.host()}].Add(scope.latency());
      }
    }
  }
  return places;
}

int64_t NanosecondsOf(const google::protobuf::Timestamp& moment) {
  return moment.seconds() * kNsPerSecond + moment.nanos();
}

google::protobuf::Timestamp MomentOf(int64_t ns) {
  google::protobuf::Timestamp moment;
  moment.set_seconds(ns / kNsPerSecond);
  moment.set_nanos(static_cast<int32_t>(ns % kNsPerSecond));
  return moment;
}

v1::MeasuredWindow WindowOf(const SideInput& side) {
  int64_t begin_ns = INT64_MAX;
  int64_t end_ns = 0;
  for (const RunInput& run : side.runs) {
    for (const v1::StepReport& step : run.report.steps()) {
      if (!step.has_start()) continue;
      const int64_t start_ns = NanosecondsOf(step.start());
      begin_ns = std::min(begin_ns, start_ns);
      end_ns = std::max(end_ns, start_ns + step.measured_ns());
    }
  }
  v1::MeasuredWindow window;
  if (end_ns == 0) return window;
  *window.mutable_begin() = MomentOf(begin_ns);
  *window.mutable_end() = MomentOf(end_ns);
  return window;
}

std::string TimesInWords(double ratio) {
  return FormatFixed(ratio, ratio < 10 ? 2 : ratio < 100 ? 1 : 0);
}

// Hosts with the ratios of storage to control.
struct HostGroup {
  std::vector<std::string> hosts;
  double least = 0;
  double most = 0;

  void Add(const std::string& host, double ratio) {
    least = hosts.empty() ? ratio : std::min(least, ratio);
    most = std::max(most, ratio);
    hosts.push_back(host);
  }
  // "on node[1-2] 0.95 to 1.10 times".
  std::string Text() const {
    const std::string low = TimesInWords(least);
    const std::string high = TimesInWords(most);
    return absl::StrCat("on ", JoinNames(hosts), " ", low == high ? low : absl::StrCat(low, " to ", high), " times");
  }
};

std::string SpreadText(const v1::ControlComparison& control, uint64_t block_size_bytes, const std::string& storage,
                       const std::string& other) {
  const auto known = [&](const v1::ControlledHost& host) {
    return host.block_size_bytes() != block_size_bytes || (host.has_first_p99_ns() && host.has_second_p99_ns());
  };
  const bool p99 = std::ranges::all_of(control.hosts(), known);
  HostGroup slower;
  HostGroup others;
  for (const v1::ControlledHost& host : control.hosts()) {
    if (host.block_size_bytes() != block_size_bytes) continue;
    const double ratio = p99 ? host.first_p99_ns() / host.second_p99_ns() : host.first_avg_ns() / host.second_avg_ns();
    (ratio >= kControlFactor ? slower : others).Add(host.host(), ratio);
  }
  std::string text =
      absl::StrCat(FormatBlockSize(block_size_bytes), ": ", p99 ? "p99" : "the mean", " of ", storage, " is ");
  if (!slower.hosts.empty()) absl::StrAppend(&text, slower.Text());
  if (!slower.hosts.empty() && !others.hosts.empty()) absl::StrAppend(&text, ", and ");
  if (!others.hosts.empty()) absl::StrAppend(&text, others.Text());
  return absl::StrCat(text, " that of ", other, ".");
}

}  // namespace

v1::ControlComparison CompareControl(const std::vector<SideInput>& sides) {
  v1::ControlComparison control;
  for (size_t side = 0; side < 2; ++side) *control.add_windows() = WindowOf(sides[side]);
  const std::string storage = SideLabel(sides, 0);
  const std::string other = SideLabel(sides, 1);
  const auto window = [&control](int side) {
    const v1::MeasuredWindow& measured = control.windows(side);
    return absl::StrCat(FormatDateTime(measured.begin()), " to ", FormatDateTime(measured.end()));
  };
  control.add_summary(
      absl::StrCat("The same plan in turns: ", storage, " from ", window(0), ", ", other, " from ", window(1), "."));
  const std::map<Place, HostLatencies> first = LatenciesOf(sides[0]);
  const std::map<Place, HostLatencies> second = LatenciesOf(sides[1]);
  for (const uint64_t size : CommonBlockSizes(sides)) {
    bool any = false;
    for (const v1::HostReport& reported : sides[0].runs.front().report.hosts()) {
      const auto of_first = first.find({size, reported.label()});
      const auto of_second = second.find({size, reported.label()});
      if (of_first == first.end() || of_second == second.end()) continue;
      any = true;
      v1::ControlledHost& host = *control.add_hosts();
      host.set_block_size_bytes(size);
      host.set_host(reported.label());
      host.set_first_avg_ns(of_first->second.avg_ns());
      host.set_second_avg_ns(of_second->second.avg_ns());
      if (const auto p99_ns = of_first->second.p99_ns(); p99_ns.has_value()) host.set_first_p99_ns(*p99_ns);
      if (const auto p99_ns = of_second->second.p99_ns(); p99_ns.has_value()) host.set_second_p99_ns(*p99_ns);
      host.set_first_max_ns(of_first->second.max_ns);
      host.set_second_max_ns(of_second->second.max_ns);
    }
    if (any) control.add_summary(SpreadText(control, size, storage, other));
  }
  return control;
}

namespace {

// Whether both directories are on one file system of a host: the same mount, or another one of the same device or
// export.
bool OnOneFileSystem(const v1::MountReport& first, const v1::MountReport& second) {
  if (first.mount_point().empty() || second.mount_point().empty()) return false;
  if (first.mount_point() == second.mount_point()) return true;
  if (!first.remote().empty() || !second.remote().empty()) return first.remote() == second.remote();
  return first.fs_source().starts_with("/dev/") && first.fs_source() == second.fs_source();
}

}  // namespace

std::string ControlDoubt(const std::vector<SideInput>& sides) {
  std::vector<std::string> same;
  for (const v1::HostReport& first : sides[0].runs.front().report.hosts()) {
    const auto& hosts = sides[1].runs.front().report.hosts();
    const auto second = std::ranges::find(hosts, first.label(), &v1::HostReport::label);
    if (second == hosts.end()) continue;
    const std::vector<v1::MountReport> mounts = MountsOf(first);
    const auto shared = [&second](const v1::MountReport& mount) { return OnOneFileSystem(mount, second->mount()); };
    if (std::ranges::any_of(mounts, shared)) same.push_back(first.label());
  }
  if (same.empty()) return "";
  return absl::StrCat("On ", JoinNames(same), " both directories are on one file system: ", SideLabel(sides, 1),
                      " controls nothing there; name a directory on other storage.");
}

}  // namespace plimsoll
