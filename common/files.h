// Reads files that people name: within a limit, and by default regular files alone.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/posix.h"

namespace plimsoll {

enum class FileKind {
  kRegular,
  // Also a pipe, whose writer is waited for, and a device.
  kAny
};

// Opens a file to read it, without waiting for the writer of a pipe. The system's error, or INVALID_ARGUMENT where it
// is not a regular file; with `option`, which the path was given by.
absl::StatusOr<UniqueFd> OpenRegularFile(const std::string& path, const std::string& option = "");

// Reads up to `size` bytes of an open file; fewer at its end. `path` is for the error.
absl::StatusOr<size_t> ReadFully(int fd, const std::string& path, void* data, size_t size);

// What is left of an open file. INVALID_ARGUMENT beyond `max_bytes`; `path` is for the error.
absl::StatusOr<std::string> ReadRest(int fd, const std::string& path, size_t max_bytes);

// The whole file. INVALID_ARGUMENT for another kind of file, and beyond `max_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes, FileKind kind = FileKind::kRegular,
                                     const std::string& option = "");

// Passes the file's bytes to `take`, in order and a part at a time. INVALID_ARGUMENT beyond `max_bytes`.
absl::Status ReadInParts(const std::string& path, size_t max_bytes, FileKind kind,
                         const std::function<void(std::string_view bytes)>& take);

}  // namespace plimsoll
