#include "controller/page/report_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "controller/page/assets.h"
#include "controller/page/html_page.h"
#include "controller/page/report_data.h"
#include "controller/render/json.h"

namespace plimsoll {

std::string RenderReportPage(const v1::Report& report) {
  const v1::RunReport& run = report.run();
  HtmlPage page;
  page.title = absl::StrCat(absl::AsciiStrToUpper(EnumName(*v1::Outcome_descriptor(), report.verdict().outcome())), " ",
                            run.name().empty() ? absl::StrCat("run ", run.id()) : run.name(), " \u2013 Plimsoll");
  page.body = assets::kReportHtml;
  page.styles = {assets::kReportCss};
  page.scripts = {assets::kReportModelJs,        assets::kReportSummaryJs, assets::kReportPlanJs,
                  assets::kReportFiguresJs,      assets::kReportHeatJs,    assets::kReportTimeJs,
                  assets::kReportDistributionJs, assets::kReportStallsJs,  assets::kReportHostsJs,
                  assets::kReportLoadJs,         assets::kReportJs};
  page.data = ReportPageData(report);
  return RenderHtmlPage(page);
}

}  // namespace plimsoll
