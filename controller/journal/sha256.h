// SHA-256 of files below a directory, and in records: what shows that results are not those that were recorded. It
// shows damage, not forgery: anyone who can change a file can also change the digest beside it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/posix.h"
#include "common/sha256.h"

namespace plimsoll {

// Opens the file `name` in the directory `part` (empty: none) of the open directory, to read it. NOT_FOUND where either
// is missing; FAILED_PRECONDITION where either is a symbolic link, or not a directory and a regular file. Errors name
// them as they are below the directory.
absl::StatusOr<UniqueFd> OpenBelow(int directory, const std::string& part, const std::string& name);

// Digest of the file that OpenBelow opens.
absl::StatusOr<std::string> Sha256Below(const std::string& directory, const std::string& part, const std::string& name);

// A record in JSON seals itself: its member "record_sha256" holds the SHA-256 of its text with that value empty.
inline constexpr char kRecordSeal[] = "record_sha256";

// The text, whose seal is empty, with its seal.
std::string SealRecord(std::string text);
// Whether the text is as SealRecord made it.
bool IsSealIntact(const std::string& text);

}  // namespace plimsoll
