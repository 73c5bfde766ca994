// A report as text for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// How much of a report with many hosts, queue managers or steps is shown.
enum class TextDetail {
  // The best and the worst of them, and the totals.
  kShort,
  // All.
  kFull,
};

// At most 80 columns wide, UTF-8, without colour or control characters but line breaks, whatever hosts and plans say.
// The verdict comes first, then its criteria and a summary of at most 15 lines, then everything else.
// `histogram_rows`: each step is followed by the cluster's histogram of at most so many rows; 0: by none.
std::string RenderText(const v1::Report& report, uint32_t histogram_rows = 0, TextDetail detail = TextDetail::kShort);

// Its parts, as lines; empty where there is nothing to show.
std::vector<std::string> TextVerdict(const v1::Report& report, TextDetail detail);
std::vector<std::string> TextCriteria(const v1::Report& report, TextDetail detail);
std::vector<std::string> TextSummary(const v1::Report& report, TextDetail detail);
// The run and its configuration.
std::vector<std::string> TextHeading(const v1::Report& report);
// One step, its stalls and its slowest writes.
std::vector<std::string> TextStep(const v1::Report& report, const v1::StepReport& step, TextDetail detail);
std::vector<std::string> TextStalls(const v1::Report& report, const v1::StepReport& step);
std::vector<std::string> TextSlowest(const v1::Report& report, const v1::StepReport& step);
// Parts of a step's: fairness and trend; the hosts' load.
std::vector<std::string> TextEvenness(const v1::StepReport& step);
std::vector<std::string> TextLoad(const v1::StepReport& step, TextDetail detail);
std::vector<std::string> TextClocks(const v1::Report& report, TextDetail detail);
std::vector<std::string> TextHosts(const v1::Report& report, TextDetail detail);
std::vector<std::string> TextNotes(const v1::Report& report, TextDetail detail);

// "PASS", "FAIL", "INCONCLUSIVE", or "COMPLETED (no criteria)".
std::string OutcomeText(v1::Outcome outcome);

// Adds `text`, which may come from elsewhere, wrapped and indented by two columns.
void AddIndented(const std::string& text, std::vector<std::string>& lines);
// File of an extent of a host, by its number.
std::string ExtentName(const v1::Report& report, const std::string& host, uint32_t extent);

// `text` behind a heading of ten columns, wrapped; the heading stands on the first line only.
std::vector<std::string> UnderHeading(const std::string& heading, const std::string& text);

}  // namespace plimsoll
