// Matchers for absl::Status and absl::StatusOr; this abseil has none of its own.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::testing {

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

}  // namespace plimsoll::testing
