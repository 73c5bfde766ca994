// What every written page carries, so that a reader knows whose it is, whether it is whole, and which write made it.
//
// A page is 4 KiB, or the whole block where a block is smaller. Its first kStampBytes are the stamp, the rest is random
// bytes from a pool whose checksums are known beforehand, so that stamping costs no pass over the page.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll {

inline constexpr size_t kStampedPageBytes = 4096;
inline constexpr size_t kStampBytes = 64;

struct PageStamp {
  std::array<uint8_t, 16> run_token{};
  uint32_t host_index = 0;
  uint32_t qm = 0;
  uint32_t epoch = 0;     // step of the run; preparation is epoch 0, step s is epoch s + 1
  uint32_t page = 0;      // number of the page in its block
  uint64_t sequence = 0;  // number of the block in its epoch, from 1
  bool operator==(const PageStamp&) const = default;
};

// Checksum of a page's bytes behind the stamp. Done once for every pool page.
uint64_t PayloadChecksum(std::span<const std::byte> payload);

// Writes the stamp into the first kStampBytes of `page`. `payload_checksum` is PayloadChecksum of the rest of it. Some
// 10 ns.
void WriteStamp(const PageStamp& stamp, uint64_t payload_checksum, std::byte* page);

enum class StampState {
  kWhole,    // the checksum holds over stamp and payload
  kTorn,     // a stamp that is whole in itself over a payload that is not its own
  kForeign,  // no stamp of ours
};

// Reads the stamp of `page` into `stamp` (untouched where kForeign).
StampState ReadStamp(std::span<const std::byte> page, PageStamp& stamp);

}  // namespace plimsoll
