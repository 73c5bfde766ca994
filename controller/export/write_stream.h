// Every traced write and read of a run, in order, on the timeline.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/trace.h"
#include "controller/export/run_index.h"
#include "controller/timeline/timeline.h"

namespace plimsoll {

// Asks the timeline for the ends of cells of 4.2 ms only and divides what lies between them. Cells are cut at the same
// moments of the host's clock for all of its writers: a moment has one place, whichever writer asks.
//
// The error covers this: the truth at a moment is bounded from both ends of its cell by the most by which the clocks'
// rates may differ (500 ppm: 2 us on top of the ends' own bounds), and the bound holds both, so that it also holds
// where the clock steps inside the cell. Between its values at the cell's ends it is taken as a line, which lies above
// it: it is made of the largest of lines. Not thread-safe.
class MomentMap {
 public:
  struct Moment {
    int64_t timeline_ns = 0;
    // Truth lies within plus or minus this; -1: not known.
    int64_t error_ns = 0;
  };

  // `timeline` must outlive the object. A host without a probe is placed by `offset_ns`, its clock minus the timeline,
  // and errors are not known.
  MomentMap(const Timeline& timeline, uint32_t host, int64_t offset_ns);

  // A few ns where the cell is known, some 0.5 us where it is not. `agent_ns` is sane (IsSaneMoment).
  Moment Map(int64_t agent_ns) {
    const int64_t number = agent_ns >> kCellBits;
    const Cell& cell = Slot(number);
    return cell.number == number ? In(cell, agent_ns) : In(Fill(number), agent_ns);
  }

  // Whether a probe of the host was answered.
  bool known() const { return known_; }

 private:
  static constexpr int kCellBits = 22;
  static constexpr int64_t kCellNs = int64_t{1} << kCellBits;
  // More than a second of them, so that the writers of a host, whose blocks last a quarter, find one another's.
  static constexpr size_t kCells = 512;

  struct Cell {
    int64_t number = INT64_MIN;
    // Its beginning on the timeline, and how much later its end is.
    int64_t from_ns = 0;
    int64_t length_ns = 0;
    // Error at its beginning, and how much larger it is at its end.
    int64_t error_ns = 0;
    int64_t error_growth_ns = 0;
    // Its end on the timeline: the next cell begins with it.
    MappedMoment end;
  };

  // So much of `whole_ns` as `part_ns` is of a cell, rounded down.
  static int64_t Share(int64_t whole_ns, int64_t part_ns) {
    return static_cast<int64_t>((Int128{whole_ns} * part_ns) >> kCellBits);
  }
  Moment In(const Cell& cell, int64_t agent_ns) const {
    if (!known_) return {agent_ns - offset_ns_, -1};
    const int64_t after_ns = agent_ns & (kCellNs - 1);
    return {cell.from_ns + Share(cell.length_ns, after_ns), cell.error_ns + Share(cell.error_growth_ns, after_ns)};
  }
  const Cell& Fill(int64_t number);
  Cell& Slot(int64_t number) { return cells_[static_cast<uint64_t>(number) % kCells]; }
  // A cell's beginning on the timeline.
  MappedMoment BeginOf(int64_t number);

  const Timeline& timeline_;
  const uint32_t host_;
  const int64_t offset_ns_;
  bool known_ = true;
  // The most that the clocks part in a cell, rounded up.
  int64_t slack_ns_ = 0;
  std::array<Cell, kCells> cells_;
};

// Which writes and reads are exported.
struct WriteFilter {
  // Step, from 0; nothing: all.
  std::optional<uint32_t> step;
  // Includes the warm-up.
  bool warmup = false;

