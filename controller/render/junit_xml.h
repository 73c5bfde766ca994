// Spells JUnit XML: one test suite, with the attributes that GitLab and Jenkins read.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll {

struct JUnitCase {
  enum class Kind { kPassed, kFailure, kError, kSkipped };

  std::string class_name;
  std::string name;
  int64_t duration_ns = 0;
  Kind kind = Kind::kPassed;
  // Why it did not pass.
  std::string message;
  // Standard output, line by line; mostly empty.
  std::vector<std::string> output;
};

struct JUnitSuite {
  std::string name;
  int64_t duration_ns = 0;
  // "2026-11-20T19:20:11"; empty: not known.
  std::string timestamp;
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<JUnitCase> cases;
};

// Texts may hold anything: what XML cannot hold becomes U+FFFD.
std::string RenderJUnitSuite(const JUnitSuite& suite);

}  // namespace plimsoll
