#include "agent/restart/restart_calls.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr char kReadCall[] = "preadv2";
constexpr char kWriteCall[] = "pwritev2";

// The error of a transfer that returned `done`.
[[gnu::cold]] absl::Status TransferError(const std::string& call, const RestartFile& file, uint64_t offset_bytes,
                                         uint64_t size_bytes, int64_t done) {
  if (done < 0) {
    const absl::Status status = PosixError(call, file.path, static_cast<int>(-done));
    return {status.code(), absl::StrCat(std::string(status.message()), " at offset ", offset_bytes)};
  }
  if (call == kWriteCall) {
    return absl::DataLossError(absl::StrCat(call, " ", file.path, ": only ", done, " of ", size_bytes,
                                            " bytes were written at offset ", offset_bytes));
  }
  return absl::DataLossError(absl::StrCat(file.path, ": page ",
                                          (offset_bytes + static_cast<uint64_t>(done)) / kStampedPageBytes,
                                          " is missing: the file ends before it (", call, " at offset ", offset_bytes,
                                          " read ", done, " of ", size_bytes, " bytes)"));
}

}  // namespace

void CallTally::Add(const CallTally& more) {
  count += more.count;
  bytes += more.bytes;
  sum_ns += more.sum_ns;
  max_ns = std::max(max_ns, more.max_ns);
}

v1::RestartCalls CallTally::ToMessage() const {
  v1::RestartCalls calls;
  calls.set_count(count);
  calls.set_bytes(bytes);
  calls.set_sum_ns(sum_ns);
  calls.set_max_ns(max_ns);
  return calls;
}

absl::Status RestartCaller::WhyNoCall(int64_t now_ns) const {
  if (now_ns < control_.limit_ns()) [[likely]]
    return absl::OkStatus();
  if (now_ns >= control_.stop_at_ns()) return absl::CancelledError(absl::StrCat("stopped while ", doing_));
  return absl::DeadlineExceededError(absl::StrCat("lease expired while ", doing_, ": no message from the controller"));
}

template <typename Call>
absl::Status RestartCaller::Time(const RestartFile& file, bool reads, Call call, int64_t& result, int64_t& took_ns) {
  const int64_t start_ns = MonotonicNowNs();
  if (absl::Status status = WhyNoCall(start_ns); !status.ok()) [[unlikely]]
    return status;
  slot_.file.store(&file, std::memory_order_relaxed);
  slot_.reads.store(reads, std::memory_order_relaxed);
  // Release: a thread that sees the moment sees the file.
  slot_.since_ns.store(start_ns, std::memory_order_release);
  result = call();
  took_ns = MonotonicNowNs() - start_ns;
  slot_.since_ns.store(CallSlot::kIdle, std::memory_order_release);
  // Relaxed: the count is independent of everything else.
  progress_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status RestartCaller::Read(const RestartFile& file, uint64_t offset_bytes, std::span<std::byte> into,
                                 CallTally& tally) {
  int64_t done = 0;
  int64_t took_ns = 0;
  PLIMSOLL_RETURN_IF_ERROR(
      Time(file, true, [&] { return ReadAt(file.fd.get(), offset_bytes, into.data(), into.size()); }, done, took_ns));
  if (done != static_cast<int64_t>(into.size())) [[unlikely]]
    return TransferError(kReadCall, file, offset_bytes, into.size(), done);
  tally.Take(into.size(), took_ns);
  return absl::OkStatus();
}

absl::Status RestartCaller::Write(const RestartFile& file, uint64_t offset_bytes, std::span<const std::byte> data,
                                  CallTally& tally) {
  int64_t done = 0;
  int64_t took_ns = 0;
  PLIMSOLL_RETURN_IF_ERROR(
      Time(file, false, [&] { return WriteAt(file.fd.get(), offset_bytes, data.data(), data.size()); }, done, took_ns));
  if (done != static_cast<int64_t>(data.size())) [[unlikely]]
    return TransferError(kWriteCall, file, offset_bytes, data.size(), done);
  tally.Take(data.size(), took_ns);
  return absl::OkStatus();
}

absl::Status RestartCaller::Flush(const RestartFile& file, CallTally& tally) {
  int64_t result = 0;
  int64_t took_ns = 0;
  PLIMSOLL_RETURN_IF_ERROR(
      Time(file, false, [&]() -> int64_t { return fdatasync(file.fd.get()) == 0 ? 0 : -errno; }, result, took_ns));
  if (result != 0) [[unlikely]]
    return PosixError("fdatasync", file.path, static_cast<int>(-result));
  tally.Take(0, took_ns);
  return absl::OkStatus();
}

absl::Status RestartCaller::SyncFileSystem(const RestartFile& file) {
  int64_t result = 0;
  int64_t took_ns = 0;
  PLIMSOLL_RETURN_IF_ERROR(
      Time(file, false, [&]() -> int64_t { return syncfs(file.fd.get()) == 0 ? 0 : -errno; }, result, took_ns));
  return result == 0 ? absl::OkStatus() : PosixError("syncfs", file.path, static_cast<int>(-result));
}

}  // namespace plimsoll
