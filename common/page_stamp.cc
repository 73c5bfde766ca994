#include "common/page_stamp.h"

#include <bit>
#include <cstring>

#include "common/integers.h"

// Layout of a stamp; all integers little-endian:
//
//   offset  bytes
//        0      8  magic "PLIMPAGE"
//        8     16  run token
//       24      4  host index
//       28      4  queue manager
//       32      4  epoch
//       36      4  page
//       40      8  sequence
//       48      8  page checksum: of bytes 0 to 47 and the payload's checksum
//       56      8  stamp checksum: of bytes 0 to 55
//
// Every step of every checksum is a bijection in the word that it takes in: a change within one word is always noticed,
// any other with a chance of 1 - 2^-64. They guard against accidents, not against forgers. Devices write sectors of 512
// bytes or more whole, so a torn page keeps a stamp that is whole in itself.

namespace plimsoll {
namespace {

constexpr uint64_t kMagic = 0x454741504D494C50;  // "PLIMPAGE"
constexpr size_t kTokenAt = 8;
constexpr size_t kHostAt = 24;
constexpr size_t kQmAt = 28;
constexpr size_t kEpochAt = 32;
constexpr size_t kPageAt = 36;
constexpr size_t kSequenceAt = 40;
constexpr size_t kPageChecksumAt = 48;
constexpr size_t kStampChecksumAt = 56;

// Odd constants without pattern (digits of the golden ratio and of xxHash's primes).
constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;
constexpr uint64_t kSeedA = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kSeedB = 0x165667B19E3779F9;
constexpr uint64_t kSeedC = 0x27D4EB2F165667C5;
constexpr uint64_t kSeedD = 0x85EBCA77C2B2AE63;

// Takes one word in: a bijection in `word` and in `state`.
uint64_t Absorb(uint64_t state, uint64_t word) {
  return (std::rotl(state, 29) ^ word) * kMultiplier;
}

// Spreads every bit over all others: the finalizer of MurmurHash3, a bijection.
uint64_t Spread(uint64_t x) {
  x = (x ^ (x >> 33U)) * 0xFF51AFD7ED558CCD;
  x = (x ^ (x >> 33U)) * 0xC4CEB9FE1A85EC53;
  return x ^ (x >> 33U);
}

uint64_t Word(const std::byte* from) {
  return LoadLittle<uint64_t>(from);
}

// Checksum of the bytes before the page checksum. Two chains, so that multiplications overlap.
uint64_t HeadChecksum(const std::byte* stamp) {
  uint64_t a = kSeedA;
  uint64_t b = kSeedB;
  for (size_t at = 0; at < kPageChecksumAt; at += 16) {
    a = Absorb(a, Word(stamp + at));
    b = Absorb(b, Word(stamp + at + 8));
  }
  return Spread(a ^ std::rotl(b, 32));
}

uint64_t PageChecksum(uint64_t head_checksum, uint64_t payload_checksum) {
  return Spread(Absorb(head_checksum, payload_checksum));
}

uint64_t StampChecksum(uint64_t head_checksum, uint64_t page_checksum) {
  return Spread(Absorb(~head_checksum, page_checksum));
}

}  // namespace

uint64_t PayloadChecksum(std::span<const std::byte> payload) {
  uint64_t a = kSeedA;
  uint64_t b = kSeedB;
  uint64_t c = kSeedC;
  uint64_t d = kSeedD;
  size_t at = 0;
  for (; at + 32 <= payload.size(); at += 32) {
    const std::byte* from = payload.data() + at;
    a = Absorb(a, Word(from));
    b = Absorb(b, Word(from + 8));
    c = Absorb(c, Word(from + 16));
    d = Absorb(d, Word(from + 24));
  }
  for (; at < payload.size(); at += 8) {
    std::byte padded[8] = {};
    const size_t left = payload.size() - at;
    std::memcpy(padded, payload.data() + at, left < 8 ? left : 8);
    a = Absorb(a, Word(padded));
  }
  // The length distinguishes a short payload from one that ends in zeros.
  uint64_t sum = Absorb(a, payload.size());
  sum = Absorb(Spread(sum), b);
  sum = Absorb(Spread(sum), c);
  return Spread(Absorb(Spread(sum), d));
}

void WriteStamp(const PageStamp& stamp, uint64_t payload_checksum, std::byte* page) {
  StoreLittle(kMagic, page);
  std::memcpy(page + kTokenAt, stamp.run_token.data(), stamp.run_token.size());
  StoreLittle(stamp.host_index, page + kHostAt);
  StoreLittle(stamp.qm, page + kQmAt);
  StoreLittle(stamp.epoch, page + kEpochAt);
  StoreLittle(stamp.page, page + kPageAt);
  StoreLittle(stamp.sequence, page + kSequenceAt);
  const uint64_t head = HeadChecksum(page);
  const uint64_t sum = PageChecksum(head, payload_checksum);
  StoreLittle(sum, page + kPageChecksumAt);
  StoreLittle(StampChecksum(head, sum), page + kStampChecksumAt);
}

StampState ReadStamp(std::span<const std::byte> page, PageStamp& stamp) {
  if (page.size() < kStampBytes || Word(page.data()) != kMagic) return StampState::kForeign;
  const std::byte* from = page.data();
  const uint64_t head = HeadChecksum(from);
  const uint64_t sum = Word(from + kPageChecksumAt);
  if (Word(from + kStampChecksumAt) != StampChecksum(head, sum)) return StampState::kForeign;
  std::memcpy(stamp.run_token.data(), from + kTokenAt, stamp.run_token.size());
  stamp.host_index = LoadLittle<uint32_t>(from + kHostAt);
  stamp.qm = LoadLittle<uint32_t>(from + kQmAt);
  stamp.epoch = LoadLittle<uint32_t>(from + kEpochAt);
  stamp.page = LoadLittle<uint32_t>(from + kPageAt);
  stamp.sequence = LoadLittle<uint64_t>(from + kSequenceAt);
  const bool own = sum == PageChecksum(head, PayloadChecksum(page.subspan(kStampBytes)));
  return own ? StampState::kWhole : StampState::kTorn;
}

}  // namespace plimsoll
