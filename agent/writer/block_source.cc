#include "agent/writer/block_source.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/integers.h"

namespace plimsoll {
namespace {

// Passes the usual tests, 1 ns for 8 bytes.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    return MixBits(state_);
  }

 private:
  uint64_t state_;
};

uint64_t SeedOf(const BlockSource::Identity& identity) {
  const uint8_t* const token = identity.run_token.data();
  uint64_t seed = MixBits(LoadLittle<uint64_t>(token)) ^ LoadLittle<uint64_t>(token + sizeof(uint64_t));
  seed = MixBits(seed) ^ identity.host_index;
  return MixBits(seed) ^ identity.qm;
}

uint64_t PagesOf(uint64_t bytes) {
  return (bytes + kStampedPageBytes - 1) / kStampedPageBytes;
}

}  // namespace

void BlockSource::FreeMemory::operator()(std::byte* memory) const {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): aligned_alloc's counterpart
}

BlockSource::BlockSource(const Identity& identity, std::span<const uint64_t> block_bytes) {
  stamp_.run_token = identity.run_token;
  stamp_.host_index = identity.host_index;
  stamp_.qm = identity.qm;

  uint64_t largest = 1;
  for (const uint64_t bytes : block_bytes) largest = std::max(largest, bytes);
  pages_ = PoolWalk::kWindows + PagesOf(largest);
  const size_t pool_bytes = pages_ * kStampedPageBytes;
  pool_.reset(static_cast<std::byte*>(std::aligned_alloc(kStampedPageBytes, pool_bytes)));
  if (pool_ == nullptr) throw std::bad_alloc();

  SplitMix random(SeedOf(identity));
  for (size_t at = 0; at < pool_bytes; at += sizeof(uint64_t)) StoreLittle(random.Next(), pool_.get() + at);
  AddChecksums(kStampedPageBytes);
  for (const uint64_t bytes : block_bytes) {
    const uint64_t rest = bytes % kStampedPageBytes;
    if (rest >= kStampBytes) AddChecksums(rest);
  }
}

void BlockSource::MakeReadBuffer() {
  // The pool has the windows, and behind them the largest block.
  const size_t bytes = (pages_ - PoolWalk::kWindows) * kStampedPageBytes;
  read_buffer_.reset(static_cast<std::byte*>(std::aligned_alloc(kStampedPageBytes, bytes)));
  if (read_buffer_ == nullptr) throw std::bad_alloc();
  // Touched now, so that no measured read waits for its pages.
  std::memset(read_buffer_.get(), 0, bytes);
}

void BlockSource::AddChecksums(uint64_t length) {
  for (const Checksums& known : checksums_) {
    if (known.length == length) return;
  }
  Checksums& added = checksums_.emplace_back();
  added.length = length;
  added.of_page.reserve(pages_);
  for (uint64_t page = 0; page < pages_; ++page) {
    added.of_page.push_back(
        PayloadChecksum({pool_.get() + page * kStampedPageBytes + kStampBytes, length - kStampBytes}));
  }
}

const std::vector<uint64_t>& BlockSource::ChecksumsOf(uint64_t length) const {
  for (const Checksums& known : checksums_) {
    if (known.length == length) return known.of_page;
  }
  std::abort();  // a size that the constructor did not get: a bug
}

void BlockSource::StartEpoch(uint32_t epoch, uint64_t block_bytes, uint64_t blocks_per_lap) {
  stamp_.epoch = epoch;
  block_bytes_ = block_bytes;
  walk_ = PoolWalk(epoch, PagesOf(block_bytes), blocks_per_lap);
  first_ = walk_;
}

const std::byte* BlockSource::AtPage(uint64_t sequence, uint64_t block_bytes, uint64_t lap, uint64_t page) {
  constexpr uint64_t kPrime = PoolWalk::kPrimes.front();
  return StampAt((first_.window() + lap + page) % kPrime, sequence, block_bytes);
}

const std::byte* BlockSource::NextOfSize(uint64_t sequence, uint64_t block_bytes) {
  return StampAt((sequence - 1) % PoolWalk::kWindows, sequence, block_bytes);
}

const std::byte* BlockSource::StampAt(uint64_t window, uint64_t sequence, uint64_t block_bytes) {
  stamp_.sequence = sequence;
  std::byte* const block = pool_.get() + window * kStampedPageBytes;
  const uint64_t full_pages = block_bytes / kStampedPageBytes;
  const std::vector<uint64_t>& checksums = checksums_.front().of_page;
  for (uint64_t page = 0; page < full_pages; ++page) {
    stamp_.page = static_cast<uint32_t>(page);
    WriteStamp(stamp_, checksums[window + page], block + page * kStampedPageBytes);
  }
  if (const uint64_t rest = block_bytes % kStampedPageBytes; rest >= kStampBytes) {
    stamp_.page = static_cast<uint32_t>(full_pages);
    WriteStamp(stamp_, ChecksumsOf(rest)[window + full_pages], block + full_pages * kStampedPageBytes);
  }
  return block;
}

}  // namespace plimsoll
