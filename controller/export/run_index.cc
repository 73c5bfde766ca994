#include "controller/export/run_index.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/histogram.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/report/main_operation.h"
#include "controller/report/watched.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Calls `visit` before the contents of every field `number` that has a length; it must read them to their end. Returns
// false where the message is not well formed.
bool EachOf(CodedInputStream& in, int number, const std::function<bool(uint32_t bytes)>& visit) {
  const uint32_t wanted = WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  while (const uint32_t tag = in.ReadTag()) {
    uint32_t bytes = 0;
    if (tag != wanted) {
      if (!WireFormatLite::SkipField(&in, tag)) return false;
      continue;
    }
    if (!in.ReadVarint32(&bytes)) return false;
    const CodedInputStream::Limit limit = in.PushLimit(static_cast<int>(bytes));
    if (!visit(bytes) || in.BytesUntilLimit() != 0) return false;
    in.PopLimit(limit);
  }
  return in.ConsumedEntireMessage();
}

}  // namespace

std::vector<PayloadPart> FindTraceBlocks(const std::string& payload) {
  std::vector<PayloadPart> places;
  CodedInputStream in(reinterpret_cast<const uint8_t*>(payload.data()), static_cast<int>(payload.size()));
  const auto block = [&](uint32_t bytes) {
    places.push_back({static_cast<uint64_t>(in.CurrentPosition()), bytes});
    return in.Skip(static_cast<int>(bytes));
  };
  const auto frame = [&](uint32_t /*bytes*/) { return EachOf(in, v1::Frame::kTraceFieldNumber, block); };
  const auto frames = [&](uint32_t /*bytes*/) { return EachOf(in, v1::HostFrames::kFramesFieldNumber, frame); };
  EachOf(in, v1::JournalRecord::kFramesFieldNumber, frames);
  return places;
}

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

namespace {

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

// Sums over the blocks of a frame.
struct Figures {
  uint64_t writes = 0;
  Uint128 sum_ns = 0;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
  // 0 where the blocks do not say sizes.
  Uint128 bytes = 0;
};

absl::Status AddBlock(const std::vector<TracedWrite>& writes, Figures& figures) {
  for (const TracedWrite& write : writes) {
    if (!IsSaneMoment(write.start_ns) || write.latency_ns > static_cast<uint64_t>(kMaxMomentNs)) {
      return Bad("a trace with a moment that no clock shows");
    }
    figures.sum_ns += write.latency_ns;
    figures.min_ns = std::min(figures.min_ns, write.latency_ns);
    figures.max_ns = std::max(figures.max_ns, write.latency_ns);
    figures.bytes += write.bytes;
  }
  figures.writes += writes.size();
  return absl::OkStatus();
}

absl::Status Compare(const Figures& figures, const v1::Frame& frame, const char* operations) {
  const v1::Distribution& latency = frame.latency();
  const uint64_t traced = latency.count() - std::min(frame.untraced_writes(), latency.count());
  if (figures.writes != traced) {
    return Bad(
        absl::StrCat("its trace holds ", FormatCount(figures.writes), " ", operations, ", not ", FormatCount(traced)));
  }
  if (figures.writes == 0) return absl::OkStatus();
  const bool inside = figures.min_ns >= latency.min_ns() && figures.max_ns <= latency.max_ns();
  const bool equal = figures.min_ns == latency.min_ns() && figures.max_ns == latency.max_ns() &&
                     figures.sum_ns == static_cast<Uint128>(SumNs(latency));
  const bool bytes_differ =
      frame.untraced_writes() == 0 ? figures.bytes != frame.bytes() : figures.bytes > frame.bytes();
  if (figures.bytes > 0 && bytes_differ) return Bad("the sizes in its trace differ from its bytes");
  if (!inside || (frame.untraced_writes() == 0 && !equal)) return Bad("its trace differs from its latencies");
  return absl::OkStatus();
}

bool MeasuresParts(const v1::LogStep& step) {
  return step.operations_size() > static_cast<int>(kSyncOperation) &&
         step.operations(kSyncOperation).kind() == v1::OPERATION_PART;
}

// Number of the first write of a block of a frame that has writes in no block; 0: not known.
uint64_t FirstSeq(const std::vector<TracedWrite>& block, const v1::Frame& frame) {
  if (frame.first_seq() == 0) return 0;
  if (block.front().start_ns == frame.first_start_ns()) return frame.first_seq();
  const TracedWrite& last = block.back();
  const bool is_end = last.start_ns + static_cast<int64_t>(last.latency_ns) == frame.last_end_ns();
  if (!is_end || frame.latency().count() < block.size()) return 0;
  return frame.first_seq() + frame.latency().count() - block.size();
}

}  // namespace

