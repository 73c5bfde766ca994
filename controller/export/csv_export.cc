#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/export/exported_places.h"
#include "controller/export/formats.h"
#include "controller/render/csv.h"

namespace plimsoll {
namespace {

// One line at a time. The date, which is dear, is spelled once a second.
class Line {
 public:
  void Clear() { text_.clear(); }
  const std::string& text() const { return text_; }

  template <typename Cell>
  void Add(const Cell& cell) {
    absl::StrAppend(&text_, cell, ",");
  }
  void AddUtc(const google::protobuf::Timestamp& moment) {
    if (moment.seconds() != second_ || second_text_.empty()) {
      second_ = moment.seconds();
      // "2026-11-20T19:20:11." of "2026-11-20T19:20:11.000000000Z".
      const std::string whole = FormatUtc(second_ * kNsPerSecond);
      second_text_ = whole.substr(0, whole.find('.') + 1);
    }
    text_ += second_text_;
    std::array<char, 11> digits{'0', '0', '0', '0', '0', '0', '0', '0', '0', 'Z', ','};
    int32_t nanos = moment.nanos();
    for (size_t i = 9; i-- > 0; nanos /= 10) digits[i] = static_cast<char>('0' + nanos % 10);
    text_.append(digits.data(), digits.size());
  }
  // Takes the place of the last comma.
  void End() { text_.replace(text_.size() - 1, 1, "\r\n"); }

 private:
  std::string text_;
  int64_t second_ = 0;
  std::string second_text_;
};

}  // namespace

absl::StatusOr<uint64_t> ExportCsv(const RunIndex& index, const WriteFilter& filter, WriteStream& writes,
                                   Output& output) {
  const bool parts = index.HasParts();
  const bool reads = index.HasReads();
  const bool has_files = index.HasFiles();
  PLIMSOLL_RETURN_IF_ERROR(output.Append(
      absl::StrCat("timeline_ns,utc,host,qm,step,seq,latency_ns,bytes,error_ns", parts ? ",write_call_ns,sync_ns" : "",
                   filter.warmup ? ",part" : "", reads ? ",operation" : "", has_files ? ",file,offset" : "", "\r\n")));
  ExportedPlaces places(index);
  std::vector<std::string> hosts;
  std::vector<std::string> files;
  for (uint32_t place = 0; place < index.writers().size(); ++place) {
    hosts.push_back(CsvCell(index.hosts().at(index.writers()[place].host).label));
    files.push_back(CsvCell(places.FileOf(place)));
  }
  uint64_t lines = 0;
  Line line;
  std::vector<ExportedWrite> batch;
  while (true) {
    PLIMSOLL_RETURN_IF_ERROR(writes.Next(batch));
    if (batch.empty()) return lines;
    for (const ExportedWrite& write : batch) {
      line.Clear();
      line.Add(write.start_ns);
      line.AddUtc(index.timeline().ToUtc(write.start_ns));
      line.Add(hosts[write.writer]);
      line.Add(index.writers()[write.writer].qm);
      line.Add(uint64_t{write.step} + 1);
      if (write.seq == 0) {
        line.Add(std::string());
      } else {
        line.Add(write.seq);
      }
      line.Add(write.latency_ns);
      line.Add(write.bytes);
      if (write.error_ns < 0) {
        line.Add(std::string());
      } else {
        line.Add(write.error_ns);
      }
      if (parts && write.write_call_ns < 0) {
        line.Add(std::string());
        line.Add(std::string());
      } else if (parts) {
        line.Add(write.write_call_ns);
        line.Add(write.latency_ns - static_cast<uint64_t>(write.write_call_ns));
      }
      if (filter.warmup) line.Add(std::string(write.warmup ? "warmup" : "measured"));
      if (reads) line.Add(std::string(write.read ? "read" : "write"));
      if (has_files) {
        line.Add(files[write.writer]);
        const std::optional<uint64_t> offset = places.OffsetOf(write);
        line.Add(offset.has_value() ? absl::StrCat(*offset) : std::string());
      }
      line.End();
      PLIMSOLL_RETURN_IF_ERROR(output.Append(line.text()));
    }
    lines += batch.size();
  }
}

}  // namespace plimsoll
