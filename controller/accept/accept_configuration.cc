// The configuration of an acceptance's parts, as people read it.
#include <algorithm>
#include <cstdint>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/accept/accept_report.h"
#include "controller/analysis/judge.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/placement.h"
#include "controller/plan/plan_defaults.h"
#include "controller/render/text.h"
#include "controller/report/run_kind.h"
#include "controller/storage/host_text.h"

namespace plimsoll {
namespace {

constexpr char kAsFastAsPossible[] = "as fast as possible";

int HostsOf(const v1::TestPlan& plan) {
  return std::max(1, plan.hosts_size());
}

std::string AddressOf(const v1::TestPlan& plan, int host) {
  return host < plan.hosts_size() ? ShortAddress(plan.hosts(host).address()) : "";
}

// What `text_of` has for each host: once where they are alike, else with the hosts in front.
std::string OfHosts(const v1::TestPlan& plan, const std::function<std::string(const v1::LogWorkload&)>& text_of) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (int host = 0; host < HostsOf(plan); ++host) {
    const std::string text = text_of(EffectiveWorkload(plan, host));
    auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == text; });
    if (at == groups.end()) at = groups.insert(at, {text, {}});
    at->second.push_back(AddressOf(plan, host));
  }
  if (groups.size() == 1) return groups.front().first;
  std::vector<std::string> texts;
  for (const auto& [text, hosts] : groups) texts.push_back(absl::StrCat(JoinHostNames(hosts), ": ", text));
  return absl::StrJoin(texts, "; ");
}

std::string SyncText(v1::SyncMode sync) {
  switch (sync) {
    case v1::SYNC_MODE_DSYNC:
      return "O_DSYNC";
    case v1::SYNC_MODE_SYNC:
      return "O_SYNC";
    case v1::SYNC_MODE_FDATASYNC:
      return "write and fdatasync";
    default:
      return "not synchronized";
  }
}

std::string DirectText(v1::DirectMode direct) {
  switch (direct) {
    case v1::DIRECT_MODE_OFF:
      return "without O_DIRECT";
    case v1::DIRECT_MODE_ON:
      return "O_DIRECT";
    default:
      return "O_DIRECT where the file system accepts it";
  }
}

std::string WritePathOf(const v1::LogWorkload& workload) {
  return absl::StrCat(SyncText(workload.sync()), ", ", DirectText(workload.direct()));
}

std::string WritesOf(const v1::LogWorkload& workload) {
  std::string text = absl::StrCat(WritePathOf(workload), ", ", workload.num_files(),
                                  workload.num_files() == 1 ? " extent" : " extents", " of ",
                                  FormatSizeForPeople(workload.file_size_bytes()), " per queue manager");
  if (workload.delay_ns() > 0)
    absl::StrAppend(&text, ", ", FormatLength(workload.delay_ns()), " pause after each write");
  if (workload.cpu_load() > 0) absl::StrAppend(&text, ", ", Counted(workload.cpu_load(), "busy thread"), " per host");
  return text;
}

// Hosts, queue managers and sizes of their writes.
std::string ExtentOf(const v1::TestPlan& plan) {
  size_t queue_managers = 0;
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) queue_managers += workload.qm();
  if (HasPlacement(plan)) queue_managers = static_cast<size_t>(plan.placement_size());
  std::vector<std::string> sizes;
  for (const uint64_t size : BlockSizesOf(plan)) sizes.push_back(FormatSizeForPeople(size));
  return absl::StrCat(Counted(static_cast<size_t>(HostsOf(plan)), "host"), ", ",
                      Counted(queue_managers, "queue manager"), ", ", absl::StrJoin(sizes, ", "));
}

std::string PaceOf(const v1::TestPlan& plan) {
  if (!HasPlacement(plan)) return RateText(LoadRatesOf(plan));
  double all = 0;
  for (const v1::PlacedQueueManager& placed : plan.placement()) all += placed.rate_per_second();
  return absl::StrCat(FormatTargetRate(all), " writes/s in all, with all hosts up and with each one down");
}

// "takeover at 30s, held for 10s; path cut at 1m, held for 10s".
std::string DisturbancesOf(const v1::TestPlan& plan) {
  std::vector<std::string> texts;
  for (const v1::Disturbance& each : plan.disturb()) {
    const std::string program = each.do__size() > 0 ? each.do_(0) : "";
    texts.push_back(
        absl::StrCat(each.name().empty() ? program : each.name(), " at ", FormatDuration(each.at_ns()),
                     each.undo().empty() ? "" : absl::StrCat(", held for ", FormatDuration(each.hold_ns()))));
  }
  return absl::StrJoin(texts, "; ");
}

// The criteria of a part's plan as its report is judged; `paced`: some of its queue managers have a target rate.
std::string JudgedBy(const v1::TestPlan& part, bool paced) {
  std::vector<std::string> criteria(part.criteria().begin(), part.criteria().end());
  const bool has_own = std::any_of(criteria.begin(), criteria.end(), [](const std::string& text) {
    const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
    return criterion.ok() && criterion->metric == Metric::kRateAchieved && criterion->block_size_bytes == 0;
  });
  if (paced && !has_own) criteria.emplace_back(kAddedRateCriterion);
  return absl::StrJoin(criteria, ", ");
}

}  // namespace

