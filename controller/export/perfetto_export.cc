#include <algorithm>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/export/formats.h"
#include "controller/export/perfetto_trace.pb.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

constexpr uint32_t kSequence = 1;
constexpr uint32_t kNamesAnew = 1;
constexpr uint32_t kUsesNames = 2;
constexpr uint32_t kRealtime = 1;
constexpr uint32_t kMonotonic = 3;
constexpr uint32_t kBoottime = 6;
constexpr int32_t kSliceBegin = 1;
constexpr int32_t kSliceEnd = 2;
constexpr int32_t kOrderedByRank = 3;
// Categories.
constexpr uint64_t kWriteCategory = 1;
constexpr uint64_t kReadCategory = 2;
// Names of annotations.
constexpr uint64_t kNumber = 1;
constexpr uint64_t kLatency = 2;
constexpr uint64_t kError = 3;
// Ids of the names of a write's parts, beyond those of the names of all steps' writes. From kReadNames on: ids of the
// names of the steps' reads.
constexpr uint64_t kWriteCallName = uint64_t{1} << 40U;
constexpr uint64_t kSyncName = kWriteCallName + 1;
constexpr uint64_t kReadNames = uint64_t{1} << 41U;

// Id of the name of a step's writes or reads; steps count from 0.
uint64_t NameOfStep(uint32_t step, bool warmup, bool read) {
  return (read ? kReadNames : 0) + uint64_t{step} * 2 + (warmup ? 2 : 1);
}

// Each moment of the trace is unsigned.
uint64_t Stamp(int64_t timeline_ns) {
  return static_cast<uint64_t>(std::max<int64_t>(timeline_ns, 0));
}

class TraceWriter {
 public:
  TraceWriter(const RunIndex& index, Output& output) : index_(index), output_(output) {
    const uint64_t first_writer = index.hosts().size() + 1;
    for (uint32_t place = 0; place < index.writers().size(); ++place) tracks_.push_back(first_writer + place);
    open_.resize(tracks_.size());
    for (perfetto::Packet* packet : {&begin_, &part_, &end_}) packet->set_trusted_packet_sequence_id(kSequence);
    for (perfetto::Packet* packet : {&begin_, &part_}) {
      packet->set_sequence_flags(kUsesNames);
      packet->mutable_track_event()->set_type(kSliceBegin);
      packet->mutable_track_event()->add_category_iids(kWriteCategory);
    }
    end_.mutable_track_event()->set_type(kSliceEnd);
  }

  absl::Status Begin() {
    PLIMSOLL_RETURN_IF_ERROR(PutClocks());
    PLIMSOLL_RETURN_IF_ERROR(PutNames());
    return PutTracks();
  }

  absl::Status Put(const ExportedWrite& write) {
    PLIMSOLL_RETURN_IF_ERROR(EndUntil(write.start_ns));
    // It reaches beyond the start of the next: ends there.
    OpenSlice& open = open_[write.writer];
    if (open.until_ns >= 0) PLIMSOLL_RETURN_IF_ERROR(PutEnd(write.writer, write.start_ns));
    begin_.set_timestamp(Stamp(write.start_ns));
    perfetto::TrackEvent& event = *begin_.mutable_track_event();
    event.set_track_uuid(tracks_[write.writer]);
    event.set_category_iids(0, write.read ? kReadCategory : kWriteCategory);
    event.set_name_iid(NameOfStep(write.step, write.warmup, write.read));
    // What is not known is not there.
    event.clear_debug_annotations();
    if (write.seq != 0) Annotate(event, kNumber).set_uint_value(write.seq);
    Annotate(event, kLatency).set_uint_value(write.latency_ns);
    if (write.error_ns >= 0) Annotate(event, kError).set_int_value(write.error_ns);
    PLIMSOLL_RETURN_IF_ERROR(PutPacket(begin_));
    const int64_t end_ns = write.start_ns + static_cast<int64_t>(write.latency_ns);
    open.until_ns = end_ns;
    ends_.push({end_ns, write.writer, /*of_call=*/false});
    if (write.write_call_ns < 0) return absl::OkStatus();
    open.call_until_ns = write.start_ns + write.write_call_ns;
    ends_.push({open.call_until_ns, write.writer, /*of_call=*/true});
    return PutPart(write.writer, kWriteCallName, write.start_ns);
  }

  absl::Status Finish() { return EndUntil(INT64_MAX); }

