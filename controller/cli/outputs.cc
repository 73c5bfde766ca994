#include "controller/cli/outputs.h"

#include "controller/page/report_page.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "controller/run/results.h"

namespace plimsoll {

absl::Status WriteReportFiles(const std::string& directory, const v1::Report& report) {
  absl::Status first;
  first.Update(WriteFile(directory + "/report.txt", RenderText(report)));
  first.Update(WriteFile(directory + "/report.json", RenderJson(report)));
  first.Update(WriteFile(directory + "/report.csv", RenderCsv(report)));
  first.Update(WriteFile(directory + "/timeline.csv", RenderTimelineCsv(report)));
  first.Update(WriteFile(directory + "/report.html", RenderReportPage(report)));
  return first;
}

}  // namespace plimsoll
