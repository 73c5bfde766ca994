// What `plimsoll compare` is given: results by their directories or files.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/compare/comparable.h"

namespace plimsoll {

// The report of `path`: of a directory from its journal, or where that is missing from its report.json; of a file from
// what it is, a report.json or a journal. NOT_FOUND where there is nothing; else the error says what is wrong with it.
absl::StatusOr<v1::Report> LoadReport(const std::string& path);

// One side of the command line: results that are separated by commas. An argument that names something that is there is
// that one result, whatever commas its name has. Sources are the paths as they are given.
absl::StatusOr<SideInput> LoadSide(const std::string& argument);

}  // namespace plimsoll
