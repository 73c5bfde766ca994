#include "controller/export/write_stream.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/trace.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// Errors beyond 36 years are all one: sums stay within 64 bits.
constexpr int64_t kMaxErrorNs = int64_t{1} << 60;
// For the divisions, which round down.
constexpr int64_t kRoundingNs = 2;

}  // namespace

MomentMap::MomentMap(const Timeline& timeline, uint32_t host, int64_t offset_ns)
    : timeline_(timeline), host_(host), offset_ns_(offset_ns) {
  known_ = timeline.ToTimeline(host, 0).has_value();
  // The slack is of the host's time; the slew refers to the timeline's.
  const double slew = timeline.max_slew_ppm() / 1e6;
  slack_ns_ = static_cast<int64_t>(std::ceil(static_cast<double>(kCellNs) * slew / (1 - slew)));
}

MappedMoment MomentMap::BeginOf(int64_t number) {
  const Cell& before = Slot(number - 1);
  if (before.number == number - 1) return before.end;
  return timeline_.ToTimeline(host_, number << kCellBits).value_or(MappedMoment{});
}

const MomentMap::Cell& MomentMap::Fill(int64_t number) {
  const MappedMoment from = BeginOf(number);
  const MappedMoment to = timeline_.ToTimeline(host_, (number + 1) << kCellBits).value_or(MappedMoment{});
  Cell& cell = Slot(number);
  cell.end = to;
  cell.number = number;
  cell.from_ns = from.local_ns;
  cell.length_ns = to.local_ns - from.local_ns;
  // What each end's bound is at the other one: as far away as the cell is long, and wider by the slack.
  const int64_t from_error_ns = std::min(from.error_ns, kMaxErrorNs);
  const int64_t to_error_ns = std::min(to.error_ns, kMaxErrorNs);
  const int64_t astray_ns = std::abs(cell.length_ns - kCellNs) + slack_ns_;
  cell.error_ns = std::max(from_error_ns, to_error_ns + astray_ns) + kRoundingNs;
  cell.error_growth_ns = std::max(to_error_ns, from_error_ns + astray_ns) + kRoundingNs - cell.error_ns;
  return cell;
}

namespace {

// Writes that are merged at a time.
constexpr size_t kBatch = 4096;

// The block as it was when the journal was indexed, or the journal has changed since.
absl::Status Unpack(const std::string& packed, const TraceBlock& block, const std::string& name,
                    std::vector<TracedWrite>& writes) {
  writes.clear();
  const absl::Status decoded = DecodeTrace(packed, writes);
  if (decoded.ok() && writes.size() == block.writes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the journal changed while it was read: the trace of ", name, " at byte ",
                                          FormatCount(block.offset), " is another one"));
}

// Whether one operation of a writer came before another one. A writer's operations do not overlap: of two with the same
// start the shorter one came first.
bool IsBefore(const TracedWrite& one, const TracedWrite& other) {
  return std::tie(one.start_ns, one.latency_ns) < std::tie(other.start_ns, other.latency_ns);
}

}  // namespace

WriterTrace::WriterTrace(const RunIndex& index, uint32_t writer, const WriteFilter& filter, const JournalParts& journal,
                         MomentMap& moments)
    : index_(index),
      writer_(writer),
      filter_(filter),
      name_(index.NameOf(index.writers()[writer])),
      journal_(journal),
      moments_(moments),
      main_(index.writers()[writer].blocks),
      reads_(index.writers()[writer].read_blocks) {}

absl::Status WriterTrace::Fill(Lane& lane) {
  if (!lane.empty()) return absl::OkStatus();
  lane.writes.clear();
  lane.at = 0;
  do {
    if (!lane.blocks.Next(lane.block)) return absl::OkStatus();
  } while (!filter_.Takes(lane.block));
  PLIMSOLL_RETURN_IF_ERROR(journal_.Read(lane.block.offset, lane.block.bytes, packed_));
  return Unpack(packed_, lane.block, name_, lane.writes);
}

