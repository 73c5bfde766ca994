// What every test uses: GoogleMock's matchers and actions by their names, the tests' own helpers (plimsoll::tests), and
// matchers for absl::Status and absl::StatusOr, of which this abseil has none.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::tests {

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;
}
template <typename T>
absl::Status GetStatus(const absl::StatusOr<T>& status) {
  return status.status();
}

// The status, or the StatusOr, is OK.
MATCHER(IsOk, "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).ok();
}

// The code is `code` and the message holds `text`.
MATCHER_P2(StatusIs, code, text, "") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).code() == code &&
         std::string(GetStatus(arg).message()).find(std::string(text)) != std::string::npos;
}

}  // namespace plimsoll::tests

namespace plimsoll {

using namespace tests;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Eq;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNull;
using ::testing::Le;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::NotNull;
using ::testing::Pair;
using ::testing::ResultOf;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

}  // namespace plimsoll