 private:
  struct End {
    int64_t end_ns = 0;
    uint32_t writer = 0;
    // True for the end of a write call. It sorts before the end of its write at the same moment.
    bool of_call = false;
    bool operator<(const End& other) const {
      return std::tuple(end_ns, writer, !of_call) > std::tuple(other.end_ns, other.writer, !other.of_call);
    }
  };

  // A writer's open slice and the part inside it; -1 if none is open.
  struct OpenSlice {
    int64_t until_ns = -1;
    int64_t call_until_ns = -1;
    bool part = false;
  };

  static perfetto::Annotation& Annotate(perfetto::TrackEvent& event, uint64_t name) {
    perfetto::Annotation& annotation = *event.add_debug_annotations();
    annotation.set_name_iid(name);
    return annotation;
  }

  absl::Status PutPacket(const perfetto::Packet& packet) {
    serialised_.clear();
    // Field `packet` of Trace: tag, length, contents.
    const size_t bytes = packet.ByteSizeLong();
    serialised_.push_back(static_cast<char>(perfetto::Trace::kPacketFieldNumber << 3U | 2U));
    for (size_t left = bytes;; left >>= 7U) {
      const bool last = left < 0x80;
      serialised_.push_back(static_cast<char>(static_cast<uint8_t>((left & 0x7FU) | (last ? 0U : 0x80U))));
      if (last) break;
    }
    const size_t head = serialised_.size();
    serialised_.resize(head + bytes);
    packet.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(serialised_.data() + head));
    return output_.Append(serialised_);
  }

  // Ends the slices that end until `moment_ns`.
  absl::Status EndUntil(int64_t moment_ns) {
    while (!ends_.empty() && ends_.top().end_ns <= moment_ns) {
      const End end = ends_.top();
      ends_.pop();
      OpenSlice& open = open_[end.writer];
      // Not where the slice was ended before.
      if (end.of_call && open.call_until_ns == end.end_ns) {
        open.call_until_ns = -1;
        PLIMSOLL_RETURN_IF_ERROR(PutInnermostEnd(end.writer, end.end_ns));
        PLIMSOLL_RETURN_IF_ERROR(PutPart(end.writer, kSyncName, end.end_ns));
      } else if (!end.of_call && open.until_ns == end.end_ns) {
        PLIMSOLL_RETURN_IF_ERROR(PutEnd(end.writer, end.end_ns));
      }
    }
    return absl::OkStatus();
  }

  // Begins the slice of a part, inside that of its write.
  absl::Status PutPart(uint32_t writer, uint64_t name, int64_t start_ns) {
    open_[writer].part = true;
    part_.set_timestamp(Stamp(start_ns));
    part_.mutable_track_event()->set_track_uuid(tracks_[writer]);
    part_.mutable_track_event()->set_name_iid(name);
    return PutPacket(part_);
  }

  // Ends the track's innermost slice.
  absl::Status PutInnermostEnd(uint32_t writer, int64_t end_ns) {
    end_.set_timestamp(Stamp(end_ns));
    end_.mutable_track_event()->set_track_uuid(tracks_[writer]);
    return PutPacket(end_);
  }

  // Ends the slice of the part, then that of its write.
  absl::Status PutEnd(uint32_t writer, int64_t end_ns) {
    const OpenSlice open = std::exchange(open_[writer], {});
    if (open.part) PLIMSOLL_RETURN_IF_ERROR(PutInnermostEnd(writer, end_ns));
    return PutInnermostEnd(writer, end_ns);
  }

  // The timeline is the controller's CLOCK_MONOTONIC; the trace's clock shows the same. Beside it the calendar.
  absl::Status PutClocks() {
    packet_.Clear();
    packet_.set_trusted_packet_sequence_id(kSequence);
    packet_.set_timestamp(Stamp(index_.begin_ns()));
    for (const uint32_t clock : {kBoottime, kMonotonic, kRealtime}) {
      auto* snapshot = packet_.mutable_clock_snapshot()->add_clocks();
      snapshot->set_clock_id(clock);
      snapshot->set_timestamp(Stamp(clock == kRealtime ? index_.run().wall_clock_ns() : index_.begin_ns()));
    }
    return PutPacket(packet_);
  }

  absl::Status PutNames() {
    packet_.Clear();
    packet_.set_trusted_packet_sequence_id(kSequence);
    packet_.set_sequence_flags(kNamesAnew);
    perfetto::InternedData& names = *packet_.mutable_interned_data();
    const auto add = [](uint64_t iid, const std::string& name, perfetto::InternedText* text) {
      text->set_iid(iid);
      text->set_name(name);
    };
    if (index_.HasWrites()) add(kWriteCategory, "write", names.add_event_categories());
    if (index_.HasReads()) add(kReadCategory, kReadName, names.add_event_categories());
    add(kNumber, "number", names.add_debug_annotation_names());
    add(kLatency, "latency_ns", names.add_debug_annotation_names());
    add(kError, "clock_error_ns", names.add_debug_annotation_names());
    if (index_.HasParts()) {
      add(kWriteCallName, "write call", names.add_event_names());
      add(kSyncName, "sync", names.add_event_names());
    }
    for (const auto& [number, step] : index_.steps()) {
      const std::string size = FormatBlockSize(step.step.block_size_bytes());
      const auto add_step = [&, step_number = number](bool read, const std::string& what) {
        add(NameOfStep(step_number, false, read), absl::StrCat("step ", step_number + 1, ": ", what),
            names.add_event_names());
        add(NameOfStep(step_number, true, read), absl::StrCat("warm-up ", step_number + 1, ": ", what),
            names.add_event_names());
      };
      // A run that does not read needs no word for its writes.
      const bool reads = ReadOperationOf(step.step).has_value();
      if (!index_.IsRead(number, kMainOperation)) add_step(false, absl::StrCat(reads ? "write, " : "", size));
      if (reads) add_step(true, absl::StrCat("read, ", size));
    }
    return PutPacket(packet_);
  }

  absl::Status PutTracks() {
    std::map<uint32_t, uint64_t> host_tracks;
    for (const auto& [number, host] : index_.hosts()) {
      const uint64_t track = host_tracks.size() + 1;
      host_tracks[number] = track;
      perfetto::TrackDescriptor& descriptor = NewTrack(track, SanitizeForTerminal(host.label));
      descriptor.mutable_process()->set_pid(static_cast<int32_t>(track));
      descriptor.mutable_process()->set_process_name(SanitizeForTerminal(host.label));
      descriptor.set_child_ordering(kOrderedByRank);
      PLIMSOLL_RETURN_IF_ERROR(PutPacket(packet_));
    }
    for (uint32_t place = 0; place < tracks_.size(); ++place) {
      const IndexedWriter& writer = index_.writers()[place];
      perfetto::TrackDescriptor& descriptor =
          NewTrack(tracks_[place],
                   SanitizeForTerminal(QmText(index_.report(), index_.hosts().at(writer.host).label, writer.qm)));
      descriptor.set_parent_uuid(host_tracks.at(writer.host));
      descriptor.set_sibling_order_rank(static_cast<int32_t>(writer.qm));
      PLIMSOLL_RETURN_IF_ERROR(PutPacket(packet_));
    }
    return absl::OkStatus();
  }

  perfetto::TrackDescriptor& NewTrack(uint64_t uuid, const std::string& name) {
    packet_.Clear();
    packet_.set_trusted_packet_sequence_id(kSequence);
    perfetto::TrackDescriptor& descriptor = *packet_.mutable_track_descriptor();
    descriptor.set_uuid(uuid);
    descriptor.set_name(name);
    return descriptor;
  }

  const RunIndex& index_;
  Output& output_;
  // By place of the writer.
  std::vector<uint64_t> tracks_;
  std::vector<OpenSlice> open_;
  std::priority_queue<End> ends_;
  perfetto::Packet packet_;
  // Packets of slices; what is the same for all of them stays.
  perfetto::Packet begin_;
  perfetto::Packet part_;
  perfetto::Packet end_;
  std::string serialised_;
};

}  // namespace

absl::StatusOr<uint64_t> ExportPerfetto(const RunIndex& index, WriteStream& writes, Output& output) {
  TraceWriter trace(index, output);
  PLIMSOLL_RETURN_IF_ERROR(trace.Begin());
  uint64_t count = 0;
  std::vector<ExportedWrite> batch;
  while (true) {
    PLIMSOLL_RETURN_IF_ERROR(writes.Next(batch));
    if (batch.empty()) break;
    for (const ExportedWrite& write : batch) PLIMSOLL_RETURN_IF_ERROR(trace.Put(write));
    count += batch.size();
  }
  PLIMSOLL_RETURN_IF_ERROR(trace.Finish());
  return count;
}

}  // namespace plimsoll