absl::Status WriterTrace::Next(std::vector<TracedWrite>& writes) {
  writes.clear();
  PLIMSOLL_RETURN_IF_ERROR(Fill(main_));
  PLIMSOLL_RETURN_IF_ERROR(Fill(reads_));
  if (main_.empty() && reads_.empty()) return absl::OkStatus();
  const bool of_reads = main_.empty() || (!reads_.empty() && IsBefore(reads_.next(), main_.next()));
  Lane& lane = of_reads ? reads_ : main_;
  const Lane& other = of_reads ? main_ : reads_;
  size_t end = lane.at + 1;
  const auto is_next = [&](const TracedWrite& write) {
    if (other.empty()) return true;
    return of_reads ? IsBefore(write, other.next()) : !IsBefore(other.next(), write);
  };
  while (end < lane.writes.size() && is_next(lane.writes[end])) ++end;

  const TraceBlock& block = lane.block;
  Piece& piece = pieces_.emplace_back();
  piece.step = block.step;
  piece.warmup = block.warmup;
  piece.read = of_reads || index_.IsRead(block.step, kMainOperation);
  piece.block_bytes = index_.BlockBytesOf(index_.writers()[writer_], block.step);
  piece.next_seq = block.first_seq == 0 ? 0 : block.first_seq + lane.at;
  piece.left = end - lane.at;
  if (piece.left == lane.writes.size()) {
    writes.swap(lane.writes);
  } else {
    const auto begin = lane.writes.begin();
    writes.assign(begin + static_cast<std::ptrdiff_t>(lane.at), begin + static_cast<std::ptrdiff_t>(end));
    lane.at = end;
  }
  for (TracedWrite& write : writes) {
    const MomentMap::Moment moment = moments_.Map(write.start_ns);
    int64_t start_ns = moment.timeline_ns;
    int64_t error_ns = moment.error_ns;
    if (start_ns < last_start_ns_) {
      ++moved_;
      if (error_ns >= 0) error_ns += last_start_ns_ - start_ns;
      start_ns = last_start_ns_;
    }
    last_start_ns_ = start_ns;
    write.start_ns = start_ns;
    errors_ns_.push_back(error_ns);
  }
  return absl::OkStatus();
}

ExportedWrite WriterTrace::Take(const TracedWrite& write) {
  Piece& piece = pieces_.front();
  ExportedWrite exported;
  exported.writer = writer_;
  exported.step = piece.step;
  exported.warmup = piece.warmup;
  exported.read = piece.read;
  exported.start_ns = write.start_ns;
  exported.error_ns = errors_ns_.front();
  errors_ns_.pop_front();
  exported.latency_ns = write.latency_ns;
  exported.write_call_ns = write.write_call_ns;
  exported.bytes = write.bytes > 0 ? write.bytes : piece.block_bytes;
  exported.seq = piece.next_seq;
  if (piece.next_seq != 0) ++piece.next_seq;
  if (--piece.left == 0) pieces_.pop_front();
  return exported;
}

WriteStream::WriteStream(const RunIndex& index, const WriteFilter& filter, JournalParts journal)
    : index_(index), filter_(filter), journal_(std::move(journal)) {
  std::vector<TraceMerge::Writer> lanes;
  for (uint32_t place = 0; place < index.writers().size(); ++place) {
    const IndexedWriter& writer = index.writers()[place];
    traces_.push_back(std::make_unique<WriterTrace>(index, place, filter, journal_, MomentsOf(writer.host)));
    // By place, which is the order of (host, qm): the merged writes then name it.
    lanes.push_back({place, writer.qm, traces_.back().get()});
  }
  merge_ = std::make_unique<TraceMerge>(std::move(lanes));
}

absl::StatusOr<std::unique_ptr<WriteStream>> WriteStream::Open(const RunIndex& index, const WriteFilter& filter) {
  PLIMSOLL_ASSIGN_OR_RETURN(JournalParts journal, JournalParts::Open(index.journal_path()));
  return std::unique_ptr<WriteStream>(new WriteStream(index, filter, std::move(journal)));
}

MomentMap& WriteStream::MomentsOf(uint32_t host) {
  std::unique_ptr<MomentMap>& moments = moments_[host];
  if (!moments) moments = std::make_unique<MomentMap>(index_.timeline(), host, index_.ArmedOffsetNs(host));
  return *moments;
}

absl::Status WriteStream::Next(std::vector<ExportedWrite>& writes) {
  writes.clear();
  merged_.clear();
  PLIMSOLL_RETURN_IF_ERROR(merge_->Next(kBatch, merged_));
  writes.reserve(merged_.size());
  for (const MergedWrite& merged : merged_) writes.push_back(traces_[merged.host]->Take(merged.write));
  return absl::OkStatus();
}

absl::Status WriteStream::ForWriter(uint32_t writer, const std::function<absl::Status(const ExportedWrite&)>& visit) {
  WriterTrace trace(index_, writer, filter_, journal_, MomentsOf(index_.writers()[writer].host));
  std::vector<TracedWrite> writes;
  while (true) {
    PLIMSOLL_RETURN_IF_ERROR(trace.Next(writes));
    if (writes.empty()) break;
    for (const TracedWrite& write : writes) PLIMSOLL_RETURN_IF_ERROR(visit(trace.Take(write)));
  }
  moved_alone_ += trace.moved();
  return absl::OkStatus();
}

uint64_t WriteStream::moved() const {
  uint64_t moved = moved_alone_;
  for (const auto& trace : traces_) moved += trace->moved();
  return moved;
}

}  // namespace plimsoll
