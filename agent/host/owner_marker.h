// The marker in a host's directory of a run: whose it is, and whether its owner lives.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace plimsoll {

// The marker's name. It starts with a dot, so no file of a run can have it (see IsPlainName).
inline constexpr char kOwnerMarkerName[] = ".plimsoll-owner";

// What a marker says. One directory, one host, one owner.
struct OwnerMarker {
  std::string agent_id;
  std::string run_id;
  std::array<uint8_t, 16> run_token{};
  std::string host_label;
  // The files are to stay although no agent lives that owns them.
  bool kept = false;
  // Several hosts use it: no agent takes it for a leftover of its own, and only who names the run removes it. Told in
  // the marker where it is so; markers without a word of it are one host's.
  bool shared = false;
  bool operator==(const OwnerMarker&) const = default;
};

// A first line with the format's name and version, then a line a field: its name, a space, its value.
std::string FormatOwnerMarker(const OwnerMarker& marker);

// INVALID_ARGUMENT where the text is no whole marker of this version.
absl::StatusOr<OwnerMarker> ParseOwnerMarker(const std::string& text);

enum class LockOutcome { kLocked, kHeldByAnother, kNotSupported };

// Takes a write lock on the whole file. It belongs to the open file, not to the process: it goes with the last copy of
// the descriptor, and another opening of the file is refused even in this process. Does not wait.
LockOutcome LockFile(int fd);

// Whether LockFile would say kHeldByAnother, without taking the lock.
bool IsLockedByAnother(int fd);

}  // namespace plimsoll
