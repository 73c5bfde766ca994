// The formats of an acceptance, to exact bytes.
//
// After a wanted change: PLIMSOLL_UPDATE_GOLDEN=1 build/dev/bin/accept_golden_test, then look at the differences.
#include <gtest/gtest.h>

#include "controller/accept/accept_report.h"
#include "controller/render/json.h"
#include "tests/golden_files.h"
#include "tests/unit/accept/made_up_acceptance.h"

namespace plimsoll {
namespace {

// One load of three fails.
v1::AcceptReport Failed() {
  return tests::WholeAcceptance({3.1, 14.2, 3.2});
}

TEST(AcceptGolden, Text) {
  tests::ExpectGolden("tests/golden/accept.txt", RenderAcceptText(Failed()));
}

TEST(AcceptGolden, Json) {
  tests::ExpectGolden("tests/golden/accept.json", RenderJson(Failed()));
}

TEST(AcceptGolden, JUnit) {
  tests::ExpectGolden("tests/golden/accept.xml", RenderAcceptJUnit(Failed()));
}

TEST(AcceptGolden, Markdown) {
  tests::ExpectGolden("tests/golden/accept.md", RenderAcceptMarkdown(Failed(), "plimsoll-results/x"));
}

TEST(AcceptGolden, SchemaIsThatOfTheProto) {
  tests::ExpectGoldenSchema("docs/accept.schema.json", "AcceptReport");
}

}  // namespace
}  // namespace plimsoll
