// What an export needs to know of a run before its first line, from one pass over the journal: its report, its clocks,
// and where each writer's trace blocks lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/trace.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/note_book.h"
#include "controller/journal/results.h"
#include "plimsoll/v1/frame.pb.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// A byte string inside a payload.
struct PayloadPart {
  uint64_t offset = 0;
  uint32_t bytes = 0;
};

// The places of all trace blocks (Frame.trace) in the serialised JournalRecord `payload`, in the order in which its
// frames and their blocks come when it is parsed. What is not well formed ends the list: the caller has parsed the
// record and knows how many there must be.
std::vector<PayloadPart> FindTraceBlocks(const std::string& payload);

// One trace block, and its frame's figures.
struct TraceBlock {
  // Where it lies in the journal's file.
  uint64_t offset = 0;
  uint32_t bytes = 0;
  // How many writes it holds.
  uint64_t writes = 0;
  // Step, from 0.
  uint32_t step = 0;
  // Before the measured part.
  bool warmup = false;
  // Number of its first write in the step, from 1; 0: not known.
  uint64_t first_seq = 0;
  bool operator==(const TraceBlock&) const = default;
};

// Blocks in the order in which they were added, in some six to ten bytes each: all that an export holds for each block
// of a run. Not thread-safe.
class BlockList {
 public:
  // Offsets must not go back.
  void Append(const TraceBlock& block);
  bool empty() const { return coded_.empty(); }
  // Memory that the list takes.
  size_t bytes() const { return coded_.capacity(); }

  // Goes through a list from its beginning. The list must outlive it and not change meanwhile.
  class Reader {
   public:
    explicit Reader(const BlockList& list) : list_(list) {}
    // The next block; false at the end.
    bool Next(TraceBlock& block);

   private:
    const BlockList& list_;
    size_t at_ = 0;
    TraceBlock last_;
  };

 private:
  // What the block after `last` is expected to be: it follows in the same step, part and sequence.
  static uint64_t ExpectedSeq(const TraceBlock& last, const TraceBlock& block);

  std::string coded_;
  TraceBlock last_;
};

// What one block of a frame holds.
struct BlockContents {
  uint64_t writes = 0;
  // Number of its first write in the step; 0: not known.
  uint64_t first_seq = 0;
};

// Unpacks every block of `frame` and compares it with the frame's figures. INVALID_ARGUMENT where a block is not well
// made or they contradict each other: another number of writes, moments that no clock shows or that go back, or, where
// no write is untraced, another sum, minimum or maximum.
//
// Where some writes of the frame are in no block, a block's numbers are known only if it begins with the frame's first
// write or ends with its last one. `scratch` is overwritten.
// `block_bytes`: size of each write, which the blocks do not say then; 0: they have the size of each. `parts`: the
// blocks may have the times of write calls. `operations`: what the frame is of, as errors name it.
absl::StatusOr<std::vector<BlockContents>> ReadFrameBlocks(const v1::Frame& frame, uint64_t block_bytes, bool parts,
                                                           std::vector<TracedWrite>& scratch,
                                                           const char* operations = "writes");

// A host that joined the run.
struct IndexedHost {
  uint32_t number = 0;
  std::string label;
  // Its part of the plan, without the steps.
  v1::LogWork work;
  // The largest block of the steps in its part of the plan; 0: it has no steps.
  uint64_t largest_block_bytes = 0;
  // Bytes of each file that existed and is used, as the host reported them; empty if it did not.
  std::vector<uint64_t> file_bytes = {};

  const v1::LogWorkload& workload() const { return work.workload(); }
};

// A step that began.
struct IndexedStep {
  v1::LogStep step;
  v1::StepBegin begin;
  // Start of the measured part on the timeline.
  int64_t measured_start_ns() const { return begin.start_ns() + step.warmup_ns(); }
};

// One writer's part of the run, of all steps.
struct IndexedWriter {
  uint32_t host = 0;
  uint32_t qm = 0;
  // Trace blocks of the steps' main operation.
  BlockList blocks;
  // Trace blocks of the reads beside writes.
  BlockList read_blocks;
  // Frames in the report, by step (from 0) and operation.
  struct Frames {
    uint64_t measured = 0;
    uint64_t warmup = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Frames> frames;
};

// Writes and reads that are in no trace block.
struct UntracedWrites {
  uint64_t measured = 0;
  uint64_t warmup = 0;
  // Untraced ones that neither --trace nor --trace-limit kept out: their traces were dropped.
  uint64_t dropped_measured = 0;
  uint64_t dropped_warmup = 0;
};

// The report of a run, its clocks, and where each writer's traces lie in the journal. A frame that the report leaves
// out is left out here too, so that both cover the same writes. Every block is unpacked once and compared with its
// frame's figures: what is exported later is known to add up.
//
// Memory: what the report takes, and six to ten bytes for each trace block (one block a writer and 250 ms, and one more
// where it also reads). It does not grow with the number of writes. Not thread-safe.
class RunIndex {
 public:
  // The errors of ReadJournal except damage, which damage() reports; INVALID_ARGUMENT where there is no record of a
  // run.
  static absl::StatusOr<std::unique_ptr<RunIndex>> Read(const std::string& journal_path);