absl::StatusOr<std::vector<BlockContents>> ReadFrameBlocks(const v1::Frame& frame, uint64_t block_bytes, bool parts,
                                                           std::vector<TracedWrite>& scratch, const char* operations) {
  std::vector<BlockContents> blocks;
  Figures figures;
  // Only then the numbers follow from the frame's first one.
  const bool complete = frame.untraced_writes() == 0 && frame.first_seq() != 0;
  uint64_t next_seq = complete ? frame.first_seq() : 0;
  for (const std::string& block : frame.trace()) {
    scratch.clear();
    PLIMSOLL_RETURN_IF_ERROR(DecodeTrace(block, scratch));
    if (scratch.empty()) return Bad("an empty trace block");
    if ((scratch.front().bytes == 0) != (block_bytes > 0)) {
      return Bad(absl::StrCat("its trace has ", block_bytes > 0 ? "sizes" : "no sizes", ", and its ", operations,
                              " are of ", block_bytes > 0 ? "one size" : "several"));
    }
    if (scratch.front().write_call_ns >= 0 && !parts) {
      return Bad("its trace has the times of write calls, and its step does not measure them");
    }
    PLIMSOLL_RETURN_IF_ERROR(AddBlock(scratch, figures));
    blocks.push_back({scratch.size(), complete ? next_seq : FirstSeq(scratch, frame)});
    if (complete) next_seq += scratch.size();
  }
  PLIMSOLL_RETURN_IF_ERROR(Compare(figures, frame, operations));
  return blocks;
}

