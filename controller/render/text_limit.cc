// What the text report shows of a search for the highest load: the limit and what it is, and the load-latency curve.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/stable_sort.h"
#include "common/units.h"
#include "controller/render/columns.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

bool OverRate(const v1::LimitReport& limit) {
  return limit.over() == v1::LIMIT_OVER_RATE;
}

// "480", "12.35"; a number of queue managers is whole.
std::string LoadCell(const v1::LimitReport& limit, double load) {
  return OverRate(limit) ? FormatRate(load) : absl::StrFormat("%.0f", load);
}

const char* CauseName(v1::LimitCause cause) {
  switch (cause) {
    case v1::LIMIT_CAUSE_STORAGE:
      return "the storage";
    case v1::LIMIT_CAUSE_HOST_PATH:
      return "one host's path";
    case v1::LIMIT_CAUSE_LOAD_GENERATOR:
      return "the load generator";
    case v1::LIMIT_CAUSE_UNDETERMINED:
      return "undetermined";
    default:
      return "not reached";
  }
}

const char* StateCell(v1::LimitState state) {
  switch (state) {
    case v1::LIMIT_STATE_MEETS:
      return "met";
    case v1::LIMIT_STATE_EXCEEDS:
      return "exceeded";
    default:
      return "undecided";
  }
}

std::vector<std::string> TextLimit(const v1::Report& report, TextDetail /*detail*/) {
  const v1::LimitReport& limit = report.limit();
  std::vector<std::string> lines;
  const auto add = [&lines](const std::string& heading, const std::string& text) {
    for (const std::string& line : UnderHeading(heading, text)) lines.push_back(line);
  };
  const std::string unit = OverRate(limit) ? "writes/s per queue manager" : "queue managers per host";
  if (limit.limit() > 0) {
    const bool bound = limit.cause() == v1::LIMIT_CAUSE_LOAD_GENERATOR;
    add("Limit",
        absl::StrCat(bound ? "at least " : "", LoadCell(limit, limit.limit()), " ", unit, ", ",
                     FormatRate(limit.iops()), " writes/s of all hosts", limit.held() ? ", held" : ", not held"));
  } else {
    add("Limit", absl::StrCat("no load was shown to meet the criteria"));
  }
  if (limit.has_exceeded_at()) {
    add("Interval", limit.limit() > 0 ? absl::StrCat("from ", LoadCell(limit, limit.limit()), " to ",
                                                     LoadCell(limit, limit.exceeded_at()), " ", unit,
                                                     ", where the criteria are exceeded")
                                      : absl::StrCat("below ", LoadCell(limit, limit.exceeded_at()), " ", unit));
  } else if (limit.limit() > 0) {
    add("Interval", absl::StrCat("from ", LoadCell(limit, limit.limit()), " ", unit,
                                 "; no load above was shown to exceed the criteria"));
  }
  if (limit.cause() != v1::LIMIT_CAUSE_UNSPECIFIED || !limit.cause_text().empty()) {
    add("Cause", absl::StrCat(CauseName(limit.cause()), limit.cause_text().empty() ? "" : ": ", limit.cause_text()));
  }
  if (limit.maximum() > 0) {
    add("Maximum", absl::StrCat(FormatRate(limit.maximum()), " writes/s per queue manager, without a target rate"));
  }
  if (limit.knee() > 0) {
    add("Knee", absl::StrCat(LoadCell(limit, limit.knee()), " ", unit, ": most writes/s for their mean latency"));
  }
  return lines;
}

// The latencies of a summary.
void AddHeadings(std::vector<std::string>& headings) {
  for (const FigureColumn& column : kLatencyColumns.columns) {
    if (column.IsIn(kTextSummary)) headings.emplace_back(column.heading);
  }
}

void AddCells(const v1::LimitLatency& latency, const LatencyUnit& unit, std::vector<std::string>& cells) {
  for (const FigureColumn& column : kLatencyColumns.columns) {
    if (column.IsIn(kTextSummary)) cells.push_back(TextFigure(latency, column, unit));
  }
}

