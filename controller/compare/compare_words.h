// A comparison's findings, its method and its limits as sentences for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/compare/comparable.h"
#include "controller/compare/compare.h"
#include "controller/render/columns.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// What is compared: how text and page call and spell it.
struct ComparedFigure {
  v1::Figure figure;
  const char* name;
  FigureFormat format;
};
std::span<const ComparedFigure> ComparedFigures();

// What text and page call a finding, and the class of its colour on the page.
struct NamedFinding {
  v1::Finding finding;
  const char* name;
  const char* tone;
};
std::span<const NamedFinding> NamedFindings();

// "IO/s", "mean", "p99.9"; empty where it is none of ComparedFigures.
std::string FigureName(v1::Figure figure);
// "within minimum"; a dash where nothing was tested.
std::string FindingName(v1::Finding finding);

// How far a ratio is from 1, in percent of the first side, without a sign: "12.5 %", "340 %"; above 10 times "12
// times".
std::string ChangeInWords(double ratio);

// A number of percent, without the sign.
std::string PercentInWords(double percent);

// The answer in a sentence: for each side, at which block sizes it is slower or faster than the first, with the largest
// differences; or what would have been found. `operations`: what the main figures are about, "writes" or "reads".
std::string HeadlineInWords(const v1::Comparison& comparison, const std::string& operations);
// The gate's verdict with its limit, and the first of its reasons; empty where there is no gate.
std::string GateInWords(const v1::Comparison& comparison);

// One side at one block size, with its label.
struct NamedFigures {
  std::string label;
  const v1::SideFigures& figures;
};

// The pair's findings for people who want to know which side to take. `operation`: "read" where reads were compared, or
// the name of a part of a write; empty: the writes were.
std::string Summary(const v1::PairComparison& pair, const std::string& operation, const NamedFigures& first,
                    const NamedFigures& second, const CompareSettings& settings);

// The method behind the findings, and the limits of these runs.
std::vector<std::string> MethodInWords(const v1::Comparison& comparison);
std::vector<std::string> LimitsInWords(const std::vector<SideInput>& sides, const v1::Comparison& comparison);

}  // namespace plimsoll
