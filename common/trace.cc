#include "common/trace.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/integers.h"
#include "common/status_macros.h"

// Format of a block. A varint is base 128, least significant group first, in its shortest form; zigzag maps 0, -1, 1,
// -2 ... to 0, 1, 2, 3 ...
//
//   version   1 byte: 1, plus 1 if the writes have several sizes, plus 2 if they have parts
//   count     varint, > 0
//   start     varint, zigzag: start_ns of the first write
//   sizes     only with several sizes: how many there are, 2 to 2,048, and each size in bytes, > 0; all varints
//   groups of 128 writes (the last one shorter), each two to four columns:
//     latencies of the group's writes
//     gaps of the group's writes: a write's start minus the end of the write before it. The block's first write has
//     none.
//     only with several sizes: sizes of the group's writes, by their places in the list: as many bits each as the last
//     place has; the bits that fill up the last byte are zero
//     only with parts: times of the group's write calls, each at most its write's latency
//
//   column    (nothing at all where it has no value)
//     width       1 byte: bits of a packed value, 8 to 64 for latencies, 0 to 64 for the others
//     exceptions  1 byte: how many values do not fit in that
//     reference   varint (gaps: zigzag): the smallest value of the column
//     packed      the low `width` bits of every value minus the reference, least significant bit first; the bits that
//                 fill up the last byte are zero
//     patches     per exception, in the order of their places: place in the column (1 byte), then what is above the low
//                 bits (varint, > 0)
//
// Gaps are taken modulo 2^64, so that every start and latency of 64 bits can be encoded. A latency takes a byte at
// least: a block of n bytes holds at most n writes, however it was made. There is no checksum: the carrier of blocks
// has its own.

namespace plimsoll {
namespace {

constexpr uint32_t kPlainVersion = 1;
// Flags added to kPlainVersion.
constexpr uint32_t kSeveralSizes = 1;
constexpr uint32_t kParts = 2;
constexpr uint32_t kLastVersion = kPlainVersion + kSeveralSizes + kParts;
constexpr uint64_t kMostSizes = 2048;
constexpr size_t kGroup = 128;
constexpr uint32_t kMinLatencyBits = 8;

using Column = std::array<uint64_t, kGroup>;
// A packed column and what unaligned loads may read beyond it.
using PackedBytes = std::array<uint8_t, kGroup * 8 + 16>;

uint32_t BitsOf(uint64_t value) {
  return static_cast<uint32_t>(64 - std::countl_zero(value));
}

uint64_t LowMask(uint32_t bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

size_t VarintBytes(uint32_t bits) {
  return bits == 0 ? 1 : (bits + 6) / 7;
}

size_t PackedSize(size_t count, uint32_t width) {
  return (count * width + 7) / 8;
}

uint64_t ZigZag(uint64_t value) {
  return (value << 1U) ^ (uint64_t{0} - (value >> 63U));
}

uint64_t UnZigZag(uint64_t coded) {
  return (coded >> 1U) ^ (uint64_t{0} - (coded & 1U));
}

// Order of signed numbers on unsigned ones, and back.
uint64_t FlipSign(uint64_t value) {
  return value ^ (uint64_t{1} << 63U);
}

void PutVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>(static_cast<uint8_t>(value | 0x80U)));
  out.push_back(static_cast<char>(static_cast<uint8_t>(value)));
}

// The width with the fewest bytes, exceptions included.
uint32_t BestWidth(const Column& deltas, size_t count, uint32_t least) {
  std::array<size_t, 65> with_bits{};
  for (size_t i = 0; i < count; ++i) ++with_bits[BitsOf(deltas[i])];
  uint32_t widest = 64;
  while (widest > least && with_bits[widest] == 0) --widest;
  uint32_t best = widest;
  size_t best_size = PackedSize(count, widest);
  for (uint32_t width = widest; width-- > least;) {
    size_t size = PackedSize(count, width);
    for (uint32_t bits = width + 1; bits <= widest; ++bits) size += with_bits[bits] * (1 + VarintBytes(bits - width));
    if (size < best_size) {
      best = width;
      best_size = size;
    }
  }
  return best;
}

void PutPacked(std::string& out, const Column& deltas, size_t count, uint32_t width) {
  PackedBytes bytes{};
  size_t bit = 0;
  for (size_t i = 0; i < count; ++i, bit += width) {
    const uint64_t value = deltas[i] & LowMask(width);
    uint8_t* to = bytes.data() + bit / 8;
    const auto shift = static_cast<uint32_t>(bit % 8);
    StoreLittle(LoadLittle<uint64_t>(to) | (value << shift), to);
    if (shift != 0 && shift + width > 64) to[8] = static_cast<uint8_t>(value >> (64 - shift));
  }
  out.append(reinterpret_cast<const char*>(bytes.data()), PackedSize(count, width));
}

// Puts a column whose smallest value, already coded, is `reference`; `deltas` is what the values are above it.
void PutColumn(std::string& out, const Column& deltas, size_t count, uint64_t reference, uint32_t least_width) {
  if (count == 0) return;
  const uint32_t width = BestWidth(deltas, count, least_width);
  const auto exceptions = std::count_if(deltas.begin(), deltas.begin() + static_cast<std::ptrdiff_t>(count),
                                        [width](uint64_t delta) { return BitsOf(delta) > width; });
  out.push_back(static_cast<char>(width));
  out.push_back(static_cast<char>(exceptions));
  PutVarint(out, reference);
  PutPacked(out, deltas, count, width);
  for (size_t i = 0; i < count; ++i) {
    if (BitsOf(deltas[i]) <= width) continue;
    out.push_back(static_cast<char>(i));
    PutVarint(out, deltas[i] >> width);
  }
}

// Reads a block from its beginning to its end. Every Read returns false where the block is not well made.
class BlockReader {
 public:
  explicit BlockReader(const std::string& block)
      : at_(reinterpret_cast<const uint8_t*>(block.data())), end_(at_ + block.size()) {}

