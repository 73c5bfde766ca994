#include "controller/export/run_index.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/analysis/step_shape.h"
#include "controller/export/frame_blocks.h"
#include "controller/export/trace_places.h"

namespace plimsoll {

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
    damage_ = absl::StrCat(*damage, "; the export holds what comes before it");
  } else if (report_.run().state() == v1::RUN_STATE_CUT_OFF) {
    damage_ = absl::StrCat(journal_path_, ": ", report_.run().state_reason(), "; the export holds what is there");
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
    // The analyser goes on without a frame interval that it can use.
    if (!IsSaneMoment(record.time_ns())) return;
    begun_ = true;
    run_ = record.run_begin();
    begin_ns_ = record.time_ns();
  } else if (!accepted) {
    // What the report leaves out is left out here.
  } else if (record.has_host_joined()) {
    const v1::HostJoined& joined = record.host_joined();
    hosts_.try_emplace(joined.host(), IndexedHost{joined.host(), joined.label(), joined.plan().log().workload()});
  } else if (record.has_step_begin()) {
    // A later one replaces the first: the hosts were armed again.
    const v1::StepBegin& begin = record.step_begin();
    steps_[begin.step()] = {run_.steps(static_cast<int>(begin.step())), begin};
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
    if (!steps_.contains(frame.step())) {
      frames_left_out_ = true;
      problems_.Add("no step",
                    absl::StrCat("Left out: ", FormatCount(frame.latency().count()), " writes of step ",
                                 uint64_t{frame.step()} + 1, ", whose beginning the journal does not tell."));
      continue;
    }
    IndexedWriter& writer = WriterOf(frames.host(), frame.qm());
    const bool warmup = !frame.closing() && frame.first_interval() < 0;
    IndexedWriter::Frames& counted = writer.frames[frame.step()];
    ++(warmup ? counted.warmup : counted.measured);
    UntracedWrites& untraced = untraced_[frame.step()];
    (warmup ? untraced.warmup : untraced.measured) += frame.untraced_writes();
    if (traces_on && before_limit)
      (warmup ? untraced.dropped_warmup : untraced.dropped_measured) += frame.untraced_writes();
    absl::StatusOr<std::vector<BlockContents>> blocks = ReadFrameBlocks(frame, writes_);
    if (blocks.ok() && place > places.size()) blocks = absl::InvalidArgumentError("its trace cannot be found again");
    if (!blocks.ok()) {
      const uint64_t lost = frame.latency().count() - frame.untraced_writes();
      contradicted_ = true;
      problems_.Add("contradiction",
                    absl::StrCat("Left out: ", FormatCount(lost), " writes of a frame of ", NameOf(writer), ", step ",
                                 uint64_t{frame.step()} + 1, ": ", std::string(blocks.status().message()), "."));
      continue;
    }
    for (size_t i = 0; i < blocks->size(); ++i) {
      const PayloadPart& part = places[first + i];
      const BlockContents& contents = (*blocks)[i];
      writer.blocks.Append(
          {raw.offset + part.offset, part.bytes, contents.writes, frame.step(), warmup, contents.first_seq});
      if (contents.first_seq == 0) {
        problems_.Add("number", absl::StrCat("The numbers of ", FormatCount(contents.writes), " writes of ",
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
    // A journal that has grown meanwhile may tell of more.
    if (!status.ok() || place == places_.end() || !steps_.contains(frame.step())) return;
    status = visit(static_cast<uint32_t>(place->second), frame);
  });
  const absl::StatusOr<JournalEnd> end =
      ReadJournal(journal_path_, [&](const v1::JournalRecord& record) { analyzer.Add(record); });
  PLIMSOLL_RETURN_IF_ERROR(status);
  if (!end.ok() && end.status().code() != absl::StatusCode::kDataLoss) return end.status();
  return absl::OkStatus();
}

std::string RunIndex::NameOf(const IndexedWriter& writer) const {
  const auto host = hosts_.find(writer.host);
  return absl::StrCat(host == hosts_.end() ? absl::StrCat("host ", writer.host) : host->second.label, "/qm", writer.qm);
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
