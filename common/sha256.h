// SHA-256 as hexadecimal digits, of bytes and of open files.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

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

// Digest of what is left of an open file; `path` is for the error.
absl::StatusOr<std::string> Sha256OfRest(int fd, const std::string& path);

}  // namespace plimsoll