  size_t left() const { return static_cast<size_t>(end_ - at_); }

  bool ReadByte(uint32_t& value) {
    if (at_ == end_) return false;
    value = *at_++;
    return true;
  }

  bool ReadVarint(uint64_t& value) {
    value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return false;
      const uint64_t group = *at_++;
      const uint64_t bits = group & 0x7FU;
      if (shift == 63 && bits > 1) return false;
      value |= bits << shift;
      // A last group of zero adds nothing: not the shortest form.
      if (group < 0x80) return bits != 0 || shift == 0;
    }
    return false;
  }

  // Reads `count` values of `width` bits each.
  bool ReadPlain(size_t count, uint32_t width, Column& values) { return ReadPacked(count, width, values); }

  // Reads `count` values, as what they are above the coded `reference`.
  bool ReadColumn(size_t count, uint32_t least_width, uint64_t& reference, Column& deltas) {
    reference = 0;
    if (count == 0) return true;
    uint32_t width = 0;
    uint32_t exceptions = 0;
    if (!ReadByte(width) || width < least_width || width > 64) return false;
    if (!ReadByte(exceptions) || exceptions > count || !ReadVarint(reference)) return false;
    return ReadPacked(count, width, deltas) && ReadPatches(count, width, exceptions, deltas);
  }

 private:
  bool ReadPacked(size_t count, uint32_t width, Column& deltas) {
    const size_t size = PackedSize(count, width);
    if (size > left()) return false;
    // Copied, so that loads of whole words stay inside.
    std::memcpy(packed_.data(), at_, size);
    std::memset(packed_.data() + size, 0, 16);
    at_ += size;
    const uint64_t mask = LowMask(width);
    size_t bit = 0;
    if (width <= 57) {
      for (size_t i = 0; i < count; ++i, bit += width) {
        deltas[i] = (LoadLittle<uint64_t>(packed_.data() + bit / 8) >> (bit % 8)) & mask;
      }
    } else {
      for (size_t i = 0; i < count; ++i, bit += width) {
        const uint8_t* from = packed_.data() + bit / 8;
        // Shifted in two steps: by 64 at once is not defined.
        const uint64_t above = (uint64_t{from[8]} << 1U) << (63 - bit % 8);
        deltas[i] = ((LoadLittle<uint64_t>(from) >> (bit % 8)) | above) & mask;
      }
    }
    return bit % 8 == 0 || (packed_[bit / 8] >> (bit % 8)) == 0;
  }

  bool ReadPatches(size_t count, uint32_t width, uint32_t exceptions, Column& deltas) {
    uint32_t least_place = 0;
    for (uint32_t i = 0; i < exceptions; ++i) {
      uint32_t place = 0;
      uint64_t above = 0;
      if (!ReadByte(place) || place < least_place || place >= count) return false;
      if (!ReadVarint(above) || above == 0 || BitsOf(above) + width > 64) return false;
      deltas[place] |= above << width;
      least_place = place + 1;
    }
    return true;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  PackedBytes packed_;
};

uint64_t Largest(const Column& deltas, size_t count) {
  uint64_t largest = 0;
  for (size_t i = 0; i < count; ++i) largest = std::max(largest, deltas[i]);
  return largest;
}

bool ReadSizes(BlockReader& reader, std::vector<uint64_t>& sizes_bytes) {
  uint64_t count = 0;
  if (!reader.ReadVarint(count) || count < 2 || count > kMostSizes) return false;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bytes = 0;
    if (!reader.ReadVarint(bytes) || bytes == 0) return false;
    sizes_bytes.push_back(bytes);
  }
  return true;
}

