// How records lie in the files of a journal.
#pragma once

#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace plimsoll {

inline constexpr std::array<char, 8> kJournalMagic = {'P', 'L', 'I', 'M', 'J', 'R', 'N', 'L'};
inline constexpr size_t kRecordHeaderBytes = 12;
inline constexpr uint32_t kMaxRecordBytes = uint32_t{64} << 20;

struct RecordHeader {
  uint32_t length = 0;
  uint16_t format = 0;
  uint16_t reserved = 0;  // zero: anything else is damage
  uint32_t crc = 0;
};

inline uint32_t RecordCrc(const std::string& payload) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const unsigned char*>(payload.data()), payload.size()));
}

}  // namespace plimsoll
