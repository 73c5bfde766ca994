// Where the kernel describes its tracepoints.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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
  // Adds or removes a probe of a function by a line of `uprobe_events`, such as "p:GROUP/NAME PATH:0xOFFSET".
  // FAILED_PRECONDITION where the kernel has no uprobes, PERMISSION_DENIED where the agent may not; both with the way
  // out.
  absl::Status DefineUprobe(const std::string& line) const;
  // The lines of `uprobe_events`: all probes that are defined on this host.
  std::vector<std::string> Uprobes() const;
  // OK if field `field` of the tracepoint's record lies at `offset` and has `size` bytes.
  absl::Status CheckField(const std::string& tracepoint, const std::string& field, uint32_t offset,
                          uint32_t size) const;

 private:
  TraceFs(UniqueFd root, std::string path) : root_(std::move(root)), path_(std::move(path)) {}
  absl::StatusOr<std::string> Read(const std::string& name) const;
  absl::StatusOr<std::string> ReadAt(const std::string& name) const;
  absl::Status UprobeError(int error_number) const;

  UniqueFd root_;
  std::string path_;
};

// Whether the text of a tracepoint's `format` file has that field. `field` is its name, with "[6]" if it is an array.
bool FormatHasField(const std::string& format, const std::string& field, uint32_t offset, uint32_t size);

}  // namespace plimsoll
