// Where the exported operations lie in the files of a run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/block_access.h"
#include "controller/export/run_index.h"
#include "controller/export/write_stream.h"

namespace plimsoll {

// Derives the places of operations from the plan and the numbers of the operations, as the agent does. A place is not
// known if the number is not known, if blocks differ in size, and in files that existed before the run if neither the
// plan nor the host's agent gives their sizes: agents of earlier versions do not report them. Not thread-safe.
class ExportedPlaces {
 public:
  // `index` must outlive the object.
  explicit ExportedPlaces(const RunIndex& index);

  // Name, in the plan, of the file that a writer uses (place in RunIndex::writers()); empty: it has extents.
  const std::string& FileOf(uint32_t writer) const { return writers_[writer].file; }

  // Returns the offset in the file or, if the writer has extents, the offset as if these were contiguous. Nothing if it
  // is not known.
  std::optional<uint64_t> OffsetOf(const ExportedWrite& operation);

  // Whether OffsetOf knows the places of all operations of the writer that the filter takes.
  bool KnowsAll(uint32_t writer, const WriteFilter& filter);

 private:
  // The numbers, within a hundred operations, of those of one kind.
  struct Hundred {
    std::optional<uint64_t> number;
    std::vector<uint64_t> operations;
  };
  // The blocks of one step of a writer.
  struct Order {
    std::optional<uint32_t> step;
    uint64_t block_bytes = 0;
    uint64_t blocks_per_extent = 0;
    // Until the first place comes again; 0: places are not known.
    uint64_t blocks = 0;
    // Absent: blocks are taken in their order, and all operations are of one kind.
    std::optional<Access> access;
    uint32_t read_percent = 0;
    // Of the writes, and of the reads.
    std::array<Hundred, 2> hundreds;
  };
  struct Writer {
    std::string file;
    // Its part of the file, or its extents; size 0: not known.
    uint64_t offset_bytes = 0;
    uint64_t extent_bytes = 0;
    uint32_t extents = 1;
    // Of the step of the last operation.
    Order order;
  };

  Order& OrderOf(uint32_t writer, uint32_t step);
  // Number in the step, from 0, of the write or read with this number among its kind, from 0.
  static uint64_t NumberOf(bool read, uint64_t of_kind, Order& order);

  const RunIndex& index_;
  // By place in RunIndex::writers().
  std::vector<Writer> writers_;
};

}  // namespace plimsoll
