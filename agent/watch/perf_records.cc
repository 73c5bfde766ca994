#include "agent/watch/perf_records.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace plimsoll {
namespace {

// Layout of the records of raw_syscalls, which TraceFs::CheckField confirms: common fields, then these.
constexpr size_t kNumberOffset = 8;
constexpr size_t kValuesOffset = 16;

// At the end of every record that is not a sample: thread, time and event (sample_id_all).
constexpr size_t kTrailerBytes = 24;

// Takes values from the front of a record.
class RecordReader {
 public:
  explicit RecordReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  template <typename T>
  std::optional<T> Take() {
    if (bytes_.size() < sizeof(T)) return std::nullopt;
    T value{};
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }
  std::optional<std::span<const uint8_t>> TakeBytes(size_t count) {
    if (bytes_.size() < count) return std::nullopt;
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }

 private:
  std::span<const uint8_t> bytes_;
};

struct RecordTrailer {
  uint32_t pid = 0;
  uint32_t tid = 0;
  int64_t time_ns = 0;
  uint64_t id = 0;
};

std::optional<RecordTrailer> TrailerOf(std::span<const uint8_t> body) {
  if (body.size() < kTrailerBytes) return std::nullopt;
  RecordReader reader(body.last(kTrailerBytes));
  RecordTrailer trailer;
  trailer.pid = *reader.Take<uint32_t>();
  trailer.tid = *reader.Take<uint32_t>();
  trailer.time_ns = static_cast<int64_t>(*reader.Take<uint64_t>());
  trailer.id = *reader.Take<uint64_t>();
  return trailer;
}

// Reads what follows the head of a sample. False where it is malformed.
bool ReadRaw(RecordReader& reader, PerfRecord& record) {
  const auto size = reader.Take<uint32_t>();
  const auto raw = size ? reader.TakeBytes(*size) : std::nullopt;
  if (!raw || raw->size() < kNumberOffset) return false;
  RecordReader fields(raw->subspan(kNumberOffset));
  const auto number = fields.Take<int64_t>();
  if (!number) return false;
  record.number = *number;
  static_assert(kValuesOffset == kNumberOffset + sizeof(int64_t));
  if (record.kind == PerfRecord::Kind::kSyscallExit) {
    const auto result = fields.Take<int64_t>();
    record.result = result.value_or(0);
    return result.has_value();
  }
  for (uint64_t& arg : record.args) {
    const auto value = fields.Take<uint64_t>();
    if (!value) return false;
    arg = *value;
  }
  return true;
}

bool IsCall(PerfRecord::Kind kind) {
  return kind == PerfRecord::Kind::kCallEnter || kind == PerfRecord::Kind::kCallReturn;
}

// Reads a record of a probed function: the place of the probe, then what its definition adds (FunctionProbes).
bool ReadFunctionRaw(RecordReader& reader, const PerfEventInfo& info, PerfRecord& record) {
  record.number = info.number;
  const auto size = reader.Take<uint32_t>();
  const auto raw = size ? reader.TakeBytes(*size) : std::nullopt;
  if (!raw) return false;
  if (!info.has_argument) return true;
  if (raw->size() < kValuesOffset) return false;
  const auto argument = RecordReader(raw->subspan(kValuesOffset)).Take<uint64_t>();
  record.args[0] = argument.value_or(0);
  return argument.has_value();
}

}  // namespace

uint64_t PerfSampleType() {
  return PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
}

void PerfRecordParser::Parse(std::span<const uint8_t> bytes, std::vector<PerfRecord>& records) {
  while (bytes.size() >= sizeof(perf_event_header)) {
    perf_event_header header{};
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.size < sizeof(header) || header.size > bytes.size()) {
      ++lost_;
      return;
    }
    const std::span<const uint8_t> body = bytes.subspan(sizeof(header), header.size - sizeof(header));
    if (header.type == PERF_RECORD_SAMPLE) {
      ParseSample(body, records);
    } else if (header.type == PERF_RECORD_LOST) {
      ParseLost(body, records);
    } else if (header.type == PERF_RECORD_COMM && (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
      ParseExec(body, records);
    } else if (const auto trailer = TrailerOf(body)) {
      last_time_ns_ = std::max(last_time_ns_, trailer->time_ns);
    }
    bytes = bytes.subspan(header.size);
  }
}

void PerfRecordParser::ParseSample(std::span<const uint8_t> body, std::vector<PerfRecord>& records) {
  RecordReader reader(body);
  const auto id = reader.Take<uint64_t>();
  const auto pid = reader.Take<uint32_t>();
  const auto tid = reader.Take<uint32_t>();
  const auto time = reader.Take<uint64_t>();
  if (!id || !pid || !tid || !time) {
    ++lost_;
    return;
  }
  last_time_ns_ = std::max(last_time_ns_, static_cast<int64_t>(*time));
  const PerfEventInfo* const info = info_of_(*id);
  if (info == nullptr) return;
  PerfRecord record;
  record.kind = info->kind;
  record.time_ns = static_cast<int64_t>(*time);
  record.pid = *pid;
  record.tid = *tid;
  record.owner = info->owner;
  const bool whole = IsCall(info->kind) ? ReadFunctionRaw(reader, *info, record) : ReadRaw(reader, record);
  if (!whole) {
    ++lost_;
    return;
  }
  records.push_back(record);
}

void PerfRecordParser::ParseLost(std::span<const uint8_t> body, std::vector<PerfRecord>& records) {
  RecordReader reader(body);
  const auto id = reader.Take<uint64_t>();
  const auto count = reader.Take<uint64_t>();
  const auto trailer = TrailerOf(body);
  if (!id || !count || !trailer) {
    ++lost_;
    return;
  }
  lost_ += *count;
  PerfRecord begin;
  begin.kind = PerfRecord::Kind::kGapBegin;
  begin.time_ns = last_time_ns_;
  PerfRecord end;
  end.kind = PerfRecord::Kind::kGapEnd;
  end.time_ns = std::max(trailer->time_ns, last_time_ns_);
  last_time_ns_ = end.time_ns;
  records.push_back(begin);
  records.push_back(end);
}

void PerfRecordParser::ParseExec(std::span<const uint8_t> body, std::vector<PerfRecord>& records) {
  RecordReader reader(body);
  const auto pid = reader.Take<uint32_t>();
  const auto tid = reader.Take<uint32_t>();
  const auto trailer = TrailerOf(body);
  if (!pid || !tid || !trailer) return;
  last_time_ns_ = std::max(last_time_ns_, trailer->time_ns);
  PerfRecord record;
  record.kind = PerfRecord::Kind::kExec;
  record.time_ns = trailer->time_ns;
  record.pid = *pid;
  record.tid = *tid;
  records.push_back(record);
}

}  // namespace plimsoll
