#include "controller/export/hdr_encoding.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "absl/strings/escaping.h"

namespace plimsoll {
namespace {

using Layout = HistogramLayout;

// Version 2, words of at most 9 bytes.
constexpr uint32_t kCookie = 0x1c849303 | 0x10;
constexpr uint32_t kCompressedCookie = 0x1c849304 | 0x10;
constexpr uint32_t kSignificantDigits = 3;

template <typename Word>
void PutBigEndian(Word value, std::string& out) {
  for (size_t i = sizeof(Word); i-- > 0;) out.push_back(static_cast<char>(static_cast<uint8_t>(value >> (8 * i))));
}

// Seven bits a byte, the lowest first; the ninth byte holds eight.
void PutZigZag(int64_t value, std::string& out) {
  uint64_t left = (static_cast<uint64_t>(value) << 1U) ^ static_cast<uint64_t>(value >> 63);
  for (int i = 0; i < 8 && left >= 0x80; ++i, left >>= 7U) {
    out.push_back(static_cast<char>(static_cast<uint8_t>(left | 0x80U)));
  }
  out.push_back(static_cast<char>(static_cast<uint8_t>(left)));
}

void PutCounts(const Histogram& histogram, std::string& out) {
  const uint32_t last = Layout::IndexOf(std::min(histogram.max_ns(), Layout::kMaxValueNs));
  uint32_t index = 0;
  while (index <= last) {
    const uint64_t count = histogram.CountAt(index++);
    if (count != 0) {
      PutZigZag(static_cast<int64_t>(count), out);
      continue;
    }
    int64_t zeros = 1;
    for (; index <= last && histogram.CountAt(index) == 0; ++index) ++zeros;
    PutZigZag(zeros > 1 ? -zeros : 0, out);
  }
}

}  // namespace

std::string EncodeHdr(const Histogram& histogram) {
  std::string counts;
  PutCounts(histogram, counts);
  std::string encoded;
  PutBigEndian(kCookie, encoded);
  PutBigEndian(static_cast<uint32_t>(counts.size()), encoded);
  PutBigEndian(uint32_t{0}, encoded);
  PutBigEndian(kSignificantDigits, encoded);
  PutBigEndian(uint64_t{1}, encoded);
  PutBigEndian(Layout::kMaxValueNs, encoded);
  PutBigEndian(std::bit_cast<uint64_t>(1.0), encoded);
  return encoded + counts;
}

std::string EncodeHdrForLog(const Histogram& histogram) {
  const std::string encoded = EncodeHdr(histogram);
  uLongf size = compressBound(encoded.size());
  std::string packed(size, '\0');
  // Only too small a buffer or too little memory fail.
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(encoded.data()),
                encoded.size(), Z_DEFAULT_COMPRESSION) != Z_OK) {
    size = 0;
  }
  packed.resize(size);
  std::string whole;
  PutBigEndian(kCompressedCookie, whole);
  PutBigEndian(static_cast<uint32_t>(packed.size()), whole);
  return absl::Base64Escape(whole + packed);
}

}  // namespace plimsoll
