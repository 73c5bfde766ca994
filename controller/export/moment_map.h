// Moments of one host's clock on the timeline, in great numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "controller/analysis/step_shape.h"
#include "controller/analysis/timeline.h"

namespace plimsoll {

// Asks the timeline for the ends of cells of 4.2 ms only and divides what lies between them. Cells are cut at the same
// moments of the host's clock for all of its writers: a moment has one place, whoever asks.
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
    // What the timeline tells of its end: the next cell begins with it.
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
  // What the timeline tells of a cell's beginning.
  MappedMoment BeginOf(int64_t number);

  const Timeline& timeline_;
  const uint32_t host_;
  const int64_t offset_ns_;
  bool known_ = true;
  // The most that the clocks part in a cell, rounded up.
  int64_t slack_ns_ = 0;
  std::array<Cell, kCells> cells_;
};

}  // namespace plimsoll
