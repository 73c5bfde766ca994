#include "agent/watch/perf_records.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace plimsoll {
namespace {

// Layout of the records of raw_syscalls, which TraceFs::CheckField confirms: common fields, the thread among them, then
// the others. Those of probed functions have the same common fields.
constexpr size_t kThreadOffset = 4;
constexpr size_t kNumberOffset = 8;
constexpr size_t kValuesOffset = 16;

// At the end of every record that is not a sample: time and event (sample_id_all), behind the thread where samples have
// it.
constexpr size_t kTrailerBytes = 16;

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

std::optional<int64_t> TrailerTime(std::span<const uint8_t> body) {
  if (body.size() < kTrailerBytes) return std::nullopt;
  return RecordReader(body.last(kTrailerBytes)).Take<int64_t>();
}

// The tracepoint's own fields, which a sample ends with; nothing where it is malformed.
std::optional<std::span<const uint8_t>> TakeRaw(RecordReader& reader) {
  const auto size = reader.Take<uint32_t>();
  const auto raw = size ? reader.TakeBytes(*size) : std::nullopt;
  return raw && raw->size() >= kNumberOffset ? raw : std::nullopt;
}

// Reads the fields of raw_syscalls. False where they are malformed.
bool ReadSyscall(std::span<const uint8_t> raw, PerfRecord& record) {
  RecordReader fields(raw.subspan(kNumberOffset));
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

// Reads the fields of a probed function: the place of the probe, then what its definition adds (FunctionProbes).
bool ReadFunction(std::span<const uint8_t> raw, const PerfEventInfo& info, PerfRecord& record) {
  record.number = info.number;
  if (!info.has_argument) return true;
  if (raw.size() < kValuesOffset) return false;
  const auto argument = RecordReader(raw.subspan(kValuesOffset)).Take<uint64_t>();
  record.args[0] = argument.value_or(0);
  return argument.has_value();
}

}  // namespace

uint64_t PerfSampleType(ThreadField thread) {
  const uint64_t fields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  return thread == ThreadField::kOfSample ? fields | PERF_SAMPLE_TID : fields;
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
    } else if (const auto time_ns = TrailerTime(body)) {
      last_time_ns_ = std::max(last_time_ns_, *time_ns);
    }
    bytes = bytes.subspan(header.size);
  }
}

void PerfRecordParser::ParseSample(std::span<const uint8_t> body, std::vector<PerfRecord>& records) {
  RecordReader reader(body);
  const auto id = reader.Take<uint64_t>();
  PerfRecord record;
  bool whole = id.has_value();
  if (thread_ == ThreadField::kOfSample) {
    const auto pid = reader.Take<uint32_t>();
    const auto tid = reader.Take<uint32_t>();
    whole = whole && pid && tid;
    record.pid = pid.value_or(0);
    record.tid = tid.value_or(0);
  }
  const auto time = reader.Take<uint64_t>();
  if (!whole || !time) {
    ++lost_;
    return;
  }
  record.time_ns = static_cast<int64_t>(*time);
  last_time_ns_ = std::max(last_time_ns_, record.time_ns);
  const PerfEventInfo* const info = info_of_(*id);
  if (info == nullptr) return;
  record.kind = info->kind;
  record.owner = info->owner;
  const auto raw = TakeRaw(reader);
  if (!raw || !(IsCall(info->kind) ? ReadFunction(*raw, *info, record) : ReadSyscall(*raw, record))) {
    ++lost_;
    return;
  }
  if (thread_ == ThreadField::kOfTracepoint) {
    record.pid = info->pid;
    record.tid = *RecordReader(raw->subspan(kThreadOffset)).Take<uint32_t>();
  }
  records.push_back(record);
}

void PerfRecordParser::ParseLost(std::span<const uint8_t> body, std::vector<PerfRecord>& records) {
  RecordReader reader(body);
  const auto id = reader.Take<uint64_t>();
  const auto count = reader.Take<uint64_t>();
  const auto time_ns = TrailerTime(body);
  if (!id || !count || !time_ns) {
    ++lost_;
    return;
  }
  lost_ += *count;
  PerfRecord begin;
  begin.kind = PerfRecord::Kind::kGapBegin;
  begin.time_ns = last_time_ns_;
  PerfRecord end;
  end.kind = PerfRecord::Kind::kGapEnd;
  end.time_ns = std::max(*time_ns, last_time_ns_);
  last_time_ns_ = end.time_ns;
  records.push_back(begin);
  records.push_back(end);
}

void PerfRecordParser::ParseExec(std::span<const uint8_t> body, std::vector<PerfRecord>& records) {
  RecordReader reader(body);
  const auto pid = reader.Take<uint32_t>();
  const auto tid = reader.Take<uint32_t>();
  const auto time_ns = TrailerTime(body);
  if (!pid || !tid || !time_ns) return;
  last_time_ns_ = std::max(last_time_ns_, *time_ns);
  PerfRecord record;
  record.kind = PerfRecord::Kind::kExec;
  record.time_ns = *time_ns;
  record.pid = *pid;
  record.tid = *tid;
  records.push_back(record);
}

}  // namespace plimsoll
