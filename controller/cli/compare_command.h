// `plimsoll compare`: what it shares with `plimsoll ab`: results by their directories or files, options, and what both
// print.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/cli/command.h"
#include "controller/compare/comparable.h"
#include "controller/compare/compare.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// INVALID_ARGUMENT where the directory holds several runs, of `plimsoll ab` or `plimsoll accept`.
absl::Status CheckOneRun(const std::string& path);

// The report of `path`: of a directory from its journal, or where that is missing from its report.json; of a file from
// what it is, a report.json or a journal. NOT_FOUND where there is nothing; else the error says what is wrong with it.
absl::StatusOr<v1::Report> LoadReport(const std::string& path);

// One side of the command line: results that are separated by commas. An argument that names something that is there is
// that one result, whatever commas its name has. Sources are the paths as they are given.
absl::StatusOr<SideInput> LoadSide(const std::string& argument);

// "10%" or "10" as 0.1. INVALID_ARGUMENT, with the name of the option, for what is not from 0 to 1000 %.
absl::StatusOr<double> ParsePercent(const std::string& flag, const std::string& text);

// The texts are set by parsing.
struct CompareFlags {
  // Options of `command`, which must not outlive the object.
  void AddTo(CLI::App& command);

  // What they say of a comparison. INVALID_ARGUMENT "--gate: ...".
  absl::StatusOr<CompareSettings> Settings() const;
  // Gives the sides their names; as they are where there is no --names. INVALID_ARGUMENT where these are not as many as
  // the sides, or one is empty, too long or there twice.
  absl::Status NameSides(std::vector<SideInput>& sides) const;

  std::string min_effect = "3%";
  std::string fail_if_slower;
  std::string gate;
  std::string differs;
  std::string names;
  // "response" or "service"; empty: response times where there are any.
  std::string times;
  bool json = false;
  std::string csv;
  std::string html;
};

// Whether the text can name a side: 1 to 24 characters, none of them a control character. INVALID_ARGUMENT else.
absl::Status CheckSideName(const std::string& name);

// Prints the comparison and writes the files that the options name. Returns the exit code: that of the gate.
int PrintComparison(const CompareFlags& flags, const std::vector<SideInput>& sides, const v1::Comparison& comparison,
                    CommandLine& line);

}  // namespace plimsoll