namespace {

uint64_t LargestBlockOf(const v1::LogWork& work) {
  uint64_t largest_bytes = 0;
  for (const v1::LogStep& step : work.steps()) {
    largest_bytes = std::max(largest_bytes, step.block_size_bytes());
    for (const v1::SizeShare& share : step.size_mix())
      largest_bytes = std::max(largest_bytes, share.block_size_bytes());
  }
  return largest_bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunIndex>> RunIndex::Read(const std::string& journal_path) {
  auto index = std::unique_ptr<RunIndex>(new RunIndex(journal_path));
  PLIMSOLL_RETURN_IF_ERROR(index->Load());
  return index;
}

absl::Status RunIndex::Load() {
  std::vector<const v1::Frame*> accepted;
  analyzer_.SetFrameListener([&accepted](uint32_t /*host*/, const v1::Frame& frame) { accepted.push_back(&frame); });
  const absl::StatusOr<std::string> damage =
      ReadWholeRecords(journal_path_, [&](const v1::JournalRecord& record, const RawRecord& raw) {
        accepted.clear();
        Take(record, analyzer_.Add(record));
        const bool before_limit = CountTraces(record.frames());
        if (!accepted.empty()) TakeFrames(record.frames(), raw, accepted, before_limit);
      });
  analyzer_.SetFrameListener(nullptr);
  PLIMSOLL_RETURN_IF_ERROR(damage.status());
  report_ = analyzer_.Finish();
  if (!damage->empty()) {
    damage_ = *damage;
    damaged_ = true;
  } else if (report_.run().state() == v1::RUN_STATE_CUT_OFF) {
    damage_ = absl::StrCat(journal_path_, ": ", report_.run().state_reason());
  }
  std::sort(writers_.begin(), writers_.end(), [](const IndexedWriter& a, const IndexedWriter& b) {
    return std::tie(a.host, a.qm) < std::tie(b.host, b.qm);
  });
  for (size_t place = 0; place < writers_.size(); ++place) {
    places_[{writers_[place].host, writers_[place].qm}] = place;
  }
  return absl::OkStatus();
}

void RunIndex::Take(const v1::JournalRecord& record, bool accepted) {
  if (record.has_run_begin() && !begun_) {
    // The analyser continues without a usable frame interval.
    if (!IsSaneMoment(record.time_ns())) return;
    begun_ = true;
    run_ = record.run_begin();
    begin_ns_ = record.time_ns();
  } else if (!accepted) {
    // What the report leaves out is left out here.
  } else if (record.has_host_joined()) {
    const v1::HostJoined& joined = record.host_joined();
    IndexedHost host{joined.host(), joined.label(), joined.plan().log()};
    host.largest_block_bytes = LargestBlockOf(host.work);
    host.work.clear_steps();
    if (joined.plan().has_watch()) {
      for (const std::string& name : WatchedWriterNames(joined.plan().watch().watch())) {
        host.work.add_queue_managers()->set_name(name);
      }
    }
    hosts_.try_emplace(joined.host(), std::move(host));
  } else if (record.has_host_prepared()) {
    const auto& file_bytes = record.host_prepared().prepared().file_bytes();
    const auto host = hosts_.find(record.host_prepared().host());
    if (host != hosts_.end()) host->second.file_bytes.assign(file_bytes.begin(), file_bytes.end());
  } else if (record.has_step_begin()) {
    // A later one replaces the first: the hosts were armed again.
    const v1::StepBegin& begin = record.step_begin();
    if (const v1::LogStep* const spec = SpecOf(run_, begin); spec != nullptr) steps_[begin.step()] = {*spec, begin};
  }
}

IndexedWriter& RunIndex::WriterOf(uint32_t host, uint32_t qm) {
  const auto [place, is_new] = places_.try_emplace({host, qm}, writers_.size());
  if (is_new) {
    IndexedWriter& writer = writers_.emplace_back();
    writer.host = host;
    writer.qm = qm;
  }
  return writers_[place->second];
}

bool RunIndex::CountTraces(const v1::HostFrames& frames) {
  const bool before = trace_bytes_ < run_.plan().trace_limit_bytes();
  for (const v1::Frame& frame : frames.frames()) {
    for (const std::string& block : frame.trace()) trace_bytes_ += block.size();
  }
  return before;
}

const char* RunIndex::TracedOperations(const v1::Frame& frame) const {
  const bool is_main = frame.operation() == kMainOperation;
  bool is_read = false;
  if (steps_.contains(frame.step())) {
    is_read = IsRead(frame.step(), frame.operation());
  } else {
    // The step's list of operations is not known. A frame of a part of a write has no bytes.
    is_read = is_main ? OnlyReads(run_.plan()) : frame.bytes() > 0;
  }
  if (is_read) return "reads";
  return is_main ? "writes" : nullptr;
}

void RunIndex::TakeFrames(const v1::HostFrames& frames, const RawRecord& raw,
                          const std::vector<const v1::Frame*>& accepted, bool before_limit) {
  const bool traces_on = run_.plan().trace() == v1::TOGGLE_ON;
  const std::vector<PayloadPart> places = FindTraceBlocks(raw.payload);
  size_t place = 0;
  size_t next = 0;
  for (const v1::Frame& frame : frames.frames()) {
    const size_t first = place;
    place += static_cast<size_t>(frame.trace_size());
    if (next == accepted.size() || accepted[next] != &frame) continue;
    ++next;
    const bool warmup = !frame.closing() && frame.first_interval() < 0;
    const auto count = [&frame, warmup](IndexedWriter& writer) {
      IndexedWriter::Frames& counted = writer.frames[{frame.step(), frame.operation()}];
      ++(warmup ? counted.warmup : counted.measured);
    };
    const char* const operations = TracedOperations(frame);
    if (operations == nullptr) {
      // The trace of a write has the times of its parts. A part's frame is counted only if a frame of its writer came
      // before it.
      const auto known = places_.find({frames.host(), frame.qm()});
      if (known != places_.end()) count(writers_[known->second]);
      continue;
    }
    if (!steps_.contains(frame.step())) {
      frames_left_out_ = true;
      problems_.Add("no step",
                    absl::StrCat("Left out: ", FormatCount(frame.latency().count()), " ", operations, " of step ",
                                 uint64_t{frame.step()} + 1, ", whose beginning is not in the journal."));
      continue;
    }
    IndexedWriter& writer = WriterOf(frames.host(), frame.qm());
    count(writer);
    UntracedWrites& untraced = untraced_[frame.step()];
    (warmup ? untraced.warmup : untraced.measured) += frame.untraced_writes();
    if (traces_on && before_limit)
      (warmup ? untraced.dropped_warmup : untraced.dropped_measured) += frame.untraced_writes();
    const bool is_main = frame.operation() == kMainOperation;
    const bool parts = is_main && MeasuresParts(steps_.at(frame.step()).step);
    absl::StatusOr<std::vector<BlockContents>> blocks =
        ReadFrameBlocks(frame, BlockBytesOf(writer, frame.step()), parts, writes_, operations);
    if (blocks.ok() && place > places.size()) blocks = absl::InvalidArgumentError("its trace cannot be found again");
    if (!blocks.ok()) {
      const uint64_t lost = frame.latency().count() - frame.untraced_writes();
      contradicted_ = true;
      problems_.Add("contradiction", absl::StrCat("Left out: ", FormatCount(lost), " ", operations, " of a frame of ",
                                                  NameOf(writer), ", step ", uint64_t{frame.step()} + 1, ": ",
                                                  std::string(blocks.status().message()), "."));
      continue;
    }
    for (size_t i = 0; i < blocks->size(); ++i) {
      const PayloadPart& part = places[first + i];
      const BlockContents& contents = (*blocks)[i];
      (is_main ? writer.blocks : writer.read_blocks)
          .Append({raw.offset + part.offset, part.bytes, contents.writes, frame.step(), warmup, contents.first_seq});
      if (contents.first_seq == 0) {
        problems_.Add("number", absl::StrCat("The numbers of ", FormatCount(contents.writes), " ", operations, " of ",
                                             NameOf(writer), ", step ", uint64_t{frame.step()} + 1,
                                             ", are not known: traces before and after them were dropped."));
      }
    }
  }
}

absl::Status RunIndex::ForEachFrame(
    const std::function<absl::Status(uint32_t writer, const v1::Frame& frame)>& visit) const {
  Analyzer analyzer;
  absl::Status status;
  analyzer.SetFrameListener([&](uint32_t host, const v1::Frame& frame) {
    const auto place = places_.find({host, frame.qm()});
    // A journal that has grown meanwhile may contain more.
    if (!status.ok() || place == places_.end() || !steps_.contains(frame.step())) return;
    status = visit(static_cast<uint32_t>(place->second), frame);
  });
  const absl::StatusOr<JournalEnd> end =
      ReadJournal(journal_path_, [&](const v1::JournalRecord& record) { analyzer.Add(record); });
  PLIMSOLL_RETURN_IF_ERROR(status);
  if (!end.ok() && end.status().code() != absl::StatusCode::kDataLoss) return end.status();
  return absl::OkStatus();
}

namespace {

// The writer's queue manager in a placement; null without a placement.
const v1::LogQueueManager* PlacedQm(const IndexedHost& host, uint32_t qm) {
  const auto& placed = host.work.queue_managers();
  return qm == 0 || qm > static_cast<uint32_t>(placed.size()) ? nullptr : &placed.at(static_cast<int>(qm) - 1);
}

}  // namespace

std::string RunIndex::NameOf(const IndexedWriter& writer) const {
  const auto host = hosts_.find(writer.host);
  if (host == hosts_.end()) return absl::StrCat("host ", writer.host, "/qm", writer.qm);
  const v1::LogQueueManager* const placed = PlacedQm(host->second, writer.qm);
  if (placed == nullptr) return absl::StrCat(host->second.label, "/qm", writer.qm);
  return absl::StrCat(host->second.label, "/", placed->name());
}

uint64_t RunIndex::BlockBytesOf(const IndexedWriter& writer, uint32_t step) const {
  const auto host = hosts_.find(writer.host);
  const v1::LogQueueManager* const placed = host == hosts_.end() ? nullptr : PlacedQm(host->second, writer.qm);
  return placed != nullptr ? placed->block_size_bytes() : steps_.at(step).step.block_size_bytes();
}

bool RunIndex::HasParts() const {
  return std::ranges::any_of(steps_, [](const auto& step) { return MeasuresParts(step.second.step); });
}

bool RunIndex::HasReads() const {
  return std::ranges::any_of(steps_, [](const auto& step) { return ReadOperationOf(step.second.step).has_value(); });
}

bool RunIndex::HasWrites() const {
  return std::ranges::any_of(steps_, [this](const auto& step) { return !IsRead(step.first, kMainOperation); });
}

bool RunIndex::HasFiles() const {
  return std::ranges::any_of(hosts_, [](const auto& host) { return UsesFiles(host.second.workload()); });
}

bool RunIndex::IsRead(uint32_t step, uint32_t operation) const {
  return ReadOperationOf(steps_.at(step).step) == operation;
}

const char* RunIndex::OperationsText() const {
  if (!HasReads()) return "writes";
  return HasWrites() ? "reads and writes" : "reads";
}

int64_t RunIndex::ArmedOffsetNs(uint32_t host) const {
  for (const auto& [number, step] : steps_) {
    if (host >= static_cast<uint32_t>(step.begin.host_start_ns_size())) continue;
    const int64_t start_ns = step.begin.host_start_ns(static_cast<int>(host));
    if (start_ns != 0) return start_ns - step.begin.start_ns();
  }
  return 0;
}

}  // namespace plimsoll
