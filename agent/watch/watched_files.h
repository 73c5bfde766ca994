// Which file a descriptor of a watched process belongs to, at any moment of the records.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/watch/call_pairing.h"
#include "agent/watch/perf_records.h"
#include "agent/watch/watched_calls.h"

namespace plimsoll {

// A descriptor's file, as /proc shows it.
struct DescriptorFile {
  // Whether it is a file of the log.
  bool log = false;
  std::string path;
  // As in v1::WriteSample.
  uint32_t extent = 0;
  // Where the descriptor's next write without an offset goes; nothing: at the file's end (O_APPEND).
  std::optional<uint64_t> position;
};

// A write or sync of a log file, or one whose file is unknown.
struct FileAccess {
  enum class Outcome : uint8_t { kOther, kLog, kUnknown };
  Outcome outcome = Outcome::kOther;
  // Of kLog.
  std::string path;
  uint32_t extent = 0;
  std::optional<uint64_t> offset_bytes;
};

// Follows the descriptors of processes through the calls that make, copy and end them. Starts from /proc, and returns
// to it for each file that is opened: the records do not hold the file's name. Since a descriptor may have been closed
// and opened anew until /proc is read, LookAt notes when it read, and Take accepts the answer only if no later call up
// to that moment may have changed the descriptor. Not thread-safe.
class WatchedFiles {
 public:
  // What /proc shows of a descriptor now; nothing where it is closed, or cannot be read.
  using Look = std::function<std::optional<DescriptorFile>(uint32_t pid, int fd)>;
  // The file that the name at that address of the process stands for. Nothing where the name may have changed since it
  // was used, or leaves open whether it is a file of the log. Called some 50 ms after the name was used.
  using LookUpName = std::function<std::optional<DescriptorFile>(uint32_t pid, uint64_t address)>;
  using Now = std::function<int64_t()>;
  WatchedFiles(Look look, LookUpName look_up_name, Now now)
      : look_(std::move(look)), look_up_name_(std::move(look_up_name)), now_(std::move(now)) {}

  // A process whose descriptors were read from /proc, the first at `from_ns` or later.
  void AddProcess(uint32_t pid, const std::map<int, DescriptorFile>& descriptors, int64_t from_ns);
  void RemoveProcess(uint32_t pid);

  // Takes records as soon as they are drained: reads /proc for the descriptors that they returned. Where one is closed
  // by then, the name that the process passed decides, if it is still there.
  void LookAt(std::span<const PerfRecord> records);
  // Until when all records must be known before Take may be given the call that this record ends; 0: at once.
  int64_t NeededUntil(const PerfRecord& record) const;
  // Drops what LookAt found for the record, once it was taken.
  void Forget(const PerfRecord& record);
  // Takes the next call; `upcoming` are the records after it, in the order of time.
  FileAccess Take(const CompletedCall& call, std::span<const PerfRecord> upcoming);

  // The file that an open call would write; kOther where it is not a write of the log.
  FileAccess At(const OpenCall& call) const;

 private:
  // An open file, shared by copies of a descriptor.
  struct OpenFile {
    bool known = false;
    DescriptorFile file;
    // While it is unknown: when /proc was read last.
    int64_t looked_ns = 0;
  };
  struct Descriptor {
    std::shared_ptr<OpenFile> file;
    // When it came to be, or was read.
    int64_t since_ns = 0;
  };
  struct Looked {
    int64_t end_ns = 0;
    std::optional<DescriptorFile> file;
  };
  using Key = std::pair<uint32_t, int>;

  // Whether each write goes to the file's end (O_APPEND), whatever offset it names.
  static bool Appends(const OpenFile& open) { return open.known && !open.file.position; }
  // What /proc shows of a file that was not known.
  static void Learn(const DescriptorFile& file, OpenFile& open);
  void LookAtOpened(const PerfRecord& record);
  void TakeOpen(const CallDescription& description, const CompletedCall& call, int fd,
                std::span<const PerfRecord> upcoming);
  void TakeEnd(const CallDescription& description, const CompletedCall& call);
  FileAccess TakeAccess(const CallDescription& description, const CompletedCall& call,
                        std::span<const PerfRecord> upcoming);

  const Look look_;
  const LookUpName look_up_name_;
  const Now now_;
  std::map<Key, Descriptor> descriptors_;
  // By thread and time of the record.
  std::map<std::pair<uint32_t, int64_t>, Looked> looked_;
};

}  // namespace plimsoll
