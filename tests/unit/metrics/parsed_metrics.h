// Prometheus' text format, read back.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace plimsoll::tests {

// Values by sample, such as `plimsoll_host_up{host="alpha"}`. Fails the test for a line that is not of the format, for
// a sample that is there twice, and for one that does not follow its metric's HELP and TYPE.
inline std::map<std::string, double> ParseMetrics(const std::string& text) {
  std::map<std::string, double> samples;
  std::set<std::string> metrics;
  std::string metric;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    if (line.empty()) continue;
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (absl::StartsWith(line, "# HELP ")) {
      EXPECT_GT(words.size(), 3U) << line;
      EXPECT_TRUE(metrics.insert(words[2]).second) << line;
      metric = words[2];
      continue;
    }
    if (absl::StartsWith(line, "# TYPE ")) {
      EXPECT_EQ(words[2], metric) << line;
      continue;
    }
    const size_t blank = line.rfind(' ');
    if (blank == std::string::npos) {
      ADD_FAILURE() << line;
      continue;
    }
    char* end = nullptr;
    const double value = std::strtod(line.c_str() + blank + 1, &end);
    EXPECT_EQ(*end, '\0') << line;
    EXPECT_TRUE(absl::StartsWith(line, metric)) << line;
    EXPECT_TRUE(samples.emplace(line.substr(0, blank), value).second) << line;
  }
  return samples;
}

}  // namespace plimsoll::tests
