// Every traced write of a run, one after another.
#pragma once

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
#include "common/trace_merge.h"
#include "controller/export/moment_map.h"
#include "controller/export/run_index.h"

namespace plimsoll {

// Which writes are exported.
struct WriteFilter {
  // Step, from 0; nothing: all.
  std::optional<uint32_t> step;
  // Warm-up writes, too.
  bool warmup = false;

  bool Takes(const TraceBlock& block) const { return (warmup || !block.warmup) && (!step || *step == block.step); }
};

// One write on the timeline.
struct ExportedWrite {
  // Place of its writer in RunIndex::writers().
  uint32_t writer = 0;
  // Step, from 0.
  uint32_t step = 0;
  bool warmup = false;
  // Start on the timeline; truth lies within plus or minus error_ns (-1: not known).
  int64_t start_ns = 0;
  int64_t error_ns = 0;
  // As it was measured, on the agent's clock.
  uint64_t latency_ns = 0;
  // Number in the step, from 1; 0: not known.
  uint64_t seq = 0;
};

// The writes of one writer, in the order in which it wrote them. Reads one block at a time from the journal.
//
// Starts on the timeline never go back: where the mapping would have them do so (the agent's clock stepped), a write is
// put at the start of the one before it, and its error grows by as much. Not thread-safe.
class WriterTrace : public TraceSource {
 public:
  // All borrowed.
  WriterTrace(const RunIndex& index, uint32_t writer, const WriteFilter& filter, const JournalParts& journal,
              MomentMap& moments);

  // The next block's starts on the timeline; see TraceSource. What Take tells of them waits until it is asked for.
  absl::Status Next(std::vector<TracedWrite>& writes) override;

  // Everything about the next write, of those that Next has given, in order.
  ExportedWrite Take(const TracedWrite& write);

  // Writes that had to be moved so that starts do not go back.
  uint64_t moved() const { return moved_; }

 private:
  struct Piece {
    TraceBlock block;
    std::vector<int64_t> errors_ns;
    size_t taken = 0;
  };

  const uint32_t writer_;
  const WriteFilter filter_;
  const std::string name_;
  const JournalParts& journal_;
  MomentMap& moments_;
  BlockList::Reader blocks_;
  std::string packed_;
  std::deque<Piece> pieces_;
  // Emptied, for use again.
  std::vector<std::vector<int64_t>> spare_;
  int64_t last_start_ns_ = INT64_MIN;
  uint64_t moved_ = 0;
};

// All writers' writes in the total order of (start on the timeline, host, qm, place in the writer's trace): the same
// journal gives the same sequence. Memory: one block of each writer, whatever the journal's length. Not thread-safe.
class WriteStream {
 public:
  // `index` must outlive the stream. Errors are those of opening the journal.
  static absl::StatusOr<std::unique_ptr<WriteStream>> Open(const RunIndex& index, const WriteFilter& filter);

  // Replaces what `writes` holds with the next writes; none at the end. After an error every further call returns it.
  absl::Status Next(std::vector<ExportedWrite>& writes);

  // Calls `visit` with all writes of one writer (place in RunIndex::writers()), whatever Next has given. Returns its
  // first error, or that of reading.
  absl::Status ForWriter(uint32_t writer, const std::function<absl::Status(const ExportedWrite&)>& visit);

  // Writes given so far that had to be moved so that a writer's starts do not go back.
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
