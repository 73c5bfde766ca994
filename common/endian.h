// Little-endian integers in byte buffers, aligned or not.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plimsoll {

// The value as it lies in memory, turned on a big-endian machine. T is an unsigned integer.
template <typename T>
constexpr T LittleEndian(T value) {
  if constexpr (std::endian::native == std::endian::little) {
    return value;
  } else {
    T turned = 0;
    for (size_t i = 0; i < sizeof(T); ++i) turned = static_cast<T>((turned << 8U) | ((value >> (8 * i)) & 0xFFU));
    return turned;
  }
}

// Reads sizeof(T) bytes.
template <typename T>
T LoadLittle(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return LittleEndian(value);
}

// Writes sizeof(T) bytes.
template <typename T>
void StoreLittle(T value, void* to) {
  value = LittleEndian(value);
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace plimsoll