  bool Takes(const TraceBlock& block) const { return (warmup || !block.warmup) && (!step || *step == block.step); }
};

// One write or read on the timeline.
struct ExportedWrite {
  // Place of its writer in RunIndex::writers().
  uint32_t writer = 0;
  // Step, from 0.
  uint32_t step = 0;
  bool warmup = false;
  bool read = false;
  // Start on the timeline; truth lies within plus or minus error_ns (-1: not known).
  int64_t start_ns = 0;
  int64_t error_ns = 0;
  // As it was measured, on the agent's clock.
  uint64_t latency_ns = 0;
  // How much of the latency was the write call; the rest was the sync. -1: the write was not measured in parts.
  int64_t write_call_ns = -1;
  uint64_t bytes = 0;
  // Number in the step among the writer's writes, or among its reads, from 1; 0: not known.
  uint64_t seq = 0;
};

// The writes and reads of one writer, in the order in which it made them: one is in flight at a time, and one clock
// measured them all. Reads one block of each kind at a time from the journal.
//
// Starts on the timeline never go back: where the mapping would have them do so (the agent's clock stepped), an
// operation is put at the start of the one before it, and its error grows by as much. Not thread-safe.
class WriterTrace : public TraceSource {
 public:
  // All borrowed.
  WriterTrace(const RunIndex& index, uint32_t writer, const WriteFilter& filter, const JournalParts& journal,
              MomentMap& moments);

  // Gives the operations of one block that come before the next one of the other kind, with starts on the timeline; see
  // TraceSource.
  absl::Status Next(std::vector<TracedWrite>& writes) override;

  // Everything about the next operation, of those that Next has given, in order.
  ExportedWrite Take(const TracedWrite& write);

  // Operations that had to be moved so that starts do not go back.
  uint64_t moved() const { return moved_; }

 private:
  // The blocks of one kind. `writes` is the current block, of which Next has given all before `at`.
  struct Lane {
    explicit Lane(const BlockList& list) : blocks(list) {}

    BlockList::Reader blocks;
    TraceBlock block;
    std::vector<TracedWrite> writes;
    size_t at = 0;

    bool empty() const { return at == writes.size(); }
    const TracedWrite& next() const { return writes[at]; }
  };
  // Operations that Next has given and Take has not.
  struct Piece {
    uint32_t step = 0;
    bool warmup = false;
    bool read = false;
    // Size of each operation's block; 0: operations have sizes of their own.
    uint64_t block_bytes = 0;
    // Number of the next one; 0: not known.
    uint64_t next_seq = 0;
    size_t left = 0;
  };

  // Reads the lane's next block where the current one is used up; leaves the lane empty at its end.
  absl::Status Fill(Lane& lane);

  const RunIndex& index_;
  const uint32_t writer_;
  const WriteFilter filter_;
  const std::string name_;
  const JournalParts& journal_;
  MomentMap& moments_;
  Lane main_;
  // Reads beside writes.
  Lane reads_;
  std::string packed_;
  std::deque<Piece> pieces_;
  // Errors of the starts of the operations in pieces_.
  std::deque<int64_t> errors_ns_;
  int64_t last_start_ns_ = INT64_MIN;
  uint64_t moved_ = 0;
};

// All writers' writes and reads in the total order of (start on the timeline, host, qm, place among the writer's
// operations): the same journal gives the same sequence. Memory: one block of each writer, two where it reads and
// writes, whatever the journal's length. Not thread-safe.
class WriteStream {
 public:
  // `index` must outlive the stream. Errors are those of opening the journal.
  static absl::StatusOr<std::unique_ptr<WriteStream>> Open(const RunIndex& index, const WriteFilter& filter);

  // Replaces what `writes` holds with the next operations; none at the end. After an error every further call returns
  // it.
  absl::Status Next(std::vector<ExportedWrite>& writes);

  // Calls `visit` with all operations of one writer (place in RunIndex::writers()), whatever Next has given. Returns
  // its first error, or that of reading.
  absl::Status ForWriter(uint32_t writer, const std::function<absl::Status(const ExportedWrite&)>& visit);

  // Operations given so far that had to be moved so that a writer's starts do not go back.
  uint64_t moved() const;

 private:
  WriteStream(const RunIndex& index, const WriteFilter& filter, JournalParts journal);
  MomentMap& MomentsOf(uint32_t host);

  const RunIndex& index_;
  const WriteFilter filter_;
  const JournalParts journal_;
  std::map<uint32_t, std::unique_ptr<MomentMap>> moments_;
  // By place in RunIndex::writers().
  std::vector<std::unique_ptr<WriterTrace>> traces_;
  std::unique_ptr<TraceMerge> merge_;
  std::vector<MergedWrite> merged_;
  uint64_t moved_alone_ = 0;
};

}  // namespace plimsoll
