#include "agent/host/owner_marker.h"

#include <fcntl.h>

#include <cerrno>
#include <map>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace plimsoll {
namespace {

constexpr char kFirstLine[] = "plimsoll-owner 1";

}  // namespace

std::string FormatOwnerMarker(const OwnerMarker& marker) {
  const std::string token(marker.run_token.begin(), marker.run_token.end());
  return absl::StrCat(kFirstLine, "\nagent ", marker.agent_id, "\nrun ", marker.run_id, "\ntoken ",
                      absl::BytesToHexString(token), "\nhost ", marker.host_label, "\nkept ",
                      marker.kept ? "yes" : "no", marker.shared ? "\nshared yes\n" : "\n");
}

absl::StatusOr<OwnerMarker> ParseOwnerMarker(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kFirstLine) {
    return absl::InvalidArgumentError("the marker does not start with 'plimsoll-owner 1'");
  }
  std::map<std::string, std::string> fields;
  while (std::getline(lines, line)) {
    const size_t space = line.find(' ');
    if (space != std::string::npos) fields[line.substr(0, space)] = line.substr(space + 1);
  }
  OwnerMarker marker;
  marker.agent_id = fields["agent"];
  marker.run_id = fields["run"];
  marker.host_label = fields["host"];
  const std::string token = absl::HexStringToBytes(fields["token"]);
  const std::string kept = fields["kept"];
  marker.kept = kept == "yes";
  marker.shared = fields.count("shared") > 0;
  if (token.size() == marker.run_token.size()) std::copy(token.begin(), token.end(), marker.run_token.begin());
  // What was understood must say the same when it is written again: no half-written marker passes.
  if (FormatOwnerMarker(marker) != text) return absl::InvalidArgumentError("the marker is not whole");
  return marker;
}

LockOutcome LockFile(int fd) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  while (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EACCES ? LockOutcome::kHeldByAnother : LockOutcome::kNotSupported;
  }
  return LockOutcome::kLocked;
}

bool IsLockedByAnother(int fd) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

}  // namespace plimsoll
