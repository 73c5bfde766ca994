// Whatever bytes come as a report.json: no crash, no hang, errors on one line; what reads is rendered and reads back
// the same, and can be compared with itself.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "controller/compare/compare.h"
#include "controller/compare/compare_render.h"
#include "controller/compare/report_json.h"
#include "controller/render/json.h"

namespace plimsoll {
namespace {

void Require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

void TryCompare(const v1::Report& report) {
  SideInput side;
  side.runs.push_back({"report.json", report});
  CompareSettings settings;
  settings.replicates = 19;
  const absl::StatusOr<v1::Comparison> comparison = Compare({side, side}, settings);
  if (!comparison.ok()) return;
  const auto check = [](const v1::PairComparison& pair) {
    for (const v1::ComparedRow& row : pair.rows()) {
      Require(row.ratio() == 1, "a run differs from itself", row.DebugString());
      Require(row.finding() == v1::FINDING_NOT_CLEAR || row.finding() == v1::FINDING_NOT_TESTED, "a finding",
              row.DebugString());
    }
  };
  for (const v1::BlockSizeComparison& block_size : comparison->block_sizes()) {
    check(block_size.pairs(0));
    for (const v1::OperationComparison& operation : block_size.operations()) check(operation.pairs(0));
  }
  const std::string text = RenderCompareText(*comparison);
  Require(text.find('\x1b') == std::string::npos, "an escape", text);
  RenderJson(*comparison);
  RenderCompareCsv(*comparison);
  ComparePageData({side, side}, *comparison);
}

void TryReport(const std::string& text) {
  const absl::StatusOr<v1::Report> report = ParseReportJson(text);
  if (!report.ok()) {
    const std::string message(report.status().message());
    Require(!message.empty(), "an error without a word", text);
    return;
  }
  const std::string json = RenderJson(*report);
  const absl::StatusOr<v1::Report> again = ParseReportJson(json);
  Require(again.ok(), "what was rendered does not read back", json);
  Require(RenderJson(*again) == json, "a report comes back changed", json);
  TryCompare(*report);
}

}  // namespace
}  // namespace plimsoll

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::TryReport(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
