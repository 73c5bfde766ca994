// fio's latency logs.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/export/exported_places.h"
#include "controller/export/formats.h"
#include "controller/export/output.h"
#include "controller/journal/results.h"

namespace plimsoll {
namespace {

// The directory and the files in it; removes them, and the directory where it was made, unless they are to stay.
class Made {
 public:
  explicit Made(std::string path) : path_(std::move(path)) {}
  ~Made() {
    if (kept_) return;
    for (const std::string& file : files_) unlinkat(directory_.fd.get(), file.c_str(), 0);
    if (directory_.made()) unlinkat(directory_.parent.get(), directory_.name.c_str(), AT_REMOVEDIR);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  absl::Status MakeDirectory(int results) {
    struct stat facts{};
    if (results < 0 && stat(path_.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--output: ", path_, " is not a directory; name the directory that the logs go into"));
    }
    if (results < 0) {
      PLIMSOLL_ASSIGN_OR_RETURN(directory_, MakeDirectories(AT_FDCWD, path_, Links::kFollow));
    } else {
      PLIMSOLL_ASSIGN_OR_RETURN(directory_,
                                MakeDirectories(results, path_.substr(path_.rfind('/') + 1), Links::kRefuse));
    }
    if (directory_.made()) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(const bool empty, IsEmptyDirectory(directory_.fd, path_));
    if (empty) return absl::OkStatus();
    return absl::InvalidArgumentError(path_ + " is not empty: remove it, or name another directory with --output");
  }
  absl::StatusOr<std::unique_ptr<Output>> AddFile(const std::string& name) {
    absl::StatusOr<std::unique_ptr<Output>> output =
        OpenOutputIn(directory_.fd.get(), name, absl::StrCat(path_, "/", name));
    if (output.ok()) files_.push_back(name);
    return output;
  }
  void Keep() { kept_ = true; }

 private:
  std::string path_;
  HeldDirectory directory_;
  std::vector<std::string> files_;
  bool kept_ = false;
};

// The moment of the timeline that the logs have as 0.
int64_t BaseNs(const RunIndex& index, const WriteFilter& filter, bool unix_epoch) {
  if (unix_epoch) {
    const google::protobuf::Timestamp begin = index.timeline().ToUtc(index.begin_ns());
    return index.begin_ns() - begin.seconds() * kNsPerSecond - begin.nanos();
  }
  if (filter.step) return index.steps().at(*filter.step).begin.start_ns();
  return index.steps().empty() ? index.begin_ns() : index.steps().begin()->second.begin.start_ns();
}

}  // namespace

absl::StatusOr<uint64_t> ExportFioLogs(const RunIndex& index, const WriteFilter& filter, WriteStream& writes,
                                       const std::string& directory, int results, bool unix_epoch) {
  Made made(directory);
  PLIMSOLL_RETURN_IF_ERROR(made.MakeDirectory(results));
  const int64_t base_ns = BaseNs(index, filter, unix_epoch);
  ExportedPlaces places(index);
  uint64_t lines = 0;
  std::string line;
  for (uint32_t place = 0; place < index.writers().size(); ++place) {
    const IndexedWriter& writer = index.writers()[place];
    const IndexedHost& host = index.hosts().at(writer.host);
    std::vector<std::unique_ptr<Output>> outputs;
    for (const char* kind : {"clat", "lat"}) {
      PLIMSOLL_ASSIGN_OR_RETURN(
          std::unique_ptr<Output> output,
          made.AddFile(absl::StrCat(SafeName(host.label), "_qm", writer.qm, "_", kind, ".", place + 1, ".log")));
      outputs.push_back(std::move(output));
    }
    // fio has no column for the offset without log_offset.
    const bool has_offsets = places.KnowsAll(place, filter);
    PLIMSOLL_RETURN_IF_ERROR(writes.ForWriter(place, [&](const ExportedWrite& write) {
      const int64_t end_ns = write.start_ns + static_cast<int64_t>(write.latency_ns) - base_ns;
      line = absl::StrCat(std::max<int64_t>(end_ns, 0) / kNsPerMs, ", ", write.latency_ns, ", ", write.read ? 0 : 1,
                          ", ", write.bytes, ", ");
      if (has_offsets) absl::StrAppend(&line, places.OffsetOf(write).value_or(0), ", ");
      line += "0\n";
      ++lines;
      absl::Status written;
      for (const auto& output : outputs) written.Update(output->Append(line));
      return written;
    }));
    for (const auto& output : outputs) PLIMSOLL_RETURN_IF_ERROR(output->Finish());
  }
  made.Keep();
  return lines;
}

}  // namespace plimsoll
