// What text and files show of the kinds of run that have a section of their own in the report: the one place where a
// kind is added here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "controller/render/text.h"
#include "controller/report/run_kind.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

struct TextSection {
  RunKind kind = RunKind::kRun;
  // Rows for the plan's section of the configuration.
  void (*options)(const v1::TestPlan& plan, std::vector<ConfigurationRow>& rows);
  // Its parts, in place of criteria and summary.
  std::vector<std::vector<std::string>> (*parts)(const v1::Report& report);
  // What RenderBrief shows between criteria and warnings: the answer first, then tables with so many rows at most,
  // those that matter most.
  std::vector<std::vector<std::string>> (*brief)(const v1::Report& report, size_t rows);
  // How many steps the run has; null: it has none, and no options for steps.
  uint64_t (*steps)(const v1::Report& report) = nullptr;
  // Its first part is an answer, which Markdown shows, too.
  bool answers = false;
  const char* queue_managers_per = "host";
  // One more file of the results; null: there is none.
  const char* file = nullptr;
  std::string (*render_file)(const v1::Report& report) = nullptr;
  // All rows of the configuration, for a run that does not write; null: they are those of a log run, with `options`.
  std::vector<ConfigurationRow> (*configuration)(const v1::Report& report) = nullptr;
};

#define PLIMSOLL_KIND(Name) extern const TextSection k##Name##TextSection;
PLIMSOLL_REPORTED_KINDS(PLIMSOLL_KIND)
#undef PLIMSOLL_KIND
#define PLIMSOLL_KIND(Name) &k##Name##TextSection,
inline constexpr const TextSection* kTextSections[] = {PLIMSOLL_REPORTED_KINDS(PLIMSOLL_KIND)};
#undef PLIMSOLL_KIND

// The report's; null for a log run.
inline const TextSection* TextSectionOf(const v1::Report& report) {
  const RunKind kind = RunKindOf(report);
  for (const TextSection* const section : kTextSections) {
    if (section->kind == kind) return section;
  }
  return nullptr;
}

// The points of the load-latency curve of a search, with rising load, and that curve as CSV, one row a point.
std::vector<const v1::LimitPoint*> LimitCurve(const v1::LimitReport& limit);
std::string RenderCurveCsv(const v1::Report& report);

}  // namespace plimsoll
