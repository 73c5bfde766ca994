// What a drill's report says, for tests.
#pragma once

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "controller/render/text.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll::tests {

inline std::string Reasons(const v1::Report& report) {
  return absl::StrJoin(report.verdict().reasons(), "\n");
}

// On one line.
inline std::string Text(const v1::Report& report) {
  std::string text = RenderText(report);
  absl::RemoveExtraAsciiWhitespace(&text);
  return text;
}

inline v1::Outcome OutcomeOf(const v1::Report& report, const std::string& criterion) {
  for (const v1::CriterionReport& line : report.verdict().criteria()) {
    if (line.criterion() == criterion) return line.outcome();
  }
  return v1::OUTCOME_UNSPECIFIED;
}

}  // namespace plimsoll::tests