LoadRates LoadRatesOf(const v1::TestPlan& plan) {
  LoadRates rates;
  for (int host = 0; host < HostsOf(plan); ++host) {
    const double rate = EffectiveWorkload(plan, host).rate_per_second();
    if (rate <= 0) {
      rates.unpaced.push_back(AddressOf(plan, host));
      continue;
    }
    rates.least = rates.least > 0 ? std::min(rates.least, rate) : rate;
    rates.most = std::max(rates.most, rate);
  }
  return rates;
}

std::string RateText(const LoadRates& rates) {
  if (rates.most <= 0) return kAsFastAsPossible;
  return absl::StrCat(
      rates.least < rates.most ? absl::StrCat(FormatTargetRate(rates.least), " to ") : "", FormatTargetRate(rates.most),
      " writes/s of each queue manager",
      rates.unpaced.empty() ? "" : absl::StrCat(", ", kAsFastAsPossible, " on ", JoinHostNames(rates.unpaced)));
}

double MostQueueManagers(const v1::TestPlan& plan) {
  uint32_t most = 0;
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) most = std::max(most, workload.qm());
  return most;
}

std::string UnlikeMqText(const v1::TestPlan& plan) {
  const bool writes = HasPart(plan, v1::ACCEPT_PART_LOAD) || HasPart(plan, v1::ACCEPT_PART_LIMIT) ||
                      HasPart(plan, v1::ACCEPT_PART_DISTURB);
  if (!writes) return "";
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) {
    if (workload.sync() == v1::SYNC_MODE_DSYNC && workload.direct() != v1::DIRECT_MODE_OFF) continue;
    return absl::StrCat("Not written as MQ's logger writes, with O_DSYNC and O_DIRECT: ", OfHosts(plan, WritePathOf),
                        ".");
  }
  return "";
}

std::vector<std::pair<std::string, std::string>> AcceptConfiguration(const v1::AcceptReport& report) {
  const v1::TestPlan& plan = report.plan();
  const bool load = HasPart(plan, v1::ACCEPT_PART_LOAD);
  const bool search = HasPart(plan, v1::ACCEPT_PART_LIMIT);
  std::vector<std::pair<std::string, std::string>> lines;
  if (!plan.change().empty()) lines.emplace_back("Change", plan.change());
  if (!plan.operator_().empty()) lines.emplace_back("Operator", plan.operator_());
  std::vector<std::pair<std::string, std::string>> criteria;
  if (load) {
    lines.emplace_back("Load",
                       absl::StrCat(ExtentOf(plan), ", ", PaceOf(plan), ", ", FormatDuration(plan.duration_ns()),
                                    plan.until_steady_ns() > 0 ? absl::StrCat(" a round until it is steady, at most ",
                                                                              FormatDuration(plan.until_steady_ns()))
                                                               : std::string()));
    criteria.emplace_back("load", JudgedBy(LoadPlanOf(plan), HasPlacement(plan) || LoadRatesOf(plan).most > 0));
  }
  if (search) {
    const v1::LimitPlan& limit = plan.limit();
    const v1::TestPlan searched = SearchPlanOf(plan);
    const bool as_load = load && !HasPlacement(plan);
    lines.emplace_back("Search", absl::StrCat(as_load ? "" : absl::StrCat(ExtentOf(searched), ", "), "at most ",
                                              FormatDuration(limit.budget_ns()), ", steps of ",
                                              FormatDuration(plan.accept().search_step_ns()), ", held for ",
                                              FormatDuration(limit.hold_ns())));
    criteria.emplace_back("limit",
                          JudgedBy(searched, limit.over() == v1::LIMIT_OVER_RATE || LoadRatesOf(searched).most > 0));
  }
  if (HasPart(plan, v1::ACCEPT_PART_DISTURB)) {
    const v1::TestPlan disturbed = DisturbPlanOf(plan);
    // The load is named once where both parts have the same one.
    const std::string extent = load && !HasPlacement(plan)
                                   ? ""
                                   : absl::StrCat(ExtentOf(disturbed), ", ", PaceOf(disturbed), ", ",
                                                  FormatDuration(disturbed.duration_ns()), "; ");
    lines.emplace_back("Disturbed", absl::StrCat(extent, DisturbancesOf(disturbed)));
    criteria.emplace_back("disturb", absl::StrCat(JudgedBy(disturbed, /*paced=*/false), ", lost==0"));
  }
  if (load || search || HasPart(plan, v1::ACCEPT_PART_DISTURB)) lines.emplace_back("Writes", OfHosts(plan, WritesOf));
  std::vector<std::string> texts;
  for (const auto& [part, text] : criteria) {
    texts.push_back(criteria.size() > 1 ? absl::StrCat(part, ": ", text) : text);
  }
  if (!texts.empty()) lines.emplace_back("Criteria", absl::StrJoin(texts, "; "));
  if (std::ranges::any_of(criteria,
                          [](const auto& one) { return absl::StrContains(one.second, kLongestPauseCriterion); }))
    lines.emplace_back("Source", kLongestPauseSource);
  return lines;
}

std::vector<std::pair<std::string, std::string>> AcceptEvidence(const v1::AcceptReport& report) {
  std::vector<std::pair<std::string, std::string>> lines = {
      {"Command", report.controller().command()},
      {"Program", ProgramText(report.controller(), report.version())},
      {"UTC", UtcErrorText(report.controller())}};
  std::erase_if(lines, [](const auto& line) { return line.second.empty(); });
  return lines;
}

}  // namespace plimsoll