// Reads all of the block. The vector is the caller's, who removes what was appended where this returns false.
bool Decode(const std::string& block, std::vector<TracedWrite>& writes) {
  BlockReader reader(block);
  uint32_t version = 0;
  uint64_t count = 0;
  uint64_t coded_start = 0;
  if (!reader.ReadByte(version) || version < kPlainVersion || version > kLastVersion) return false;
  const uint32_t with = version - kPlainVersion;
  const bool parts = (with & kParts) != 0;
  if (!reader.ReadVarint(count) || count == 0 || count > reader.left()) return false;
  if (!reader.ReadVarint(coded_start)) return false;
  std::vector<uint64_t> sizes_bytes;
  if ((with & kSeveralSizes) != 0 && !ReadSizes(reader, sizes_bytes)) return false;
  const uint32_t size_bits = sizes_bytes.empty() ? 0 : BitsOf(sizes_bytes.size() - 1);

  Column latencies;
  Column gaps;
  Column sizes{};
  Column calls{};
  uint64_t start = UnZigZag(coded_start);
  uint64_t latency = 0;
  // At least doubled: many blocks are appended to one vector.
  if (const size_t wanted = writes.size() + count; wanted > writes.capacity()) {
    writes.reserve(std::max<size_t>(wanted, 2 * writes.size()));
  }
  for (size_t done = 0; done < count; done += kGroup) {
    const size_t group = std::min<size_t>(kGroup, count - done);
    const size_t without_gap = done == 0 ? 1 : 0;
    uint64_t least_latency = 0;
    uint64_t coded_gap = 0;
    if (!reader.ReadColumn(group, kMinLatencyBits, least_latency, latencies)) return false;
    if (!reader.ReadColumn(group - without_gap, 0, coded_gap, gaps)) return false;
    if (Largest(latencies, group) > UINT64_MAX - least_latency) return false;
    const uint64_t least_gap = UnZigZag(coded_gap);
    if (Largest(gaps, group - without_gap) > UINT64_MAX - FlipSign(least_gap)) return false;
    if (size_bits > 0) {
      if (!reader.ReadPlain(group, size_bits, sizes) || Largest(sizes, group) >= sizes_bytes.size()) return false;
    }
    uint64_t least_call = 0;
    if (parts) {
      if (!reader.ReadColumn(group, 0, least_call, calls)) return false;
      if (Largest(calls, group) > UINT64_MAX - least_call) return false;
    }
    for (size_t i = 0; i < group; ++i) {
      if (done + i > 0) {
        const uint64_t next = start + latency + least_gap + gaps[i - without_gap];
        if (static_cast<int64_t>(next) < static_cast<int64_t>(start)) return false;
        start = next;
      }
      latency = least_latency + latencies[i];
      const uint64_t call = least_call + calls[i];
      if (parts && call > std::min<uint64_t>(latency, INT64_MAX)) return false;
      writes.push_back({static_cast<int64_t>(start), latency, size_bits > 0 ? sizes_bytes[sizes[i]] : 0,
                        parts ? static_cast<int64_t>(call) : -1});
    }
  }
  return reader.left() == 0;
}

}  // namespace

