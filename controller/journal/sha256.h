// SHA-256 as hexadecimal digits, of bytes and of files: what shows that results are not those that were recorded. It
// shows damage, not forgery: anyone who can change a file can also change the digest beside it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/posix.h"

// OpenSSL's EVP_MD_CTX.
struct evp_md_ctx_st;

namespace plimsoll {

// The digest of bytes that arrive in parts. Not thread-safe.
class Sha256Sum {
 public:
  Sha256Sum();

  void Add(const void* data, size_t size);
  // The digest of all parts. Called once, last.
  std::string Take();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

std::string Sha256(std::string_view bytes);

// Opens the file `name` in the directory `part` (empty: none) of the open directory, to read it. NOT_FOUND where either
// is missing; FAILED_PRECONDITION where either is a symbolic link, or not a directory and a regular file. Errors name
// them as they are below the directory.
absl::StatusOr<UniqueFd> OpenBelow(int directory, const std::string& part, const std::string& name);

// Digest of what is left of an open file; `path` is for the error.
absl::StatusOr<std::string> Sha256OfRest(int fd, const std::string& path);

// Digest of the file that OpenBelow opens.
absl::StatusOr<std::string> Sha256Below(const std::string& directory, const std::string& part, const std::string& name);

// A record in JSON seals itself: its member "record_sha256" holds the SHA-256 of its text with that value empty.
inline constexpr char kRecordSeal[] = "record_sha256";

// The text, whose seal is empty, with its seal.
std::string SealRecord(std::string text);
// Whether the text is as SealRecord made it.
bool IsSealIntact(const std::string& text);

}  // namespace plimsoll
