#include "agent/ha/log_pages.h"

#include <algorithm>

#include "agent/writer/log_files.h"

namespace plimsoll {
namespace {

using State = BlockFinding::State;

// Whether the stamp is that of a page at this place. Pages of epoch 0 came in chunks (LogFiles::Prepare), all others in
// blocks.
bool BelongsHere(const LogShape& shape, uint64_t place, uint32_t page, const PageStamp& stamp) {
  if (stamp.run_token != shape.run_token || stamp.qm != shape.qm || stamp.sequence == 0) return false;
  if (stamp.epoch > 0) return shape.PlaceOf(stamp.sequence) == place && stamp.page == page;
  const BlockPlace at = shape.layout().PlaceOf(place);
  const uint64_t offset = at.offset_bytes + uint64_t{page} * kStampedPageBytes;
  const uint64_t chunks = (shape.file_size_bytes + LogFiles::kChunkBytes - 1) / LogFiles::kChunkBytes;
  return stamp.sequence == at.extent * chunks + offset / LogFiles::kChunkBytes + 1 &&
         stamp.page == offset % LogFiles::kChunkBytes / kStampedPageBytes;
}

bool SameWrite(const PageStamp& a, const PageStamp& b) {
  if (a.epoch != b.epoch || a.host_index != b.host_index) return false;
  // Several chunks may fill one block.
  return a.epoch == 0 || a.sequence == b.sequence;
}

v1::HaFaultyBlock::Kind KindOfState(State state) {
  switch (state) {
    case State::kTorn:
      return v1::HaFaultyBlock::KIND_TORN;
    case State::kUnstamped:
      return v1::HaFaultyBlock::KIND_UNSTAMPED;
    case State::kMisplaced:
      return v1::HaFaultyBlock::KIND_MISPLACED;
    case State::kMixed:
      return v1::HaFaultyBlock::KIND_MIXED;
    default:
      return v1::HaFaultyBlock::KIND_UNSPECIFIED;
  }
}

}  // namespace

BlockFinding JudgeBlock(const LogShape& shape, uint64_t place, std::span<const std::byte> block) {
  BlockFinding finding;
  finding.state = State::kWritten;
  PageStamp first;
  const auto fault = [&finding](State state, uint32_t page, const PageStamp& stamp) {
    if (finding.faulty()) return;
    finding.state = state;
    finding.page = page;
    finding.stamp = stamp;
  };
  const auto pages = static_cast<uint32_t>(shape.pages_per_block());
  for (uint32_t page = 0; page < pages; ++page) {
    PageStamp stamp;
    const StampState state = ReadStamp(block.subspan(page * kStampedPageBytes, kStampedPageBytes), stamp);
    if (page == 0) first = stamp;
    if (state == StampState::kForeign) {
      ++finding.unstamped_pages;
      fault(State::kUnstamped, page, {});
    } else if (state == StampState::kTorn) {
      ++finding.torn_pages;
      fault(State::kTorn, page, stamp);
    } else if (!BelongsHere(shape, place, page, stamp)) {
      ++finding.misplaced_pages;
      fault(State::kMisplaced, page, stamp);
    } else if (page > 0 && !SameWrite(first, stamp)) {
      fault(State::kMixed, page, stamp);
    }
  }
  if (finding.faulty()) return finding;
  finding.stamp = first;
  if (first.epoch == 0) finding.state = State::kFilled;
  return finding;
}

void LogFaults::AddFaulty(uint64_t place, uint64_t sequence, const BlockFinding& finding) {
  faults_.set_torn_pages(faults_.torn_pages() + finding.torn_pages);
  faults_.set_unstamped_pages(faults_.unstamped_pages() + finding.unstamped_pages);
  faults_.set_misplaced_pages(faults_.misplaced_pages() + finding.misplaced_pages);
  if (finding.state == State::kMixed) faults_.set_mixed_blocks(faults_.mixed_blocks() + 1);
  Keep(KindOfState(finding.state), place, sequence, finding);
}

void LogFaults::AddWrong(v1::HaFaultyBlock::Kind kind, uint64_t sequence, const BlockFinding& finding) {
  if (kind == v1::HaFaultyBlock::KIND_MISSING) {
    faults_.set_missing_blocks(faults_.missing_blocks() + 1);
  } else {
    faults_.set_epoch_reversals(faults_.epoch_reversals() + 1);
  }
  Keep(kind, shape_.PlaceOf(sequence), sequence, finding);
}

void LogFaults::Keep(v1::HaFaultyBlock::Kind kind, uint64_t place, uint64_t sequence, const BlockFinding& finding) {
  if (faults_.blocks_size() >= kMostBlocks) {
    faults_.set_left_out(faults_.left_out() + 1);
    return;
  }
  const BlockPlace at = shape_.layout().PlaceOf(place);
  v1::HaFaultyBlock& block = *faults_.add_blocks();
  block.set_kind(kind);
  block.set_sequence(sequence);
  block.set_extent(at.extent);
  block.set_offset_bytes(at.offset_bytes);
  block.set_page(finding.page);
  block.set_found_epoch(finding.stamp.epoch);
  block.set_found_sequence(finding.stamp.epoch == 0 ? 0 : finding.stamp.sequence);
  block.set_found_host_index(finding.stamp.host_index);
}

LogReplay::LogReplay(const LogShape& shape, uint64_t checkpoint_sequence)
    : shape_(shape),
      checkpoint_sequence_(checkpoint_sequence),
      look_ahead_(std::clamp<uint64_t>(kLookAheadBytes / shape.block_bytes, 16, kLookAheadBlocks)),
      faults_(shape),
      next_(checkpoint_sequence + 1),
      last_sequence_(checkpoint_sequence) {}

void LogReplay::Take(std::span<const std::byte> block) {
  const BlockFinding finding = JudgeBlock(shape_, shape_.PlaceOf(next_), block);
  pages_checked_ += shape_.pages_per_block();
  const bool continues =
      finding.state == State::kWritten && finding.stamp.sequence == next_ && finding.stamp.epoch >= last_epoch_;
  if (continues) {
    TakePendingAsFaults();
    last_sequence_ = next_;
    last_epoch_ = finding.stamp.epoch;
  } else {
    pending_.push_back({next_, finding});
  }
  const bool lap_done = next_ - checkpoint_sequence_ >= shape_.blocks_per_lap();
  if (lap_done || pending_.size() >= look_ahead_) {
    Finish();
  } else {
    ++next_;
  }
}

void LogReplay::TakePendingAsFaults() {
  for (const Pending& block : pending_) {
    if (block.finding.faulty()) {
      faults_.AddFaulty(shape_.PlaceOf(block.sequence), block.sequence, block.finding);
    } else {
      const bool reversed = block.finding.state == State::kWritten && block.finding.stamp.sequence == block.sequence;
      faults_.AddWrong(reversed ? v1::HaFaultyBlock::KIND_EPOCH_REVERSED : v1::HaFaultyBlock::KIND_MISSING,
                       block.sequence, block.finding);
    }
  }
  pending_.clear();
}

void LogReplay::Finish() {
  // Whole blocks behind the end are an earlier lap's, or were there before an earlier takeover.
  for (const Pending& block : pending_) {
    if (block.finding.faulty()) faults_.AddFaulty(shape_.PlaceOf(block.sequence), block.sequence, block.finding);
  }
  pending_.clear();
  next_ = 0;
}

LogReadBack::LogReadBack(const LogShape& shape, uint64_t first_sequence)
    : shape_(shape), faults_(shape), next_(first_sequence) {
  read_.set_first_sequence(first_sequence);
}

void LogReadBack::Take(std::span<const std::byte> block) {
  const uint64_t sequence = next_++;
  const BlockFinding finding = JudgeBlock(shape_, shape_.PlaceOf(sequence), block);
  if (finding.faulty()) return faults_.AddFaulty(shape_.PlaceOf(sequence), sequence, finding);
  if (finding.state != State::kWritten || finding.stamp.sequence != sequence) {
    return faults_.AddWrong(v1::HaFaultyBlock::KIND_MISSING, sequence, finding);
  }
  if (!read_.ranges().empty()) {
    v1::HaReadRange& last = *read_.mutable_ranges(read_.ranges_size() - 1);
    if (last.epoch() == finding.stamp.epoch && last.first_sequence() + last.blocks() == sequence) {
      return last.set_blocks(last.blocks() + 1);
    }
  }
  v1::HaReadRange& range = *read_.add_ranges();
  range.set_epoch(finding.stamp.epoch);
  range.set_first_sequence(sequence);
  range.set_blocks(1);
}

v1::HaReadBack LogReadBack::Finish() {
  read_.set_last_sequence(next_ - 1);
  *read_.mutable_faults() = faults_.faults();
  return read_;
}

void LogScan::Take(std::span<const std::byte> block) {
  const uint64_t place = place_++;
  const BlockFinding finding = JudgeBlock(shape_, place, block);
  scanned_.set_pages_checked(scanned_.pages_checked() + shape_.pages_per_block());
  if (finding.faulty()) {
    faults_.AddFaulty(place, 0, finding);
    return;
  }
  const BlockPlace at = shape_.layout().PlaceOf(place);
  const PageStamp& stamp = finding.stamp;
  const uint64_t sequence = stamp.epoch == 0 ? 0 : stamp.sequence;
  if (growing_until_ == place) {
    v1::HaLogRange& last = *scanned_.mutable_ranges(scanned_.ranges_size() - 1);
    const bool follows = stamp.epoch == 0 || sequence == last.first_sequence() + last.blocks();
    if (last.extent() == at.extent && last.epoch() == stamp.epoch && last.host_index() == stamp.host_index && follows) {
      last.set_blocks(last.blocks() + 1);
      growing_until_ = place + 1;
      return;
    }
  }
  if (scanned_.ranges_size() >= kMostRanges) {
    scanned_.set_ranges_left_out(true);
    growing_until_.reset();
    return;
  }
  v1::HaLogRange& range = *scanned_.add_ranges();
  range.set_first_place(place);
  range.set_extent(at.extent);
  range.set_offset_bytes(at.offset_bytes);
  range.set_blocks(1);
  range.set_epoch(stamp.epoch);
  range.set_first_sequence(sequence);
  range.set_host_index(stamp.host_index);
  growing_until_ = place + 1;
}

v1::HaScanned LogScan::Finish() {
  *scanned_.mutable_faults() = faults_.faults();
  return scanned_;
}

}  // namespace plimsoll
