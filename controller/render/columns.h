// The columns of the tables of figures: one list for the text report, Markdown, CSV and the page.
//
// A figure is a number of a message of the report; its column names that field, and how people see it. A new figure
// needs a line in one of these lists, and nothing in the files that print tables.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// How people read a figure.
enum class FigureFormat {
  kCount,
  // Writes per second.
  kRate,
  // MB/s, of a figure in MB/s and of one in bytes per second.
  kThroughput,
  kMegabytes,
  // Nanoseconds, in the unit of the table.
  kLatency,
  // time_between_writes_ns in percent of itself and the time in writes: of several writers their times add up.
  kIdlePercent,
  // Whether the target rate was achieved.
  kHeld,
};

// What pages call it.
const char* FigureFormatName(FigureFormat format);

// The tables that show a column besides report.csv, which has every number.
enum FigureTables : uint32_t {
  kCsvOnly = 0,
  // The text report's tables of latencies, and its table of counts. Eighty columns have room for a part of the figures.
  kTextTable = 1,
  kTextCounts = 2,
  // The page's tables of a step.
  kPageTable = 4,
  // A row for each step: in the text report's summary and in Markdown, and on the page.
  kTextSummary = 8,
  kPageSummary = 16,
  // A row for each operation of a step that reads and writes: in the text report's summary and in Markdown.
  kTextMixed = 32,
};

struct FigureColumn {
  // The field of the message; its name in JSON, too, and behind the prefix of the group in CSV.
  const char* field;
  // Above the column, on the page and in the text; empty where only CSV has it.
  const char* heading = "";
  FigureFormat format = FigureFormat::kCount;
  // FigureTables.
  uint32_t tables = kCsvOnly;
  // What the heading means, shown on hover and focus; empty: nothing is.
  const char* help = "";
  // The heading in the text where the table's title says the rest; the name in CSV; null: as above.
  const char* text_heading = nullptr;
  const char* csv_name = nullptr;

  bool IsIn(uint32_t table) const { return (tables & table) != 0; }
};

// Figures of one message of a ScopeReport.
struct ColumnGroup {
  // On the page, and where the message is in the scope's JSON; empty: it is the scope itself.
  const char* name;
  const char* json_path;
  const char* csv_prefix;
  const google::protobuf::Descriptor* (*type)();
  // The message of a scope; null where it has none.
  const google::protobuf::Message* (*of)(const v1::ScopeReport& scope);
  std::span<const FigureColumn> columns;
};

// In the order of report.csv.
extern const ColumnGroup kWriteColumns;
extern const ColumnGroup kThroughputColumns;
// Service time.
extern const ColumnGroup kLatencyColumns;
extern const ColumnGroup kTimeColumns;
// MB/s over whole seconds.
extern const ColumnGroup kBandwidthColumns;
extern const ColumnGroup kRateColumns;
extern const ColumnGroup kResponseColumns;
// What callers felt: the response time where there is a target rate, otherwise the service time. Not in CSV.
extern const ColumnGroup kFeltColumns;
extern const ColumnGroup kRecorderColumns;
extern const ColumnGroup kClosingColumns;

// Figures of latency of a series, by second.
struct SeriesColumn {
  // The field of the SeriesReport, also on the page; and the name in timeline.csv behind "latency_" and "response_".
  const char* field;
  const char* csv_figure;
  const char* heading;
  // 0: the longest write, which is always known.
  double percent;
};
std::span<const SeriesColumn> SeriesLatencyColumns();

// A number, or true and false, as a cell of CSV; empty where it is not known or no number.
std::string CsvFigure(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field);

// The unit of a table's latencies: microseconds where a cluster's median is below 100 of them and no figure of the
// steps would need more columns than there are.
struct LatencyUnit {
  int64_t unit_ns = 1'000'000;
  const char* name = "ms";
};

// A figure of a message as the text report and Markdown have it; a dash where it is not known.
std::string TextFigure(const google::protobuf::Message& message, const FigureColumn& column, const LatencyUnit& unit);
// A figure of a scope; a dash where it lacks the message.
std::string TextFigure(const v1::ScopeReport& scope, const ColumnGroup& group, const FigureColumn& column,
                       const LatencyUnit& unit);

// A table's columns from several groups, in order.
class FigureTable {
 public:
  // The columns of `groups` that `table` (of FigureTables) has; null between two groups is a rule.
  FigureTable(std::initializer_list<const ColumnGroup*> groups, uint32_t table);
  // The cluster's row of a step in a summary. `paced`: with the target rate, which some step has. `swept`: without that
  // and without MB/s, whose place columns of a sweep take. `mixed`: with fewer figures, and without the target rate,
  // which is that of all operations together; a row is of one of them.
  static FigureTable Summary(bool paced, bool swept = false, bool mixed = false);

  // For TextTable, "|" for a rule; and the cells of a row, which have none for it.
  void AddHeadings(std::vector<std::string>& headings) const;
  void AddCells(const v1::ScopeReport& scope, const LatencyUnit& unit, std::vector<std::string>& cells) const;

 private:
  struct Entry {
    const ColumnGroup* group;
    // Null: a rule.
    const FigureColumn* column;
  };
  void Add(const ColumnGroup& group, uint32_t table);

  std::vector<Entry> entries_;
};

// The columns of the page's tables, and of its charts by second, as JSON; page/columns.js reads it.
std::string ColumnsJson();

}  // namespace plimsoll
