// Where the kernel describes its tracepoints.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/posix.h"

namespace plimsoll {

// The events directory of tracefs. Not thread-safe.
class TraceFs {
 public:
  // Uses tracefs where it is mounted. Else it makes an instance that is mounted nowhere, so that nothing on the host
  // changes; that takes CAP_SYS_ADMIN. An error names what is missing, and the way out.
  static absl::StatusOr<TraceFs> Open();

  // The number of a tracepoint such as "raw_syscalls/sys_enter", as perf_event_attr.config takes it.
  absl::StatusOr<uint64_t> IdOf(const std::string& tracepoint) const;
  // OK if field `field` of the tracepoint's record lies at `offset` and has `size` bytes.
  absl::Status CheckField(const std::string& tracepoint, const std::string& field, uint32_t offset,
                          uint32_t size) const;

 private:
  TraceFs(UniqueFd root, std::string path) : root_(std::move(root)), path_(std::move(path)) {}
  absl::StatusOr<std::string> Read(const std::string& name) const;

  UniqueFd root_;
  std::string path_;
};

// Whether the text of a tracepoint's `format` file has that field. `field` is its name, with "[6]" if it is an array.
bool FormatHasField(const std::string& format, const std::string& field, uint32_t offset, uint32_t size);

}  // namespace plimsoll
