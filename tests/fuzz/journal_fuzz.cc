// Whatever a journal holds: no crash, no hang, every output is made, and the report tells of the writes of the frames
// that were taken, of all of them and of no others.
//
// The input is the file; where a further file of a journal begins in it, that is one of frames that are not settled
// yet. The mutator takes a file apart into records, changes one or more, and puts checksums that are right on all of
// them, so that what lies behind the checksum is reached.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/live_stats.h"
#include "controller/export/formats.h"
#include "controller/journal/recent_frames.h"
#include "controller/journal/results.h"
#include "controller/page/report_page.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/live_view.h"
#include "controller/render/mqldt.h"
#include "controller/render/text.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/report_sums.h"
#include "tests/temp_directory.h"

namespace plimsoll::fuzz {
namespace {

constexpr size_t kMagicBytes = 8;
constexpr size_t kHeaderBytes = 12;
// A few bytes can tell of ten silent days of which every second is a row; a few hours show the same.
constexpr uint64_t kSeriesRowsOfInput = 50'000;

void PutLittleEndian(uint64_t value, size_t bytes, std::string& out) {
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

uint32_t LengthAt(const uint8_t* data) {
  return uint32_t{data[0]} | uint32_t{data[1]} << 8 | uint32_t{data[2]} << 16 | uint32_t{data[3]} << 24;
}

std::unique_ptr<google::protobuf::Message> RecordPrototype(const Item& /*item*/) {
  return std::make_unique<v1::JournalRecord>();
}

// The payloads of all records; what follows the last whole one is left out.
std::vector<Item> ReadRecords(const uint8_t* data, size_t size) {
  std::vector<Item> records;
  for (size_t at = kMagicBytes; at + kHeaderBytes <= size;) {
    const size_t length = LengthAt(data + at);
    at += kHeaderBytes;
    if (length > size - at) break;
    records.push_back({0, std::string(reinterpret_cast<const char*>(data) + at, length)});
    at += length;
  }
  return records;
}

std::string WriteRecords(const std::vector<Item>& records) {
  std::string journal = "PLIMJRNL";
  for (const Item& record : records) {
    PutLittleEndian(record.payload.size(), 4, journal);
    PutLittleEndian(kJournalFormat, 2, journal);
    PutLittleEndian(0, 2, journal);
    PutLittleEndian(crc32_z(0, reinterpret_cast<const unsigned char*>(record.payload.data()), record.payload.size()), 4,
                    journal);
    journal += record.payload;
  }
  return journal;
}

// The files of an input: the journal, and at most as many others as it can have.
std::vector<std::string> FilesOf(const uint8_t* data, size_t size) {
  constexpr std::string_view kMagic = "PLIMJRNL";
  std::vector<std::string> files;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (files.size() < kRecentSuffixes.size()) {
    const size_t next = rest.find(kMagic, kMagicBytes);
    if (next == std::string_view::npos) break;
    files.emplace_back(rest.substr(0, next));
    rest.remove_prefix(next);
  }
  files.emplace_back(rest);
  return files;
}

// A directory for inputs of several files. Returns the path of the journal.
std::string PutFiles(const std::vector<std::string>& files) {
  static const tests::TempDirectory directory;
  const std::string path = directory.Sub("journal");
  const std::vector<std::string> names = JournalFileNames(path);
  for (size_t i = 0; i < names.size(); ++i) {
    std::filesystem::remove(names[i]);
    if (i < files.size()) std::ofstream(names[i], std::ios::binary) << files[i];
  }
  return path;
}

// A file in memory that every input of one file is written to.
class InputFile {
 public:
  InputFile() : fd_(memfd_create("journal", MFD_CLOEXEC)) { Require(fd_ >= 0, "memfd_create"); }
  ~InputFile() { close(fd_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  void Fill(const uint8_t* data, size_t size) const {
    Require(ftruncate(fd_, 0) == 0 && pwrite(fd_, data, size, 0) == static_cast<ssize_t>(size), "the input's file");
  }
  std::string path() const { return absl::StrCat("/proc/self/fd/", fd_); }

 private:
  const int fd_;
};

bool OneLine(const absl::Status& status) {
  return !status.message().empty() && status.message().find('\n') == absl::string_view::npos;
}

void TryOutputs(const v1::Report& report) {
  for (const std::string& text : {RenderText(report, 40), RenderJson(report), RenderCsv(report),
                                  RenderTimelineCsv(report), RenderMqldtCsv(report)}) {
    Require(text.find('\x1b') == std::string::npos, "an escape in an output", [&] { return text; });
  }
  Require(!RenderReportPage(report).empty(), "an empty page");
}

void TryIntervals(const std::vector<v1::JournalRecord>& records) {
  Analyzer live;
  std::map<uint32_t, uint64_t> writes;
  uint64_t rows = 0;
  live.SetIntervalListener(kNsPerSecond, [&](const IntervalRow& row) {
    Require(row.end_ns >= 0, "a row before the start");
    writes[row.step] += row.interval.writes;
    ++rows;
  });
  for (const v1::JournalRecord& record : records) live.Add(record);
  const int64_t now_ns = records.empty() ? 0 : records.back().time_ns();
  const LiveSnapshot shown = live.Live(std::clamp<int64_t>(now_ns, 0, kMaxMomentNs), -1);
  Require(shown.seconds.size() <= 600, "more seconds than are shown");
  live.LiveCriteria();
  const v1::Report report = live.Finish();
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::ScopeReport& scope : step.scopes()) {
      if (scope.kind() != v1::SCOPE_KIND_CLUSTER) continue;
      // There are no more rows than a million.
      Require(rows == 1'000'000 || writes[step.number()] == scope.latency().count(), "rows that miss their step's sum");
    }
  }
}

template <typename Export>
void TryExport(const RunIndex& index, const Export& run) {
  WriteFilter filter;
  filter.warmup = true;
  const absl::StatusOr<std::unique_ptr<WriteStream>> writes = WriteStream::Open(index, filter);
  if (!writes.ok()) return;
  std::ostringstream text;
  const std::unique_ptr<Output> output = MakeStreamOutput(text);
  const absl::StatusOr<uint64_t> done = run(filter, **writes, *output);
  Require(done.ok() || OneLine(done.status()), "an error of several lines");
}

void TryExports(const std::string& path, uint64_t measured_operations) {
  const absl::StatusOr<std::unique_ptr<RunIndex>> index = RunIndex::Read(path);
  if (!index.ok()) {
    Require(OneLine(index.status()), "an error of several lines");
    return;
  }
  const RunIndex& of = **index;
  TryExport(of, [&](const WriteFilter& filter, WriteStream& writes, Output& output) {
    WriteFilter measured = filter;
    measured.warmup = false;
    auto stream = WriteStream::Open(of, measured);
    Require(stream.ok(), "a stream opens once and not twice");
    auto done = ExportCsv(of, measured, **stream, output);
    Require(!done.ok() || *done <= measured_operations, "more writes and reads are exported than reported");
    return ExportCsv(of, filter, writes, output);
  });
  TryExport(of,
            [&](const WriteFilter& filter, WriteStream&, Output& output) { return ExportHlog(of, filter, output); });
  TryExport(
      of, [&](const WriteFilter&, WriteStream& writes, Output& output) { return ExportPerfetto(of, writes, output); });
  TryExport(of, [&](WriteFilter filter, WriteStream&, Output& output) {
    filter.warmup = false;
    return ExportFioJson(of, filter, output);
  });
}

void TryJournal(const uint8_t* data, size_t size) {
  static const InputFile file;
  const std::vector<std::string> files = FilesOf(data, size);
  if (files.size() == 1) file.Fill(data, size);
  const std::string path = files.size() == 1 ? file.path() : PutFiles(files);
  Analyzer analyzer(kSeriesRowsOfInput);
  tests::ReportSums sums;
  sums.Watch(analyzer);
  std::vector<v1::JournalRecord> records;
  const absl::StatusOr<JournalEnd> end = ReadJournal(path, [&](const v1::JournalRecord& record) {
    analyzer.Add(record);
    records.push_back(record);
  });
  if (!end.ok()) {
    Require(OneLine(end.status()), "an error of several lines");
    analyzer.AddDamage(std::string(end.status().message()));
  } else {
    Require((files.size() > 1 || end->bytes + end->trailing_bytes == size) && end->records == records.size(),
            "bytes that were not looked at");
    if (end->trailing_bytes > 0) analyzer.AddDamage("The journal is cut off.");
  }
  const v1::Report report = analyzer.Finish();
  const std::string problem = sums.Problem(report);
  Require(problem.empty(), "a wrong sum", [&] { return absl::StrCat(problem, report.DebugString()); });
  if (!end.ok() || end->trailing_bytes > 0) {
    Require(report.verdict().outcome() != v1::OUTCOME_PASS, "a PASS from half a journal");
  }
  TryOutputs(report);
  TryIntervals(records);
  TryExports(path, sums.writes() + sums.reads());
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::fuzz::Silence();
  plimsoll::fuzz::TryJournal(data, size);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  using plimsoll::fuzz::Item;
  std::mt19937 random(seed);
  std::vector<std::string> files = plimsoll::fuzz::FilesOf(data, size);
  std::string& file = files[random() % files.size()];
  std::vector<Item> records = plimsoll::fuzz::ReadRecords(reinterpret_cast<const uint8_t*>(file.data()), file.size());
  if (records.empty() || random() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (size_t changes = 1 + random() % 3; changes > 0 && !records.empty(); --changes) {
    plimsoll::fuzz::MutateList(plimsoll::fuzz::RecordPrototype, records, random);
  }
  file = plimsoll::fuzz::WriteRecords(records);
  std::string journal;
  for (const std::string& each : files) journal += each;
  const size_t new_size = std::min(journal.size(), max_size);
  std::copy_n(journal.begin(), new_size, data);
  return new_size;
}
