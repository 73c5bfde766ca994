// The directory that `plimsoll tls init` makes: ca.crt and ca.key, and a .crt and a .key for every name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/tls.h"

namespace plimsoll {

// A directory that is its owner's alone. Files are made for their owner alone, and none is ever written over.
class TlsDirectory {
 public:
  // Makes the directory where there is none. Errors name it: it is open to others, or not to be made.
  static absl::StatusOr<std::unique_ptr<TlsDirectory>> Open(const std::string& path);

  // Loads the CA, or makes one that is valid for `days`.
  absl::Status OpenAuthority(int64_t now_s, int days);
  // Makes key and certificate for a name, unless both are there.
  absl::Status Add(const std::string& name, CertificateAuthority::Role role, int64_t now_s, int days);

  // "beta.crt" for a host; a name's colons become underscores.
  static std::string FileStem(const std::string& name);
  const std::string& path() const { return path_; }
  // Files, in the order in which they were made, or found and left alone.
  const std::vector<std::string>& made() const { return made_; }
  const std::vector<std::string>& kept() const { return kept_; }

 private:
  explicit TlsDirectory(std::string path) : path_(std::move(path)) {}

  std::string PathOf(const std::string& file) const { return path_ + "/" + file; }
  // Whether both files are there; one without the other is an error.
  absl::StatusOr<bool> HasPair(const std::string& stem);
  absl::Status WritePair(const std::string& stem, const KeyAndCertificate& pair);

  const std::string path_;
  std::unique_ptr<CertificateAuthority> authority_;
  std::vector<std::string> made_;
  std::vector<std::string> kept_;
};

}  // namespace plimsoll
