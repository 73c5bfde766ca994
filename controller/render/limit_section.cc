// What text and files show of a search for the highest load.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/algorithm.h"
#include "common/units.h"
#include "controller/render/columns.h"
#include "controller/render/csv.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/report/main_operation.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"

namespace plimsoll {

std::vector<const v1::LimitPoint*> LimitCurve(const v1::LimitReport& limit) {
  std::vector<const v1::LimitPoint*> points;
  for (const v1::LimitPoint& point : limit.points()) {
    if (point.curve()) points.push_back(&point);
  }
  StableSort(points, [](const v1::LimitPoint* a, const v1::LimitPoint* b) { return a->load() < b->load(); });
  return points;
}

namespace {

bool OverRate(const v1::LimitReport& limit) {
  return limit.over() == v1::LIMIT_OVER_RATE;
}

bool OverClients(const v1::LimitReport& limit) {
  return limit.over() == v1::LIMIT_OVER_CLIENTS;
}

bool OverLoadFactor(const v1::LimitReport& limit) {
  return limit.over() == v1::LIMIT_OVER_LOAD_FACTOR;
}

// Whether throughput and latencies of the search are those of commits.
bool IsOfCommits(const v1::Report& report) {
  return report.plan().has_group_commit();
}

// "QMs": the load, above its column.
const char* LoadHeading(const v1::LimitReport& limit) {
  return OverRate(limit) ? "rate/QM" : OverClients(limit) ? "clients" : OverLoadFactor(limit) ? "factor" : "QMs";
}

// "480", "503.1": a rate or a load factor as it was set, with every digit; a number of queue managers or clients is
// whole.
std::string LoadCell(const v1::LimitReport& limit, double load) {
  return OverRate(limit) || OverLoadFactor(limit) ? FormatTargetRate(load) : absl::StrFormat("%.0f", load);
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

std::vector<std::string> TextLimit(const v1::Report& report) {
  const v1::LimitReport& limit = report.limit();
  std::vector<std::string> lines;
  const auto add = [&lines](const std::string& heading, const std::string& text) {
    for (const std::string& line : UnderHeading(heading, text)) lines.push_back(line);
  };
  const std::string rate =
      IsOfCommits(report) ? "commits/s" : absl::StrCat(AnyOperation(report.plan().read_percent()), "s/s");
  const std::string unit = OverRate(limit)         ? rate + " per queue manager"
                           : OverClients(limit)    ? "clients per queue manager"
                           : OverLoadFactor(limit) ? "times the recorded load"
                                                   : "queue managers per host";
  if (limit.limit() > 0) {
    const bool bound = limit.cause() == v1::LIMIT_CAUSE_LOAD_GENERATOR;
    add("Limit",
        absl::StrCat(bound ? "at least " : "", LoadCell(limit, limit.limit()), " ", unit, ", ",
                     FormatRate(limit.iops()), " ", rate, " of all hosts", limit.held() ? ", held" : ", not held"));
  } else {
    add("Limit", absl::StrCat("no load was shown to meet the criteria"));
  }
  if (limit.has_exceeded_at()) {
    add("Interval",
        limit.limit() > 0
            ? absl::StrCat("from ", LoadCell(limit, limit.limit()), " to ", LoadCell(limit, limit.exceeded_at()), " ",
                           unit, "; ", LoadCell(limit, limit.limit()), " meets the criteria, ",
                           LoadCell(limit, limit.exceeded_at()), " exceeds them")
            : absl::StrCat("below ", LoadCell(limit, limit.exceeded_at()), " ", unit, ", which exceeds the criteria"));
  } else if (limit.limit() > 0) {
    add("Interval", absl::StrCat("from ", LoadCell(limit, limit.limit()), " ", unit, "; its upper end is not known"));
  }
  if (limit.cause() != v1::LIMIT_CAUSE_UNSPECIFIED || !limit.cause_text().empty()) {
    add("Cause", absl::StrCat(CauseName(limit.cause()), limit.cause_text().empty() ? "" : ": ", limit.cause_text()));
  }
  if (limit.maximum() > 0) {
    const v1::GroupCommit& commits = report.plan().group_commit();
    const std::string load = OverClients(limit) ? absl::StrCat("with ", Counted(commits.clients(), "client"))
                             : OverLoadFactor(limit)
                                 ? absl::StrCat("at ", LoadCell(limit, commits.load_factor()), " ", unit)
                                 : "without a target rate";
    add("Maximum", absl::StrCat(FormatRate(limit.maximum()), " ", rate, " per queue manager, ", load));
  }
  if (limit.knee() > 0) {
    add("Knee", absl::StrCat(LoadCell(limit, limit.knee()), " ", unit, ": most ", rate, " for their mean latency"));
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

// How sure the figures are by which criteria about percentiles are decided, or those about averages.
void AddConfidence(const v1::Report& report, const std::vector<const v1::LimitPoint*>& points, bool averages,
                   std::vector<std::string>& lines) {
  const v1::LimitReport& limit = report.limit();
  TextTable table({"step", LoadHeading(limit), "|", "measured", "from", "to", "may be", "|", "limit"}, 0, {8});
  bool any = false;
  for (const v1::LimitPoint* const point : points) {
    const v1::LimitConfidence& confidence = point->confidence();
    if (!point->has_confidence() || confidence.has_average_ns() != averages) continue;
    any = true;
    std::vector<std::string> cells = {absl::StrCat(point->step()), LoadCell(limit, point->load())};
    for (const double percent : {confidence.beyond_percent(), confidence.low_percent(), confidence.high_percent(),
                                 confidence.allowed_percent()}) {
      if (!averages) cells.push_back(absl::StrFormat("%.3g", percent));
    }
    for (const double ns :
         {confidence.average_ns(), confidence.low_ns(), confidence.high_ns(), confidence.allowed_ns()}) {
      if (averages) cells.push_back(FormatLatency(ns, kNsPerMs));
    }
    cells.push_back(SanitizeForTerminal(confidence.criterion()));
    table.AddRow(cells, "");
  }
  if (!any) return;
  lines.emplace_back("");
  if (averages) {
    lines.emplace_back("Averages, where they are largest, with their confidence interval, in ms");
  } else {
    std::string operations =
        IsOfCommits(report) ? "commits" : absl::StrCat(AnyOperation(report.plan().read_percent()), "s");
    operations[0] = absl::ascii_toupper(static_cast<unsigned char>(operations[0]));
    lines.push_back(absl::StrCat(operations, " beyond a criterion's limit, where most are, with their confidence"));
    lines.emplace_back("interval, in percent");
  }
  AppendLines(table.Lines(), lines);
}

// The points with the loads that are nearest to the answer; `most` of them, in their order.
std::vector<const v1::LimitPoint*> NearestPoints(const v1::LimitReport& limit, size_t most) {
  std::vector<const v1::LimitPoint*> points = LimitCurve(limit);
  if (points.size() <= most) return points;
  const double answer = limit.limit() > 0 ? limit.limit() : limit.exceeded_at();
  StableSort(points, [answer](const v1::LimitPoint* a, const v1::LimitPoint* b) {
    return std::abs(a->load() - answer) < std::abs(b->load() - answer);
  });
  points.resize(most);
  StableSort(points, [](const v1::LimitPoint* a, const v1::LimitPoint* b) { return a->load() < b->load(); });
  return points;
}

// `most`: points of the curve; all of it has the hosts and the confidence, too.
std::vector<std::string> TextCurve(const v1::Report& report, size_t most = SIZE_MAX) {
  const v1::LimitReport& limit = report.limit();
  const std::vector<const v1::LimitPoint*> points = NearestPoints(limit, most);
  if (points.empty()) return {};
  const LatencyUnit unit;
  const bool several = report.hosts_size() > 1;
  const std::string load = LoadHeading(limit);
  std::vector<std::string> headings = {"step", load, IsOfCommits(report) ? "commits/s" : "IO/s", "|"};
  AddHeadings(headings);
  headings.insert(headings.end(), {"|", "criteria"});
  TextTable cluster(headings, 0, {});
  headings = {"step", load, "|"};
  AddHeadings(headings);
  headings.emplace_back("host");
  TextTable worst(headings, 0, {headings.size() - 1});
  bool not_recovered = false;
  for (const v1::LimitPoint* const point : points) {
    const bool is_limit = limit.limit() > 0 && point->load() == limit.limit();
    const bool is_knee = limit.knee() > 0 && point->load() == limit.knee();
    const std::string mark = is_limit && is_knee ? "  <- limit, knee"
                             : is_limit          ? "  <- limit"
                             : is_knee           ? "  <- knee"
                                                 : "";
    std::vector<std::string> cells = {absl::StrCat(point->step()), LoadCell(limit, point->load()),
                                      FormatRate(point->iops())};
    AddCells(point->cluster(), unit, cells);
    cells.push_back(absl::StrCat(StateCell(point->state()), point->not_recovered() ? "*" : ""));
    not_recovered = not_recovered || point->not_recovered();
    cluster.AddRow(cells, mark);
    cells = {absl::StrCat(point->step()), LoadCell(limit, point->load())};
    AddCells(point->worst(), unit, cells);
    cells.push_back(SanitizeForTerminal(point->worst_host()));
    worst.AddRow(cells, mark);
  }
  const bool paced = OverRate(limit) || report.plan().workload().rate_per_second() > 0;
  std::vector<std::string> lines = {absl::StrCat("Load-latency curve: all hosts, ",
                                                 IsOfCommits(report) ? "commit"
                                                 : paced             ? "response"
                                                                     : "service",
                                                 IsOfCommits(report) ? " latency (simulated)" : " time",
                                                 ReadsAndWrites(report.plan().read_percent()) ? " of writes" : "",
                                                 " in ", unit.name)};
  AppendLines(cluster.Lines(), lines);
  if (not_recovered) lines.emplace_back("* measured although the storage had not recovered from the load before it");
  const size_t left_out = LimitCurve(limit).size() - points.size();
  if (left_out > 0) lines.push_back(absl::StrCat("  ... and ", left_out, " more loads (report.txt)"));
  if (most < SIZE_MAX) return lines;
  for (const bool averages : {false, true}) AddConfidence(report, points, averages, lines);
  if (!several) return lines;
  lines.emplace_back("");
  lines.push_back("The same of the host with the highest p99");
  AppendLines(worst.Lines(), lines);
  return lines;
}

// How it searched.
void LimitOptions(const v1::TestPlan& plan, std::vector<ConfigurationRow>& rows) {
  const v1::LimitPlan& limit = plan.limit();
  const bool over_rate = limit.over() == v1::LIMIT_OVER_RATE;
  constexpr auto kBelow = ConfigurationRow::Text::kBelow;
  rows.push_back({"Search", "--over",
                  over_rate ? absl::StrCat("rate: ", AnyOperation(plan.read_percent()), "s/s of each queue manager")
                  : limit.over() == v1::LIMIT_OVER_CLIENTS     ? "clients of each queue manager"
                  : limit.over() == v1::LIMIT_OVER_LOAD_FACTOR ? "load-factor: how many times as fast as recorded"
                                                               : "qm: active queue managers of each host"});
  if (over_rate || limit.over() == v1::LIMIT_OVER_LOAD_FACTOR) {
    rows.push_back({"Tolerance", "--tolerance", absl::StrFormat("%g %%", limit.tolerance_percent()), kBelow});
  }
  rows.push_back({"Time to search", "--budget", FormatLength(limit.budget_ns()), kBelow});
  rows.push_back({"Time to hold the answer", "--hold", FormatLength(limit.hold_ns()), kBelow});
}

std::vector<std::vector<std::string>> LimitParts(const v1::Report& report) {
  return {TextLimit(report), TextCriteria(report), TextCurve(report)};
}

std::vector<std::vector<std::string>> LimitBrief(const v1::Report& report, size_t rows) {
  return {TextLimit(report), TextCurve(report, rows)};
}

}  // namespace

std::string RenderCurveCsv(const v1::Report& report) {
  CsvTable<v1::LimitPoint> table;
  const bool over_rate = report.limit().over() == v1::LIMIT_OVER_RATE;
  table.Column("step", [](const v1::LimitPoint& point) { return CsvCell(uint64_t{point.step()}); });
  table.Column(over_rate                        ? "rate_per_queue_manager"
               : OverClients(report.limit())    ? "clients_per_queue_manager"
               : OverLoadFactor(report.limit()) ? "load_factor"
                                                : "queue_managers_per_host",
               [](const v1::LimitPoint& point) { return CsvCell(point.load()); });
  table.Column("iops", [](const v1::LimitPoint& point) { return CsvCell(point.iops()); });
  table.Column("criteria", [](const v1::LimitPoint& point) {
    return CsvCell(point.state() == v1::LIMIT_STATE_MEETS     ? "met"
                   : point.state() == v1::LIMIT_STATE_EXCEEDS ? "exceeded"
                                                              : "undecided");
  });
  table.Column("worst_host", [](const v1::LimitPoint& point) { return CsvCell(point.worst_host()); });
  const auto add = [&table](const std::string& where, const v1::LimitLatency& (*of)(const v1::LimitPoint&)) {
    const auto percentile = [&, of](const char* name, uint64_t (*get)(const v1::LimitLatency&)) {
      table.Column(absl::StrCat(where, "_", name, "_ns"), [of, get, name](const v1::LimitPoint& point) {
        return IsThin(of(point), name) ? std::string() : CsvCell(get(of(point)));
      });
    };
    table.Column(absl::StrCat(where, "_avg_ns"),
                 [of](const v1::LimitPoint& point) { return CsvCell(of(point).avg_ns()); });
    percentile("p50", [](const v1::LimitLatency& latency) { return latency.p50_ns(); });
    percentile("p99", [](const v1::LimitLatency& latency) { return latency.p99_ns(); });
    percentile("p99_9", [](const v1::LimitLatency& latency) { return latency.p99_9_ns(); });
    percentile("max", [](const v1::LimitLatency& latency) { return latency.max_ns(); });
  };
  add("cluster", [](const v1::LimitPoint& point) -> const v1::LimitLatency& { return point.cluster(); });
  add("worst_host", [](const v1::LimitPoint& point) -> const v1::LimitLatency& { return point.worst(); });
  table.Column("recovered", [](const v1::LimitPoint& point) { return CsvCell(point.not_recovered() ? "no" : "yes"); });
  table.Column("limit", [](const v1::LimitPoint& point) { return CsvCell(point.confidence().criterion()); });
  const auto confidence = [&table](const char* name, bool averages, double (*get)(const v1::LimitConfidence&)) {
    table.Column(name, [averages, get](const v1::LimitPoint& point) {
      const bool known = point.has_confidence() && point.confidence().has_average_ns() == averages;
      return known ? CsvCell(get(point.confidence())) : std::string();
    });
  };
  confidence("beyond_percent", false, [](const v1::LimitConfidence& one) { return one.beyond_percent(); });
  confidence("beyond_low_percent", false, [](const v1::LimitConfidence& one) { return one.low_percent(); });
  confidence("beyond_high_percent", false, [](const v1::LimitConfidence& one) { return one.high_percent(); });
  confidence("beyond_allowed_percent", false, [](const v1::LimitConfidence& one) { return one.allowed_percent(); });
  confidence("average_ns", true, [](const v1::LimitConfidence& one) { return one.average_ns(); });
  confidence("average_low_ns", true, [](const v1::LimitConfidence& one) { return one.low_ns(); });
  confidence("average_high_ns", true, [](const v1::LimitConfidence& one) { return one.high_ns(); });
  confidence("average_allowed_ns", true, [](const v1::LimitConfidence& one) { return one.allowed_ns(); });
  std::string csv = table.Heading();
  for (const v1::LimitPoint* const point : LimitCurve(report.limit())) csv += table.Line(*point);
  return csv;
}

constinit const TextSection kLimitTextSection{
    .kind = RunKind::kLimit,
    .options = LimitOptions,
    .parts = LimitParts,
    .brief = LimitBrief,
    .steps = [](const v1::Report& report) { return static_cast<uint64_t>(report.steps_size()); },
    .answers = true,
    .file = "curve.csv",
    .render_file = RenderCurveCsv};

}  // namespace plimsoll
