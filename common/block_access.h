// Which block each operation of a step takes, and which operations read, if the step does not write its blocks in their
// order as a log does. The agent and the exports of a journal compute the same places from it.
#pragma once

#include <bit>
#include <cstdint>

#include "common/integers.h"

namespace plimsoll {

// A permutation of the numbers below `count`; equal keys give the same permutation. It is a four-round Feistel network
// over the next power of four; results of `count` or more are skipped (Black and Rogaway, "Ciphers with Arbitrary
// Finite Domains", 2002). It uses no memory, and takes 20 to 80 ns a number.
class RandomOrder {
 public:
  static constexpr uint64_t kMostNumbers = uint64_t{1} << 62;

  // `count` in [1, kMostNumbers].
  RandomOrder(uint64_t count, uint64_t key)
      : count_(count),
        key_(key),
        half_bits_(static_cast<int>((std::bit_width(count - 1) + 1) / 2)),
        mask_((uint64_t{1} << half_bits_) - 1) {}

  uint64_t count() const { return count_; }

  // The number at `place`, which is below count().
  uint64_t At(uint64_t place) const {
    do {
      place = Shuffle(place);
    } while (place >= count_);
    return place;
  }

 private:
  uint64_t Shuffle(uint64_t place) const {
    uint64_t left = place >> half_bits_;
    uint64_t right = place & mask_;
    for (uint64_t round = 1; round <= 4; ++round) {
      const uint64_t next = left ^ (MixBits(key_ + round * kGolden + right) & mask_);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

  uint64_t count_;
  uint64_t key_;
  int half_bits_;
  uint64_t mask_;
};

// How the operations of one step of one writer differ from a log's.
class Access {
 public:
  struct Key {
    uint32_t seed = 0;
    uint32_t host = 0;    // number of the host in the run, from 0
    uint32_t writer = 0;  // of the host, from 1
  };

  // `random`: each pass takes all blocks in a random order of its own. `read_percent`: at most kOnlyReads.
  // `read_operation`: place of the read in the step's list of operations.
  Access(bool random, uint32_t read_percent, uint32_t read_operation, Key key)
      : random_(random),
        read_percent_(read_percent),
        read_operation_(read_operation),
        key_(MixBits(MixBits(MixBits(kSalt ^ key.seed) ^ key.host) ^ key.writer)) {}

  bool random() const { return random_; }
  uint32_t read_operation() const { return read_operation_; }

  // Returns whether operation `number` (from 0) reads. Exactly `read_percent` of each hundred do.
  bool Reads(uint64_t number) const {
    if (read_percent_ == 0 || read_percent_ == kHundred) return read_percent_ != 0;
    return RandomOrder(kHundred, MixBits(key_ + number / kHundred)).At(number % kHundred) < read_percent_;
  }
  // Returns how many of the operations with numbers below `number` read.
  uint64_t ReadsBelow(uint64_t number) const {
    uint64_t reads = number / kHundred * read_percent_;
    for (uint64_t one = number / kHundred * kHundred; one < number; ++one) reads += Reads(one) ? 1U : 0U;
    return reads;
  }
  // Order of the blocks of a pass.
  RandomOrder OrderOf(uint64_t pass, uint64_t blocks) const { return {blocks, MixBits(~key_ ^ pass)}; }

 private:
  static constexpr uint64_t kHundred = 100;
  // Keeps the draws independent of the random arrivals and sizes of the same seed.
  static constexpr uint64_t kSalt = 0x616363657373;

  bool random_;
  uint32_t read_percent_;
  uint32_t read_operation_;
  uint64_t key_;
};

// Seed of step `number`. Steps of a search differ from one another, as if each had a seed of its own.
inline uint32_t SeedOfStep(uint32_t seed, uint32_t number, bool of_search) {
  constexpr uint32_t kStride = 0x9E3779B9;
  return seed + (of_search ? number * kStride : 0);
}

}  // namespace plimsoll
