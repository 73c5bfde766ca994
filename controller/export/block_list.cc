#include "controller/export/block_list.h"

namespace plimsoll {
namespace {

// Bits of a block's first byte.
constexpr uint8_t kWarmup = 1;
constexpr uint8_t kOtherStep = 2;
constexpr uint8_t kOtherSeq = 4;

void PutVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>(static_cast<uint8_t>(value | 0x80U)));
  out.push_back(static_cast<char>(static_cast<uint8_t>(value)));
}

uint64_t GetVarint(const std::string& coded, size_t& at) {
  uint64_t value = 0;
  for (uint32_t shift = 0;; shift += 7) {
    const auto group = static_cast<uint8_t>(coded[at++]);
    value |= uint64_t{group & 0x7FU} << shift;
    if (group < 0x80) return value;
  }
}

}  // namespace

uint64_t BlockList::ExpectedSeq(const TraceBlock& last, const TraceBlock& block) {
  if (last.bytes == 0 || last.step != block.step) return 1;
  return last.first_seq == 0 ? 0 : last.first_seq + last.writes;
}

void BlockList::Append(const TraceBlock& block) {
  const bool other_step = last_.step != block.step;
  const bool other_seq = ExpectedSeq(last_, block) != block.first_seq;
  const unsigned flags = (block.warmup ? kWarmup : 0U) | (other_step ? kOtherStep : 0U) | (other_seq ? kOtherSeq : 0U);
  coded_.push_back(static_cast<char>(static_cast<uint8_t>(flags)));
  PutVarint(block.offset - (last_.offset + last_.bytes), coded_);
  PutVarint(block.bytes, coded_);
  PutVarint(block.writes, coded_);
  if (other_step) PutVarint(block.step, coded_);
  if (other_seq) PutVarint(block.first_seq, coded_);
  last_ = block;
}

bool BlockList::Reader::Next(TraceBlock& block) {
  const std::string& coded = list_.coded_;
  if (at_ == coded.size()) return false;
  const auto flags = static_cast<uint8_t>(coded[at_++]);
  block.warmup = (flags & kWarmup) != 0;
  block.offset = last_.offset + last_.bytes + GetVarint(coded, at_);
  block.bytes = static_cast<uint32_t>(GetVarint(coded, at_));
  block.writes = GetVarint(coded, at_);
  block.step = (flags & kOtherStep) != 0 ? static_cast<uint32_t>(GetVarint(coded, at_)) : last_.step;
  block.first_seq = (flags & kOtherSeq) != 0 ? GetVarint(coded, at_) : ExpectedSeq(last_, block);
  last_ = block;
  return true;
}

}  // namespace plimsoll
