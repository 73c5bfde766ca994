// The results below a directory, and the names `latest` and `latest~N`, which stand for them on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

// Where results are without --out.
inline constexpr char kResultsDirectory[] = "plimsoll-results";

enum class ResultState {
  // Its command came to an end and left its verdict.
  kComplete,
  // There is no verdict: its command is under way, or was cut off.
  kUnfinished,
  // Its verdict cannot be read; `reason` says why.
  kUnreadable,
};

// One directory of results, by what it records of itself. Nothing is checked against the journal: `plimsoll verify`
// does that.
struct ListedResult {
  // Name below the directory that was listed, and path.
  std::string name;
  std::string path;
  ResultState state = ResultState::kUnreadable;
  // "pass", as in JSON; empty unless complete, and for rounds of `plimsoll ab`, which have no verdict.
  std::string outcome;
  // What the outcome is confined to; mostly empty.
  std::string scope;
  // Title from the plan; of rounds of `plimsoll ab`, the names of its sides.
  std::string title;
  // The command that made it: "run", "ha", "ab"; empty: not known.
  std::string command;
  std::string run_id;
  // 0: not known.
  uint64_t hosts = 0;
  // Begin of the run since 1970; of results that do not record it, from their name, or when they were changed last.
  int64_t begin_s = 0;
  // Why it is not complete; empty if it is.
  std::string reason;
};

// Whether there is something by that name, be it a symbolic link to nothing.
bool IsThere(const std::filesystem::path& path);

// Results directly below `directory`, the newest first. Directories that hold no results are left out. Reads of each
// the beginning of its report.json, its accept.json, or the first record of its journal. NOT_FOUND where there is no
// such directory; INVALID_ARGUMENT where it is a result itself.
absl::StatusOr<std::vector<ListedResult>> ListResults(const std::string& directory);

// The path of the result that a user means by `given`: of "latest" and "latest~N" (the N-th before it) the result below
// plimsoll-results, of "latest~N/load-1" a part of it, of anything else, and of a path that exists, `given`. NOT_FOUND
// where there are not so many results.
absl::StatusOr<std::string> ResolveResult(const std::string& given);
// As ResolveResult, for each of the paths that commas separate; a path that exists has whatever commas its name has.
absl::StatusOr<std::string> ResolveResults(const std::string& given);

// Makes an option or argument, of one value or of several, name results: its values become the paths that
// ResolveResults returns while the command line is parsed.
CLI::Option* NamesResults(CLI::Option* option);

}  // namespace plimsoll
