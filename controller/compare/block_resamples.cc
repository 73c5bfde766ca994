#include "controller/compare/block_resamples.h"

#include <algorithm>
#include <random>

namespace plimsoll {

BlockResamples::BlockResamples(size_t observations, size_t block_length, size_t replicates, uint64_t seed)
    : observations_(observations),
      block_length_(block_length),
      blocks_(std::max<size_t>((observations + block_length / 2) / block_length, 2)),
      starts_(replicates * blocks_) {
  std::mt19937_64 random(seed);
  // The upper half of 64 bits is enough for a range of 32.
  for (uint32_t& start : starts_) start = static_cast<uint32_t>(((random() >> 32) * observations) >> 32);
}

}  // namespace plimsoll