  const std::string& journal_path() const { return journal_path_; }
  const v1::Report& report() const { return report_; }
  const Timeline& timeline() const { return analyzer_.timeline(); }
  const v1::RunBegin& run() const { return run_; }
  // The controller's clock when the run began.
  int64_t begin_ns() const { return begin_ns_; }
  const std::map<uint32_t, IndexedHost>& hosts() const { return hosts_; }
  // Steps that began, by number, from 0.
  const std::map<uint32_t, IndexedStep>& steps() const { return steps_; }
  // In the order of (host, qm); those of which a frame is in the report.
  const std::vector<IndexedWriter>& writers() const { return writers_; }
  // Untraced writes and reads of each step that has any.
  const std::map<uint32_t, UntracedWrites>& untraced() const { return untraced_; }
  // Why the journal does not hold the whole run, as a sentence; empty: it does.
  const std::string& damage() const { return damage_; }
  // Whether the journal is damaged there, and not only without its end.
  bool damaged() const { return damaged_; }
  // Sentences about blocks that are left out because they contradict their frames, and about numbers not known.
  std::vector<std::string> problems() const { return problems_.Sentences(); }
  // Whether a whole frame had to be left out, because the journal does not show how its step began.
  bool frames_left_out() const { return frames_left_out_; }
  // Whether a block had to be left out.
  bool contradicted() const { return contradicted_; }

  // Reads the journal again and calls `visit` with every frame of the report, in the journal's order, and its writer's
  // place in writers(). Returns the first error of `visit`, or of reading; damage was reported before.
  absl::Status ForEachFrame(const std::function<absl::Status(uint32_t writer, const v1::Frame& frame)>& visit) const;

  // Size of the writer's blocks in a step that began; 0: they differ, and traces have the size of each.
  uint64_t BlockBytesOf(const IndexedWriter& writer, uint32_t step) const;
  // Whether some step measures the parts of its writes.
  bool HasParts() const;
  // Whether some step reads; whether some step writes.
  bool HasReads() const;
  bool HasWrites() const;
  // Whether the plan names files.
  bool HasFiles() const;
  // Whether an operation of a step that began, by its place in the step's list, is the read.
  bool IsRead(uint32_t step, uint32_t operation) const;
  // What the steps do, as messages name it: "writes", "reads" or "reads and writes".
  const char* OperationsText() const;
  // "alpha/qm2"; "alpha/PAYMENTS" in a placement.
  std::string NameOf(const IndexedWriter& writer) const;
  // The host's clock minus the timeline as the controller estimated it when the first step was armed; 0: not known.
  int64_t ArmedOffsetNs(uint32_t host) const;

 private:
  explicit RunIndex(std::string journal_path) : journal_path_(std::move(journal_path)) {}

  absl::Status Load();
  // `accepted`: the analyser took it.
  void Take(const v1::JournalRecord& record, bool accepted);
  // Returns whether the traces before these had not reached their limit yet: it is not what keeps writes of these
  // frames out of them.
  bool CountTraces(const v1::HostFrames& frames);
  // Indexes the blocks of a record's frames; `accepted` are those that are in the report, in order.
  void TakeFrames(const v1::HostFrames& frames, const RawRecord& raw, const std::vector<const v1::Frame*>& accepted,
                  bool before_limit);
  // What the trace of a frame is of, for ReadFrameBlocks; null for a part of a write, whose frames have no trace.
  const char* TracedOperations(const v1::Frame& frame) const;
  IndexedWriter& WriterOf(uint32_t host, uint32_t qm);

  const std::string journal_path_;
  Analyzer analyzer_;
  v1::Report report_;
  bool begun_ = false;
  v1::RunBegin run_;
  int64_t begin_ns_ = 0;
  std::map<uint32_t, IndexedHost> hosts_;
  std::map<uint32_t, IndexedStep> steps_;
  // Place of each (host, qm) in writers_.
  std::map<std::pair<uint32_t, uint32_t>, size_t> places_;
  std::vector<IndexedWriter> writers_;
  std::map<uint32_t, UntracedWrites> untraced_;
  std::string damage_;
  bool damaged_ = false;
  NoteBook problems_;
  bool frames_left_out_ = false;
  bool contradicted_ = false;
  // Bytes of all traces so far, as the controller counted them.
  uint64_t trace_bytes_ = 0;
  // For one block at a time.
  std::vector<TracedWrite> writes_;
};

}  // namespace plimsoll
