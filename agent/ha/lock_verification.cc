#include "agent/ha/lock_verification.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/ha/qm_files.h"
#include "agent/writer/file_env.h"
#include "common/page_stamp.h"
#include "common/posix.h"

namespace plimsoll {
namespace {

struct alignas(kStampedPageBytes) HeartbeatPage {
  std::array<std::byte, kStampedPageBytes> bytes{};
};

absl::Status ReadHeartbeat(int fd, const std::string& path, HeartbeatPage& page) {
  const ssize_t size = pread(fd, page.bytes.data(), page.bytes.size(), kHeartbeatOffset);
  if (size < 0) return PosixError("pread", path, errno);
  if (size == static_cast<ssize_t>(page.bytes.size())) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("pread ", path, ": the heartbeat record is cut off"));
}

}  // namespace

LockVerification::LockVerification(int fd, std::string path, const Record& record, int64_t timeout_ns,
                                   const std::atomic<int64_t>& lease_deadline_ns)
    : fd_(fd),
      path_(std::move(path)),
      record_(record),
      timeout_ns_(timeout_ns),
      lease_deadline_ns_(lease_deadline_ns) {}

absl::Status LockVerification::Verify() {
  struct UnderWay {
    std::atomic<uint64_t>& cell;
    UnderWay(std::atomic<uint64_t>& under_way, uint64_t number) : cell(under_way) { cell.store(number); }
    ~UnderWay() { cell.store(0); }
  };
  const UnderWay under_way(under_way_, ++count_);
  HeartbeatPage found;
  if (const absl::Status status = ReadHeartbeat(fd_, path_, found); !status.ok()) return status;
  PageStamp stamp;
  if (ReadStamp(found.bytes, stamp) == StampState::kWhole && stamp.run_token == record_.run_token &&
      !MayFollow(stamp)) {
    return absl::AbortedError(absl::StrCat(path_, ": an instance of epoch ", stamp.epoch, " on host ", stamp.host_index,
                                           " has written its heartbeat; this one's epoch is ", record_.epoch));
  }
  HeartbeatPage written;
  const uint64_t checksum = PayloadChecksum(std::span(written.bytes).subspan(kStampBytes));
  WriteStamp({record_.run_token, record_.host_index, record_.qm, record_.epoch, 1, count_}, checksum,
             written.bytes.data());
  // Reading may have taken until after the lease, as where the host was frozen meanwhile.
  if (MonotonicNowNs() >= lease_deadline_ns_.load(std::memory_order_relaxed)) {
    return absl::DeadlineExceededError("the lease is over");
  }
  const ssize_t size = pwrite(fd_, written.bytes.data(), written.bytes.size(), kHeartbeatOffset);
  if (size < 0) return PosixError("pwrite", path_, errno);
  if (size != static_cast<ssize_t>(written.bytes.size())) {
    return absl::DataLossError(absl::StrCat("pwrite ", path_, ": only ", size, " bytes of the heartbeat record"));
  }
  if (const absl::Status status = ReadHeartbeat(fd_, path_, found); !status.ok()) return status;
  if (found.bytes == written.bytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path_, ": the heartbeat record is not as it was just written"));
}

bool LockVerification::MayFollow(const PageStamp& found) const {
  if (found.epoch < record_.epoch) return true;
  // Of its own epoch only its own last record, of which there is none before the first verification.
  return found.epoch == record_.epoch && found.host_index == record_.host_index && found.sequence == count_ - 1 &&
         count_ > 1;
}

bool LockVerification::Overdue(int64_t now_ns) {
  const int64_t passed_ns = std::min(now_ns - last_tick_ns_, kLongestTickNs);
  last_tick_ns_ = now_ns;
  const uint64_t number = under_way_.load();
  if (number == 0 || number != watched_) {
    watched_ = number;
    watched_for_ns_ = 0;
    return false;
  }
  watched_for_ns_ += passed_ns;
  return watched_for_ns_ > timeout_ns_;
}

}  // namespace plimsoll
