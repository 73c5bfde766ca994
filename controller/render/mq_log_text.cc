// A queue manager's log against the storage, as text.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

// "3 intervals have writes below 4 KiB, the smallest size measured: not compared"; empty for none.
std::string UncomparedText(uint64_t intervals, const char* where, uint64_t size_bytes, const char* which) {
  if (intervals == 0) return "";
  return absl::StrCat(Counted(intervals, "interval"), intervals == 1 ? " has writes " : " have writes ", where, " ",
                      FormatBlockSize(size_bytes), ", the ", which, " size measured: not compared");
}

}  // namespace

std::vector<std::string> TextMqLog(const v1::Report& report) {
  if (!report.has_mq_log()) return {};
  const v1::MqLogReport& log = report.mq_log();
  TextTable table({"interval", "|", "write, bytes", "MQ", "storage", "MQ/storage"});
  for (const v1::MqIntervalReport& interval : log.intervals()) {
    table.AddRow({interval.name(), FormatCount(interval.write_size_bytes()),
                  absl::StrFormat("%.2f", interval.mb_per_second()),
                  interval.has_percent() ? absl::StrFormat("%.2f", interval.storage_mb_per_second()) : kDash,
                  interval.has_percent() ? absl::StrFormat("%.1f %%", interval.percent()) : kDash});
  }
  std::vector<std::string> lines = {"MQ's log against the storage, MB/s of one queue manager"};
  for (std::string& line : table.Lines()) lines.push_back(std::move(line));
  if (!log.source().empty()) AddIndented(log.source(), lines);
  if (!log.sizes().empty()) {
    const std::vector<std::string> uncompared = {
        UncomparedText(log.below_sizes(), "below", log.sizes(0).block_size_bytes(), "smallest"),
        UncomparedText(log.above_sizes(), "above", log.sizes(log.sizes_size() - 1).block_size_bytes(), "largest")};
    for (const std::string& text : uncompared) {
      if (!text.empty()) AddIndented(text, lines);
    }
  }
  for (const std::string& note : log.notes()) AddIndented(note, lines);
  return lines;
}

}  // namespace plimsoll
