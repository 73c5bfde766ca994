#include "controller/cli/outputs.h"

#include "controller/page/report_page.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/text.h"

namespace plimsoll {

absl::Status WriteReportFiles(const ResultsDirectory& results, const v1::Report& report) {
  absl::Status first;
  first.Update(results.Write("report.txt", RenderText(report)));
  first.Update(results.Write("report.json", RenderJson(report)));
  first.Update(results.Write("report.csv", RenderCsv(report)));
  first.Update(results.Write("timeline.csv", RenderTimelineCsv(report)));
  first.Update(results.Write("report.html", RenderReportPage(report)));
  return first;
}

}  // namespace plimsoll
