#include "controller/export/fio_log_export.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/posix_error.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/export/file_names.h"
#include "controller/export/output.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Removes files, and the directory where it was made, unless they are to stay.
class Made {
 public:
  explicit Made(std::string directory) : directory_(std::move(directory)) {}
  ~Made() {
    if (kept_) return;
    std::error_code ignored;
    for (const std::string& file : files_) fs::remove(file, ignored);
    if (directory_is_ours_) fs::remove(directory_, ignored);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  absl::Status MakeDirectory() {
    std::error_code error;
    if (fs::exists(directory_, error)) {
      if (!fs::is_directory(directory_, error)) return absl::InvalidArgumentError(directory_ + " is no directory");
      const bool empty = fs::is_empty(directory_, error);
      if (error) return PosixError("opendir", directory_, error.value());
      if (!empty) {
        return absl::InvalidArgumentError(directory_ +
                                          " is not empty: remove it, or name another directory with --output");
      }
      return absl::OkStatus();
    }
    fs::create_directories(directory_, error);
    if (error) return PosixError("mkdir", directory_, error.value());
    directory_is_ours_ = true;
    return absl::OkStatus();
  }
  void Add(const std::string& file) { files_.push_back(file); }
  void Keep() { kept_ = true; }

 private:
  std::string directory_;
  std::vector<std::string> files_;
  bool directory_is_ours_ = false;
  bool kept_ = false;
};

// Where the block with number `seq` (from 1) of a step lies: extents of equal size in turn, and a block that does not
// fit in the rest of one goes to the start of the next.
uint64_t OffsetOf(const v1::LogWorkload& workload, uint64_t block_bytes, uint64_t seq) {
  const uint64_t per_extent = block_bytes == 0 ? 0 : workload.file_size_bytes() / block_bytes;
  if (seq == 0 || per_extent == 0 || workload.num_files() == 0) return 0;
  const uint64_t slot = (seq - 1) % (per_extent * workload.num_files());
  return slot / per_extent * workload.file_size_bytes() + slot % per_extent * block_bytes;
}

int64_t BaseNs(const RunIndex& index, const WriteFilter& filter) {
  if (filter.step) return index.steps().at(*filter.step).begin.start_ns();
  return index.steps().empty() ? index.begin_ns() : index.steps().begin()->second.begin.start_ns();
}

class LogLine {
 public:
  void Add(uint64_t value, const char* after) {
    std::array<char, 24> digits;
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text_.append(digits.data(), static_cast<size_t>(end - digits.data()));
    text_ += after;
  }
  void Clear() { text_.clear(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

absl::StatusOr<uint64_t> ExportFioLogs(const RunIndex& index, const WriteFilter& filter, WriteStream& writes,
                                       const std::string& directory) {
  Made made(directory);
  PLIMSOLL_RETURN_IF_ERROR(made.MakeDirectory());
  const int64_t base_ns = BaseNs(index, filter);
  uint64_t lines = 0;
  LogLine line;
  for (uint32_t place = 0; place < index.writers().size(); ++place) {
    const IndexedWriter& writer = index.writers()[place];
    const IndexedHost& host = index.hosts().at(writer.host);
    const std::string path =
        absl::StrCat(directory, "/", SafeName(host.label), "_qm", writer.qm, "_clat.", place + 1, ".log");
    PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<Output> output, OpenFileOutput(path));
    made.Add(path);
    PLIMSOLL_RETURN_IF_ERROR(writes.ForWriter(place, [&](const ExportedWrite& write) {
      const uint64_t block_bytes = index.steps().at(write.step).step.block_size_bytes();
      const int64_t end_ns = write.start_ns + static_cast<int64_t>(write.latency_ns) - base_ns;
      line.Clear();
      line.Add(static_cast<uint64_t>(std::max<int64_t>(end_ns, 0) / kNsPerMs), ", ");
      line.Add(write.latency_ns, ", 1, ");
      line.Add(block_bytes, ", ");
      line.Add(OffsetOf(host.workload, block_bytes, write.seq), ", 0\n");
      ++lines;
      return output->Append(line.text());
    }));
    PLIMSOLL_RETURN_IF_ERROR(output->Finish());
  }
  made.Keep();
  return lines;
}

}  // namespace plimsoll
