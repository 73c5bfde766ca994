#include "controller/compare/watched_sides.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/compare/step_data.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

bool IsWatch(const RunInput& run) {
  return run.report.plan().has_watch();
}

const v1::ScopeReport* FirstCluster(const v1::Report& report) {
  return report.steps().empty() ? nullptr : ClusterOf(report.steps(0));
}

std::string WhatWrote(const v1::Report& report) {
  return report.plan().has_watch() ? "a watched program" : "plimsoll run";
}

std::string MeanSize(const v1::Report& report) {
  const v1::ScopeReport* const cluster = FirstCluster(report);
  if (cluster == nullptr || cluster->writes() == 0) return "";
  return absl::StrCat(FormatCount(cluster->bytes() / cluster->writes()), " B on average");
}

std::string RateOfWriter(const v1::Report& report) {
  const v1::ScopeReport* const cluster = FirstCluster(report);
  if (cluster == nullptr || cluster->writes() == 0) return "";
  const double rate = cluster->iops() / std::max<uint32_t>(report.run().queue_managers(), 1);
  return absl::StrFormat("%.4g a second", rate);
}

// How the program opened its log is known; of a run, what its plan asked for.
std::string SyncedBy(const v1::Report& report) {
  if (!report.plan().has_watch()) return "";
  std::set<std::string> flags;
  for (const v1::WatchHostReport& host : report.watch().hosts()) {
    flags.insert(host.counts().profile().open_flags().begin(), host.counts().profile().open_flags().end());
  }
  return absl::StrJoin(flags, ", ");
}

// A program that was started for the watch had opened nothing when its host was described.
void NameOpenFlags(v1::Report& report) {
  const std::string flags = SyncedBy(report);
  for (v1::HostReport& host : *report.mutable_hosts()) {
    v1::MountReport& mount = *host.mutable_mount();
    if (mount.open_flags().empty()) mount.set_open_flags(flags.empty() ? "not known" : flags);
  }
}

}  // namespace

bool HasWatch(const std::vector<SideInput>& sides) {
  return std::ranges::any_of(sides, [](const SideInput& side) { return std::ranges::any_of(side.runs, IsWatch); });
}

absl::Status AlignWithWatched(std::vector<SideInput>& sides) {
  if (!HasWatch(sides)) return absl::OkStatus();
  for (SideInput& side : sides) {
    for (RunInput& run : side.runs) {
      if (IsWatch(run)) {
        NameOpenFlags(run.report);
        continue;
      }
      if (const std::vector<uint64_t> sizes = BlockSizes(run.report); sizes.size() > 1) {
        return absl::FailedPreconditionError(absl::StrCat(
            run.source, ": not comparable: it measured ", sizes.size(),
            " block sizes, and a watched program writes sizes of its own: compare a run with one --bsize, or with a "
            "--bsize-mix"));
      }
      for (v1::StepReport& step : *run.report.mutable_steps()) step.set_block_size_bytes(0);
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> WatchWarnings(const std::vector<SideInput>& sides) {
  std::vector<std::string> warnings;
  if (!HasWatch(sides)) return warnings;
  std::vector<std::string> watched;
  for (size_t side = 0; side < sides.size(); ++side) {
    if (std::ranges::any_of(sides[side].runs, IsWatch)) watched.push_back(SideLabel(sides, side));
    for (const RunInput& run : sides[side].runs) {
      if (!run.report.watch().bounds()) continue;
      warnings.push_back(
          absl::StrCat(SideLabel(sides, side), ": some figures of the watch are bounds; see ", run.source));
    }
  }
  if (watched.size() < sides.size()) {
    warnings.push_back(absl::StrCat(
        absl::StrJoin(watched, " and "), watched.size() == 1 ? " was watched: its" : " were watched: their",
        " IO/s and MB/s are the load of the program, and latencies compare as far as sizes and rates do"));
  }
  return warnings;
}

std::vector<v1::ComparedDifference> WatchDifferences(const std::vector<SideInput>& sides) {
  std::vector<v1::ComparedDifference> differences;
  if (!HasWatch(sides)) return differences;
  const std::pair<const char*, std::string (*)(const v1::Report&)> facts[] = {{"what wrote", WhatWrote},
                                                                              {"write size", MeanSize},
                                                                              {"rate of each writer", RateOfWriter},
                                                                              {"open flags, all files", SyncedBy}};
  for (const auto& [what, value] : facts) {
    v1::ComparedDifference difference;
    difference.set_what(what);
    std::set<std::string> different;
    for (const SideInput& side : sides) {
      std::set<std::string> values;
      for (const RunInput& run : side.runs) {
        if (std::string text = value(run.report); !text.empty()) values.insert(std::move(text));
      }
      difference.add_values(values.empty() ? "not known" : absl::StrJoin(values, ", "));
      different.insert(difference.values().rbegin()->c_str());
    }
    if (different.size() > 1) differences.push_back(std::move(difference));
  }
  return differences;
}

}  // namespace plimsoll
