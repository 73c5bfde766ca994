#include "controller/cli/tls_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "controller/plan/yaml_tree.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxPemBytes = 1 << 16;
constexpr mode_t kSecret = 0600;
constexpr mode_t kPublic = 0644;

absl::Status WriteNew(const std::string& path, const std::string& text, mode_t mode) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kSecret));
  if (!file.valid()) return PosixError("create", path, errno);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = write(file.get(), text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int error = put < 0 ? errno : ENOSPC;
      unlink(path.c_str());
      return PosixError("write", path, error);
    }
    done += static_cast<size_t>(put);
  }
  if (fchmod(file.get(), mode) != 0 || fsync(file.get()) != 0) return PosixError("write", path, errno);
  return absl::OkStatus();
}

bool Exists(const std::string& path) {
  struct stat facts{};
  return lstat(path.c_str(), &facts) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsDirectory>> TlsDirectory::Open(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return PosixError("make", path, errno);
  struct stat facts{};
  if (stat(path.c_str(), &facts) != 0) return PosixError("open", path, errno);
  if (!S_ISDIR(facts.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is no directory"));
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is open to others, and keys are to lie in it: chmod 700 closes it"));
  }
  return std::unique_ptr<TlsDirectory>(new TlsDirectory(path));
}

std::string TlsDirectory::FileStem(const std::string& name) {
  std::string stem = name;
  std::replace(stem.begin(), stem.end(), ':', '_');
  return stem;
}

absl::StatusOr<bool> TlsDirectory::HasPair(const std::string& stem) {
  const std::string certificate = PathOf(stem + ".crt");
  const std::string key = PathOf(stem + ".key");
  const bool has_certificate = Exists(certificate);
  const bool has_key = Exists(key);
  if (has_certificate != has_key) {
    return absl::InvalidArgumentError(absl::StrCat(has_certificate ? certificate : key, " exists without ",
                                                   has_certificate ? key : certificate,
                                                   ": restore the one or move the other away"));
  }
  if (has_certificate) {
    kept_.push_back(certificate);
    kept_.push_back(key);
  }
  return has_certificate;
}

absl::Status TlsDirectory::WritePair(const std::string& stem, const KeyAndCertificate& pair) {
  PLIMSOLL_RETURN_IF_ERROR(WriteNew(PathOf(stem + ".key"), pair.key_pem, kSecret));
  if (const absl::Status status = WriteNew(PathOf(stem + ".crt"), pair.cert_pem, kPublic); !status.ok()) {
    unlink(PathOf(stem + ".key").c_str());  // just made here
    return status;
  }
  made_.push_back(PathOf(stem + ".crt"));
  made_.push_back(PathOf(stem + ".key"));
  return absl::OkStatus();
}

absl::Status TlsDirectory::OpenAuthority(int64_t now_s, int days) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, HasPair("ca"));
  if (!exists) {
    PLIMSOLL_ASSIGN_OR_RETURN(authority_, CertificateAuthority::Create(now_s, days));
    return WritePair("ca", authority_->pem());
  }
  KeyAndCertificate pem;
  PLIMSOLL_ASSIGN_OR_RETURN(pem.cert_pem, ReadTextFile(PathOf("ca.crt"), kMaxPemBytes));
  PLIMSOLL_ASSIGN_OR_RETURN(pem.key_pem, ReadTextFile(PathOf("ca.key"), kMaxPemBytes));
  auto loaded = CertificateAuthority::Load(pem, now_s);
  if (!loaded.ok()) {
    return {loaded.status().code(),
            absl::StrCat(PathOf("ca.crt"), " and ca.key: ", std::string(loaded.status().message()))};
  }
  authority_ = *std::move(loaded);
  return absl::OkStatus();
}

absl::Status TlsDirectory::Add(const std::string& name, CertificateAuthority::Role role, int64_t now_s, int days) {
  const std::string stem = FileStem(name);
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, HasPair(stem));
  if (exists) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const KeyAndCertificate pair, authority_->Issue(name, role, now_s, days));
  return WritePair(stem, pair);
}

}  // namespace plimsoll
