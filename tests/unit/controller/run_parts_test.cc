// Parts of a command: what they print goes on as it is, and nothing of how they ended is lost.
#include <gtest/gtest.h>

#include <ostream>
#include <sstream>
#include <string>

#include "controller/cli/run_command.h"

namespace plimsoll {
namespace {

TEST(PartLine, WhatAPartPrintsOnStandardErrorGoesOnAsItIs) {
  std::ostringstream out;
  std::ostringstream errors;
  const CommandLine line{out, errors, {}, false, true};
  PartLine part(line);
  EXPECT_TRUE(part.line().color_err);
  std::string expected;
  // Longer than any buffer of a stream is at first, in pieces of every kind.
  for (int i = 0; i < 100; ++i) {
    part.line().err << "plimsoll: " << "node" << i << ": " << std::string(static_cast<size_t>(7 * i), 'x') << '.'
                    << std::endl;
    expected += "plimsoll: node" + std::to_string(i) + ": " + std::string(static_cast<size_t>(7 * i), 'x') + ".\n";
    ASSERT_EQ(errors.str(), expected);
  }
  part.line().out << "a report";
  EXPECT_EQ(out.str(), "");
}

TEST(PartEnd, NamesEveryError) {
  PartEnd end;
  EXPECT_EQ(end.ErrorText(), "nothing was measured");
  end.errors = {"node1: connection refused", "node2: connection refused"};
  EXPECT_EQ(end.ErrorText(), "node1: connection refused; node2: connection refused");
}

}  // namespace
}  // namespace plimsoll