std::vector<std::string> TextCurve(const v1::Report& report) {
  const v1::LimitReport& limit = report.limit();
  const std::vector<const v1::LimitPoint*> points = LimitCurve(limit);
  if (points.empty()) return {};
  const LatencyUnit unit;
  const bool several = report.hosts_size() > 1;
  const std::string load = OverRate(limit) ? "rate/QM" : "QMs";
  std::vector<std::string> headings = {"step", load, "IO/s", "|"};
  AddHeadings(headings);
  headings.insert(headings.end(), {"|", "criteria"});
  TextTable cluster(headings, 0, {});
  headings = {"step", load, "|"};
  AddHeadings(headings);
  headings.emplace_back("host");
  TextTable worst(headings, 0, {headings.size() - 1});
  for (const v1::LimitPoint* const point : points) {
    const bool is_limit = limit.limit() > 0 && point->load() == limit.limit();
    const bool is_knee = limit.knee() > 0 && point->load() == limit.knee();
    const std::string mark = is_limit ? "  <- limit" : is_knee ? "  <- knee" : "";
    std::vector<std::string> cells = {absl::StrCat(point->step()), LoadCell(limit, point->load()),
                                      FormatRate(point->iops())};
    AddCells(point->cluster(), unit, cells);
    cells.emplace_back(StateCell(point->state()));
    cluster.AddRow(cells, mark);
    cells = {absl::StrCat(point->step()), LoadCell(limit, point->load())};
    AddCells(point->worst(), unit, cells);
    cells.push_back(SanitizeForTerminal(point->worst_host()));
    worst.AddRow(cells, mark);
  }
  const bool paced = OverRate(limit) || report.plan().workload().rate_per_second() > 0;
  std::vector<std::string> lines = {
      absl::StrCat("Load-latency curve: all hosts, ", paced ? "response" : "service", " time in ", unit.name)};
  for (const std::string& line : cluster.Lines()) lines.push_back(line);
  if (!several) return lines;
  lines.emplace_back("");
  lines.push_back("The same of the host with the highest p99");
  for (const std::string& line : worst.Lines()) lines.push_back(line);
  return lines;
}

// How it searched.
void LimitOptions(const v1::TestPlan& plan, std::vector<std::string>& lines) {
  const v1::LimitPlan& limit = plan.limit();
  const bool over_rate = limit.over() == v1::LIMIT_OVER_RATE;
  TextOption("Search", "--over",
             over_rate ? "rate: writes/s of each queue manager" : "qm: active queue managers of each host", lines);
  if (over_rate) TextOption("", "--tolerance", absl::StrFormat("%g %%", limit.tolerance_percent()), lines);
  TextOption("", "--budget", FormatLength(limit.budget_ns()), lines);
  TextOption("", "--hold", FormatLength(limit.hold_ns()), lines);
}

std::vector<std::vector<std::string>> LimitParts(const v1::Report& report, TextDetail detail) {
  return {TextLimit(report, detail), TextCriteria(report, detail), TextCurve(report)};
}

// The answer, and the lowest load beyond it.
bool ShowsStep(const v1::Report& report, const v1::StepReport& step) {
  const v1::LimitReport& limit = report.limit();
  if (step.number() == limit.step()) return true;
  return limit.has_exceeded_at() &&
         std::any_of(limit.points().begin(), limit.points().end(), [&](const v1::LimitPoint& point) {
           return point.step() == step.number() && point.load() == limit.exceeded_at() &&
                  point.state() == v1::LIMIT_STATE_EXCEEDS;
         });
}

}  // namespace

std::vector<const v1::LimitPoint*> LimitCurve(const v1::LimitReport& limit) {
  std::vector<const v1::LimitPoint*> points;
  for (const v1::LimitPoint& point : limit.points()) {
    if (point.curve()) points.push_back(&point);
  }
  StableSort(points, [](const v1::LimitPoint* a, const v1::LimitPoint* b) { return a->load() < b->load(); });
  return points;
}

const TextSection& LimitTextSection() {
  static constexpr TextSection kSection{[](const v1::Report& report) { return report.has_limit(); }, LimitOptions,
                                        LimitParts, ShowsStep};
  return kSection;
}

}  // namespace plimsoll
