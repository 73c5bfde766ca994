// Early returns for absl::Status and absl::StatusOr; this abseil has none of its own.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the function where the expression is an error.
#define PLIMSOLL_RETURN_IF_ERROR(expr)                                                           \
  do {                                                                                           \
    if (absl::Status plimsoll_status_ = (expr); !plimsoll_status_.ok()) return plimsoll_status_; \
  } while (false)

// PLIMSOLL_ASSIGN_OR_RETURN(auto file, Open(path)): returns the error, or assigns the value.
#define PLIMSOLL_ASSIGN_OR_RETURN(lhs, expr) \
  PLIMSOLL_ASSIGN_OR_RETURN_IMPL_(PLIMSOLL_CONCAT_(plimsoll_statusor_, __LINE__), lhs, expr)
#define PLIMSOLL_CONCAT_(a, b) PLIMSOLL_CONCAT_IMPL_(a, b)
#define PLIMSOLL_CONCAT_IMPL_(a, b) a##b
// `lhs` declares a variable: it cannot stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define PLIMSOLL_ASSIGN_OR_RETURN_IMPL_(statusor, lhs, expr) \
  auto statusor = (expr);                                    \
  if (!statusor.ok()) return std::move(statusor).status();   \
  lhs = *std::move(statusor)
// NOLINTEND(bugprone-macro-parentheses)
