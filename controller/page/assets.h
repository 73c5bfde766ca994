// The files that pages are made of, as they were when this program was built (embed.cmake).
//
// They live as long as the program. Constants of other files may not use them while they are made.
#pragma once

#include <string_view>

namespace plimsoll::assets {

// dygraphs, of Debian's libjs-dygraphs, and the licence that goes with it.
extern const std::string_view kDygraphMinJs;
extern const std::string_view kDygraphMinCss;
extern const std::string_view kDygraphsLicenceTxt;

// How every page looks, and what its scripts build upon; html_page.h defines the order.
extern const std::string_view kBaseCss;
extern const std::string_view kBaseJs;
extern const std::string_view kTermsJs;
extern const std::string_view kFormatJs;
extern const std::string_view kColumnsJs;
extern const std::string_view kPackJs;
extern const std::string_view kChartJs;
extern const std::string_view kRangeJs;
extern const std::string_view kPercentilesJs;
extern const std::string_view kWholePageJs;

// The page of a report (report_page.h).
extern const std::string_view kReportHtml;
extern const std::string_view kReportCss;
extern const std::string_view kReportModelJs;
extern const std::string_view kReportSummaryJs;
extern const std::string_view kReportPlanJs;
extern const std::string_view kReportSheetJs;
extern const std::string_view kReportFiguresJs;
extern const std::string_view kReportHeatJs;
extern const std::string_view kReportTimeJs;
extern const std::string_view kReportDistributionJs;
extern const std::string_view kReportStallsJs;
extern const std::string_view kReportHostsJs;
extern const std::string_view kReportLoadJs;
extern const std::string_view kReportHaPictureJs;
extern const std::string_view kReportHaJs;
extern const std::string_view kReportLimitJs;
extern const std::string_view kReportPlacementJs;
extern const std::string_view kReportJs;

// The page of a comparison (controller/compare/compare_render.h).
extern const std::string_view kCompareHtml;
extern const std::string_view kCompareCss;
extern const std::string_view kCompareModelJs;
extern const std::string_view kCompareSummaryJs;
extern const std::string_view kCompareDetailJs;
extern const std::string_view kCompareJs;

// The page of an acceptance (controller/accept/accept_report.h).
extern const std::string_view kAcceptHtml;
extern const std::string_view kAcceptCss;
extern const std::string_view kAcceptJs;

}  // namespace plimsoll::assets
