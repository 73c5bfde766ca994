// The schema of `plimsoll fsck --json`, to exact bytes; tests/integration/fsck_test.py holds reports against it.
//
// After a wanted change: PLIMSOLL_UPDATE_GOLDEN=1 build/dev/bin/check_golden_test, then look at the differences.
#include <gtest/gtest.h>

#include "tests/golden_files.h"

namespace plimsoll {
namespace {

// The committed schema is made from check_report.proto, with its comments as descriptions.
TEST(FsckGolden, SchemaIsThatOfTheProto) {
  tests::ExpectGoldenSchema("docs/fsck.schema.json", "CheckReport");
}

}  // namespace
}  // namespace plimsoll
