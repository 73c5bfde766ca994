#include "common/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/files.h"
#include "common/status_macros.h"

namespace plimsoll {

Sha256Sum::Sha256Sum() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
}

void Sha256Sum::Add(const void* data, size_t size) {
  EVP_DigestUpdate(context_.get(), data, size);
}

std::string Sha256Sum::Take() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(context_.get(), digest.data(), &length);
  return absl::BytesToHexString(std::string(reinterpret_cast<const char*>(digest.data()), length));
}

std::string Sha256(std::string_view bytes) {
  Sha256Sum sum;
  sum.Add(bytes.data(), bytes.size());
  return sum.Take();
}

absl::StatusOr<std::string> Sha256OfRest(int fd, const std::string& path) {
  constexpr size_t kReadBytes = size_t{64} << 10;
  Sha256Sum sum;
  std::vector<char> buffer(kReadBytes);
  while (true) {
    PLIMSOLL_ASSIGN_OR_RETURN(const size_t got, ReadFully(fd, path, buffer.data(), buffer.size()));
    if (got == 0) return sum.Take();
    sum.Add(buffer.data(), got);
  }
}

}  // namespace plimsoll
