// The table of failures (tests/integration/failures/table.py) as the build writes it out.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace plimsoll::tests {

// One cell of the table: a fault in a state of a run, and what then happens.
struct FailureRow {
  std::string fault;
  std::string state;
  int64_t lease_ns = 0;
  int64_t hang_limit_ns = 0;
  int64_t duration_ns = 0;
  // What beta's results come back at; 0: as fast as they are sent.
  int64_t narrow_bytes_per_s = 0;
  // Of `plimsoll run`, beside hosts and directories.
  std::vector<std::string> arguments;
  // Of each entry one line is seen; "..." stands for anything.
  std::vector<std::vector<std::string>> sees;
  std::optional<int> code;  // none: the controller is dead
  // By their names in outcomes.py.
  std::string kept;
  std::string cleaned;
  std::string takes;
};

inline void PrintTo(const FailureRow& row, std::ostream* out) {
  *out << row.fault << ", " << row.state;
}

// The cells that apply, fault by fault. What is no such table ends the program: there is nothing to be tested then.
std::vector<FailureRow> ReadFailureTable(const std::string& path);

// Whether the line is in the text, in which white space is as good as any other.
bool IsSeenIn(const std::string& line, const std::string& text);

}  // namespace plimsoll::tests
