#include "agent/server/reloading_identity.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix_error.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kLookEvery{500};
constexpr unsigned kProviderSeconds = 1;

std::string PathOf(const UniqueFd& file) {
  return absl::StrCat("/proc/self/fd/", file.get());
}

}  // namespace

absl::Status ReloadingIdentity::Show(const std::string& text, UniqueFd& shown) {
  UniqueFd copy(memfd_create("plimsoll-tls", MFD_CLOEXEC));
  if (!copy.valid()) return PosixError("memfd_create", "", errno);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = write(copy.get(), text.data() + done, text.size() - done);
    if (put < 0 && errno != EINTR) return PosixError("write", "a copy of the TLS files", errno);
    if (put > 0) done += static_cast<size_t>(put);
  }
  if (!shown.valid()) {
    shown = std::move(copy);
  } else if (dup3(copy.get(), shown.get(), O_CLOEXEC) < 0) {
    return PosixError("dup3", "", errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ReloadingIdentity>> ReloadingIdentity::Start(const TlsPaths& paths, TlsIdentity identity,
                                                                            Log log) {
  auto made = std::unique_ptr<ReloadingIdentity>(new ReloadingIdentity(paths, std::move(identity), std::move(log)));
  PLIMSOLL_RETURN_IF_ERROR(Show(made->current_.ca_pem, made->shown_ca_));
  PLIMSOLL_RETURN_IF_ERROR(
      Show(absl::StrCat(made->current_.cert_pem, "\n", made->current_.key_pem), made->shown_identity_));
  const std::string both = PathOf(made->shown_identity_);
  made->provider_ = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      both, both, PathOf(made->shown_ca_), kProviderSeconds);
  made->thread_ = std::thread([raw = made.get()] { raw->Run(); });
  return made;
}

ReloadingIdentity::~ReloadingIdentity() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void ReloadingIdentity::Run() {
  while (true) {
    {
      MutexLock lock(mutex_);
      if (!stop_) changed_.WaitFor(mutex_, kLookEvery);
      if (stop_) return;
    }
    Look();
  }
}

void ReloadingIdentity::Look() {
  absl::StatusOr<TlsIdentity> found = ReadTlsIdentity(paths_);
  if (found.ok() && *found == current_) {
    complaint_.clear();
    return;
  }
  absl::Status status = found.status();
  if (status.ok() && found->ca_pem != current_.ca_pem) status = Show(found->ca_pem, shown_ca_);
  if (status.ok()) status = Show(absl::StrCat(found->cert_pem, "\n", found->key_pem), shown_identity_);
  if (!status.ok()) {
    const std::string complaint = absl::StrCat(
        "the TLS files have changed and are not good; the ones before stay in use: ", std::string(status.message()));
    // Once for each thing that is wrong, not twice a second. Files are often replaced one after the other: what is
    // wrong only once is not told.
    if (complaint == complaint_) return;
    complaint_ = complaint;
    log_(Level::kWarning, complaint);
    return;
  }
  current_ = *std::move(found);
  complaint_.clear();
  log_(Level::kInfo, absl::StrCat("the TLS files have changed and are used from now on; the certificate is good until ",
                                  FormatDay(current_.certificate.not_after_s)));
}

}  // namespace plimsoll
