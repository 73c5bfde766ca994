// Parts of a command: nothing of how they ended is lost.
#include <gtest/gtest.h>

#include "controller/app/runs.h"

namespace plimsoll {
namespace {

TEST(PartEnd, NamesEveryError) {
  PartEnd end;
  EXPECT_EQ(end.ErrorText(), "nothing was measured");
  end.errors = {"node1: connection refused", "node2: connection refused"};
  EXPECT_EQ(end.ErrorText(), "node1: connection refused; node2: connection refused");
}

}  // namespace
}  // namespace plimsoll
