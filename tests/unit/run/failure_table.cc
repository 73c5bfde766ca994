#include "tests/unit/run/failure_table.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/units.h"

namespace plimsoll::tests {
namespace {

int64_t Nanoseconds(const nlohmann::json& seconds) {
  return static_cast<int64_t>(seconds.get<double>() * static_cast<double>(kNsPerSecond));
}

FailureRow RowOf(const nlohmann::json& fault, const std::string& state, const nlohmann::json& cell) {
  FailureRow row;
  row.fault = fault.at("key");
  row.state = state;
  row.lease_ns = Nanoseconds(fault.at("lease_s"));
  row.hang_limit_ns = Nanoseconds(fault.at("hang_limit_s"));
  row.duration_ns = Nanoseconds(cell.at("duration_s"));
  row.narrow_bytes_per_s = fault.at("narrow_bytes_per_s");
  row.arguments = cell.at("arguments").get<std::vector<std::string>>();
  row.sees = cell.at("sees").get<std::vector<std::vector<std::string>>>();
  if (!cell.at("code").is_null()) row.code = cell.at("code").get<int>();
  row.kept = cell.at("kept");
  row.cleaned = cell.at("cleaned");
  row.takes = cell.at("takes");
  return row;
}

}  // namespace

std::vector<FailureRow> ReadFailureTable(const std::string& path) {
  std::vector<FailureRow> rows;
  try {
    std::ifstream file(path);
    const nlohmann::json table = nlohmann::json::parse(file);
    for (const nlohmann::json& fault : table.at("faults")) {
      for (const nlohmann::json& state : table.at("states")) {
        const nlohmann::json& cell = fault.at("cells").at(state.get<std::string>());
        if (!cell.contains("not_applicable")) rows.push_back(RowOf(fault, state, cell));
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s is no table of failures: %s\n", path.c_str(), error.what());
    std::abort();
  }
  return rows;
}

bool IsSeenIn(const std::string& line, const std::string& text) {
  std::string plain = text;
  absl::RemoveExtraAsciiWhitespace(&plain);
  for (char& c : plain) c = absl::ascii_isspace(static_cast<unsigned char>(c)) ? ' ' : c;
  // The parts in their order; the first place of each leaves most to the ones after it.
  size_t from = 0;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(line, "..."))) {
    const size_t found = plain.find(part, from);
    if (found == std::string::npos) return false;
    from = found + part.size();
  }
  return true;
}

}  // namespace plimsoll::tests
