// Text that came from elsewhere, made fit for a terminal (width, escapes, length), figures as people read them, and
// tables of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/text.h"
#include "google/protobuf/timestamp.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Columns that neutral text takes on a terminal.
size_t DisplayWidth(const std::string& text);

// Shortens neutral text to `width` columns, with an ellipsis at the end where something is missing.
std::string Shorten(const std::string& text, size_t width);

// Shortens neutral text to `width` columns, of which the last `tail` (less than `width`) are the text's end; an
// ellipsis stands for what is missing between.
std::string ShortenMiddle(const std::string& text, size_t width, size_t tail);

// Shortens each of several different names to `width` columns (at least 6) so that they still differ: in the middle, or
// as near to it as they differ; at both ends, where they differ in the middle; by their number where no cut leaves them
// different.
std::vector<std::string> ShortenNames(const std::vector<std::string>& names, size_t width);

// Shortens neutral text to `width` columns: first those of `names` that are in it, so that they still differ from the
// others, then the end. For "node1/qm2" or "node1, node2".
std::string ShortenNamesIn(const std::string& text, const std::vector<std::string>& names, size_t width);

// Adds lines behind others.
void AppendLines(const std::vector<std::string>& more, std::vector<std::string>& lines);

// The hosts' names as neutral text.
std::vector<std::string> HostNamesOf(const v1::Report& report);

// Rows of neutral text with their columns one below the other, two blanks between; `align` has an 'l' or an 'r' for
// each column. Nothing is shortened: for what somebody copies, or checks before it is done.
std::vector<std::string> AlignColumns(const std::vector<std::vector<std::string>>& rows, const std::string& align);

// Puts blanks behind, or in front of, neutral text up to `width` columns.
std::string PadRight(const std::string& text, size_t width);
std::string PadLeft(const std::string& text, size_t width);

// Breaks neutral text into lines of at most `width` columns (at least 10), between words where that is possible. A path
// that is wider stays whole, on a line of its own.
std::vector<std::string> Wrap(const std::string& text, size_t width);

// Breaks a command line between its arguments, with a backslash at the end of each line but the last, so that a shell
// reads it back as it was. An argument in quotes stays whole.
std::vector<std::string> WrapCommand(const std::string& command, size_t width);

// Megabytes per second, with about five digits.
std::string FormatThroughput(double mb_per_second);

// A time in a unit of `unit_ns`, with as many decimals as leave about five digits: "0.912", "14.211", "120.41",
// "71,902".
std::string FormatLatency(double time_ns, int64_t unit_ns);

// A short time in the unit that suits it: "4 us", "1.204 ms", "-3.2 s".
std::string FormatShortTime(int64_t time_ns);

// Which step of a run it is: "3 of 8", with `of` as what is between; or, of a run of rounds with `round_steps` steps
// each (0: not one of rounds), whose number is not known in advance, "13, round 4".
std::string FormatStepNumber(uint32_t step, uint32_t steps, uint32_t round_steps, const char* of = " of ");

// "2026-11-20 19:20:11 UTC".
std::string FormatDateTime(const google::protobuf::Timestamp& moment);

// "19:20:32.114"; with the date in front where it is not that of `begin`.
std::string FormatTimeOfDay(const google::protobuf::Timestamp& moment, const google::protobuf::Timestamp& begin);

// `options` as /proc/mounts has them, without what is the client's own: NFS's clientaddr, which differs on every host
// of one and the same export.
std::string SharedMountOptions(const std::string& options);

// The host's directories under test, of which most have one.
std::vector<v1::MountReport> MountsOf(const v1::HostReport& host);

// The files that a host's threads use: "/data/a", "/data/f000 ... /data/f015 (16 files)"; empty without `files`.
std::string ShortenFiles(const v1::LogWorkload& workload);

// Widest line of a text report, in columns.
inline constexpr size_t kTextWidth = 80;

// Cells in columns as wide as their widest cell. Columns of names are shortened, in the middle and so that names still
// differ, where a line would become wider than kTextWidth; where that is not enough, numbers lose their separators.
// Cells are neutral text (plain_text.h).
class TextTable {
 public:
  // Headings; "|" is a rule in every row. The first `left` columns are left-aligned, all others right-aligned; `names`
  // are those that may be shortened. Cells that hold some of the `known` names are shortened there, so that these still
  // differ from one another, whichever of them the table shows.
  explicit TextTable(std::vector<std::string> headings, size_t left = 1, std::vector<size_t> names = {0},
                     std::vector<std::string> known = {});

  // As many cells as there are headings, those of rules left out. `mark` is put behind the row ("*").
  void AddRow(const std::vector<std::string>& cells, const std::string& mark = "");

  // A line between rows, across the columns.
  void AddLine(const std::string& text);

  // The headings and the rows, with two blanks in front.
  std::vector<std::string> Lines() const;
  size_t Width() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::string mark;
    std::string across;  // instead of cells
  };
  // The rows as they are, or with plain numbers where they would not fit otherwise.
  std::vector<Row> FittingRows() const;
  std::vector<size_t> Widths(const std::vector<Row>& rows) const;
  std::string Line(const Row& row, const std::vector<size_t>& widths) const;
  // Shortens the cells of a column together.
  void ShortenColumn(size_t column, size_t width, std::vector<Row>& rows) const;

  std::vector<std::string> headings_;
  size_t left_;
  std::vector<size_t> names_;
  std::vector<std::string> known_;
  std::vector<Row> rows_;
};

// A time until something ends: "18 s", "2 min 18 s", "1 h 02 min".
std::string TimeLeft(int64_t ns);

}  // namespace plimsoll
