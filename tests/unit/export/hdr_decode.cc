#include "tests/unit/export/hdr_decode.h"

#include <zlib.h>

#include <bit>

#include "absl/strings/escaping.h"

namespace plimsoll::tests {
namespace {

uint64_t BigEndian(const std::string& bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8U | static_cast<uint8_t>(bytes.at(at + i));
  return value;
}

int64_t ZigZag(const std::string& bytes, size_t& at) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < 9; ++i) {
    const auto byte = static_cast<uint8_t>(bytes.at(at++));
    if (i == 8) {
      value |= uint64_t{byte} << 56U;
      break;
    }
    value |= uint64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80) break;
  }
  return static_cast<int64_t>(value >> 1U) ^ -static_cast<int64_t>(value & 1U);
}

}  // namespace

DecodedHdr DecodeHdrLine(const std::string& text) {
  DecodedHdr decoded;
  const auto fail = [&decoded](const char* what) {
    decoded.error = what;
    return decoded;
  };
  std::string packed;
  if (!absl::Base64Unescape(text, &packed) || packed.size() < 8) return fail("not base 64");
  if (BigEndian(packed, 0, 4) != 0x1c849314) return fail("another compressed cookie");
  if (BigEndian(packed, 4, 4) != packed.size() - 8) return fail("another compressed length");
  std::string plain(1 << 20, '\0');
  uLongf size = plain.size();
  if (uncompress(reinterpret_cast<Bytef*>(plain.data()), &size, reinterpret_cast<const Bytef*>(packed.data() + 8),
                 packed.size() - 8) != Z_OK) {
    return fail("not a zlib stream");
  }
  plain.resize(size);
  if (size < 40 || BigEndian(plain, 0, 4) != 0x1c849313) return fail("another cookie");
  if (BigEndian(plain, 4, 4) != size - 40) return fail("another payload length");
  if (BigEndian(plain, 8, 4) != 0) return fail("an offset");
  decoded.significant_digits = static_cast<uint32_t>(BigEndian(plain, 12, 4));
  decoded.lowest = BigEndian(plain, 16, 8);
  decoded.highest = BigEndian(plain, 24, 8);
  if (std::bit_cast<double>(BigEndian(plain, 32, 8)) != 1.0) return fail("another ratio");
  uint32_t index = 0;
  for (size_t at = 40; at < size;) {
    const int64_t count = ZigZag(plain, at);
    if (count > 0) decoded.counts[index] = static_cast<uint64_t>(count);
    index += count < 0 ? static_cast<uint32_t>(-count) : 1;
  }
  return decoded;
}

}  // namespace plimsoll::tests
