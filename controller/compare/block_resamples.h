// Which blocks of seconds make up each repetition of a block bootstrap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

// Starts of blocks, drawn once, so that all figures of a side are made from the same resampled seconds. Circular: a
// block that reaches the end goes on at the beginning, so that every second is drawn equally often (Politis and Romano,
// A circular block-resampling procedure for stationary data, 1992). Immutable.
class BlockResamples {
 public:
  // All > 0, and the blocks not longer than the observations. The same arguments draw the same blocks on every machine:
  // std::mt19937_64, whose output the standard fixes, mapped to a range by multiplication (Lemire, ACM TOMACS 29, 2019;
  // without his rejection, whose absence is worth less than 2^-40 here).
  BlockResamples(size_t observations, size_t block_length, size_t replicates, uint64_t seed);

  size_t observations() const { return observations_; }
  size_t block_length() const { return block_length_; }
  // Blocks of one replicate, at least 2: as many as hold about as many observations as there are.
  size_t blocks() const { return blocks_; }
  size_t replicates() const { return starts_.size() / blocks_; }
  // First observation of each of the replicate's blocks(): starts(replicate)[0 .. blocks() - 1].
  const uint32_t* starts(size_t replicate) const { return starts_.data() + replicate * blocks_; }

 private:
  size_t observations_;
  size_t block_length_;
  size_t blocks_;
  std::vector<uint32_t> starts_;
};

}  // namespace plimsoll
