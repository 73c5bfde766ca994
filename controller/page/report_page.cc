#include "controller/page/report_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "controller/page/assets.h"
#include "controller/page/html_page.h"
#include "controller/page/report_data.h"
#include "controller/render/json.h"

namespace plimsoll {
namespace {

// "FAIL ", as the page has it; nothing where nothing was judged.
std::string VerdictWord(const v1::Report& report) {
  switch (report.verdict().outcome()) {
    case v1::OUTCOME_UNSPECIFIED:
      return "";
    case v1::OUTCOME_DONE:
      return "COMPLETED ";
    default:
      return absl::AsciiStrToUpper(EnumName(*v1::Outcome_descriptor(), report.verdict().outcome())) + " ";
  }
}

}  // namespace

std::string RenderReportPage(const v1::Report& report) {
  const v1::RunReport& run = report.run();
  HtmlPage page;
  page.title = absl::StrCat(VerdictWord(report), run.name().empty() ? absl::StrCat("run ", run.id()) : run.name(),
                            " \u2013 Plimsoll");
  page.body = assets::kReportHtml;
  page.styles = {assets::kReportCss};
  page.scripts = {assets::kReportModelJs, assets::kReportSummaryJs,      assets::kReportPlanJs,
                  assets::kReportSheetJs, assets::kReportFiguresJs,      assets::kReportHeatJs,
                  assets::kReportTimeJs,  assets::kReportDistributionJs, assets::kReportStallsJs,
                  assets::kReportHostsJs, assets::kReportLoadJs,         assets::kReportHaPictureJs,
                  assets::kReportHaJs,    assets::kReportLimitJs,        assets::kReportJs};
  page.data = ReportPageData(report);
  return RenderHtmlPage(page);
}

}  // namespace plimsoll