std::string TraceEncoder::Finish() {
  std::string block;
  if (writes_.empty()) return block;
  block.reserve(24 + writes_.size() * 5);
  const bool one_size = sizes_bytes_.size() < 2;
  block.push_back(static_cast<char>(kPlainVersion + (one_size ? 0 : kSeveralSizes) + (parts_ ? kParts : 0)));
  PutVarint(block, writes_.size());
  PutVarint(block, ZigZag(static_cast<uint64_t>(writes_.front().start_ns)));
  if (!one_size) {
    PutVarint(block, sizes_bytes_.size());
    for (const uint64_t bytes : sizes_bytes_) PutVarint(block, bytes);
  }
  Column latencies;
  Column gaps;
  for (size_t done = 0; done < writes_.size(); done += kGroup) {
    const size_t group = std::min(kGroup, writes_.size() - done);
    const size_t without_gap = done == 0 ? 1 : 0;
    uint64_t least_latency = UINT64_MAX;
    uint64_t least_gap = UINT64_MAX;  // with its sign flipped
    for (size_t i = 0; i < group; ++i) {
      const Entry& write = writes_[done + i];
      latencies[i] = write.latency_ns;
      least_latency = std::min(least_latency, write.latency_ns);
      if (i < without_gap) continue;
      const Entry& before = writes_[done + i - 1];
      const uint64_t end = static_cast<uint64_t>(before.start_ns) + before.latency_ns;
      gaps[i - without_gap] = FlipSign(static_cast<uint64_t>(write.start_ns) - end);
      least_gap = std::min(least_gap, gaps[i - without_gap]);
    }
    for (size_t i = 0; i < group; ++i) latencies[i] -= least_latency;
    for (size_t i = 0; i < group - without_gap; ++i) gaps[i] -= least_gap;
    PutColumn(block, latencies, group, least_latency, kMinLatencyBits);
    PutColumn(block, gaps, group - without_gap, ZigZag(FlipSign(least_gap)), 0);
    if (!one_size) {
      Column sizes;
      for (size_t i = 0; i < group; ++i) sizes[i] = writes_[done + i].size;
      PutPacked(block, sizes, group, BitsOf(sizes_bytes_.size() - 1));
    }
    if (!parts_) continue;
    Column calls;
    uint64_t least_call = UINT64_MAX;
    for (size_t i = 0; i < group; ++i) {
      calls[i] = write_calls_ns_[done + i];
      least_call = std::min(least_call, calls[i]);
    }
    for (size_t i = 0; i < group; ++i) calls[i] -= least_call;
    PutColumn(block, calls, group, least_call, 0);
  }
  writes_.clear();
  write_calls_ns_.clear();
  return block;
}

absl::Status DecodeTrace(const std::string& block, std::vector<TracedWrite>& writes) {
  if (block.empty()) return absl::OkStatus();
  const size_t before = writes.size();
  if (Decode(block, writes)) return absl::OkStatus();
  writes.resize(before);
  return absl::InvalidArgumentError("trace block: not well made (cut off, damaged, or of another version)");
}

TraceMerge::TraceMerge(std::vector<Writer> writers) : losers_(writers.size()) {
  std::sort(writers.begin(), writers.end(),
            [](const Writer& a, const Writer& b) { return std::tie(a.host, a.qm) < std::tie(b.host, b.qm); });
  for (Writer& writer : writers) lanes_.push_back({writer, {}, 0, INT64_MIN});
}

absl::Status TraceMerge::Refill(Lane& lane) {
  lane.at = 0;
  PLIMSOLL_RETURN_IF_ERROR(lane.writer.source->Next(lane.piece));
  for (const TracedWrite& write : lane.piece) {
    if (write.start_ns < lane.last_start_ns) {
      return absl::InvalidArgumentError(absl::StrCat("trace of host ", lane.writer.host, " qm ", lane.writer.qm,
                                                     " goes back from ", lane.last_start_ns, " to ", write.start_ns,
                                                     " ns"));
    }
    lane.last_start_ns = write.start_ns;
  }
  return absl::OkStatus();
}

TraceMerge::Head TraceMerge::HeadOf(size_t lane) const {
  const Lane& from = lanes_[lane];
  if (from.at == from.piece.size()) return {INT64_MAX, lane + lanes_.size()};
  return {from.piece[from.at].start_ns, lane};
}

// Plays all matches below a node; the loser stays there, the winner is returned.
TraceMerge::Head TraceMerge::Play(size_t node) {
  if (node >= lanes_.size()) return HeadOf(node - lanes_.size());
  Head a = Play(2 * node);
  Head b = Play(2 * node + 1);
  if (Before(b, a)) std::swap(a, b);
  losers_[node] = b;
  return a;
}

absl::Status TraceMerge::Begin() {
  for (Lane& lane : lanes_) PLIMSOLL_RETURN_IF_ERROR(Refill(lane));
  winner_ = Play(1);
  begun_ = true;
  return absl::OkStatus();
}

absl::Status TraceMerge::Next(size_t most, std::vector<MergedWrite>& merged) {
  PLIMSOLL_RETURN_IF_ERROR(failed_);
  if (lanes_.empty()) return absl::OkStatus();
  if (!begun_) PLIMSOLL_RETURN_IF_ERROR(failed_ = Begin());
  for (; most > 0 && winner_.rank < lanes_.size(); --most) {
    const size_t won = winner_.rank;
    Lane& lane = lanes_[won];
    merged.push_back({lane.piece[lane.at], lane.writer.host, lane.writer.qm});
    if (++lane.at == lane.piece.size()) PLIMSOLL_RETURN_IF_ERROR(failed_ = Refill(lane));
    Head head = HeadOf(won);
    for (size_t node = (won + lanes_.size()) / 2; node > 0; node /= 2) {
      if (Before(losers_[node], head)) std::swap(losers_[node], head);
    }
    winner_ = head;
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
