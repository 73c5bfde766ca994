#include "controller/storage/advice.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/algorithm.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr char kTestingStatement[] = "IBM: Testing statement for IBM MQ multi-instance queue manager file systems";
constexpr char kNfsManual[] = "nfs(5)";
constexpr char kExportsManual[] = "exports(5)";
constexpr char kKernelQueue[] = "Linux: Documentation/ABI/stable/sysfs-block";
constexpr char kKernelCache[] = "Linux: Documentation/block/writeback_cache_control.rst";
constexpr char kPlimsoll[] = "docs/nfs.md";

using Options = absl::flat_hash_map<std::string, std::string>;

class Adviser {
 public:
  Adviser(const v1::DirectoryDescription& directory, uint64_t block_size_bytes)
      : directory_(directory),
        options_(ParseMountOptions(directory.mount_options())),
        block_size_bytes_(block_size_bytes) {}

  std::vector<StorageAdvice> Advise() {
    if (Has("ro")) Problem("mounted read-only (ro)", "nothing can be written", "mount(8)");
    if (IsNfsType(directory_.fs_type())) {
      Nfs();
    } else {
      FileSystem();
    }
    for (const v1::BlockLayer& layer : directory_.block_layers()) Device(layer);
    for (const std::string& one : directory_.exports()) Export(one);
    StableSort(advice_, [](const StorageAdvice& a, const StorageAdvice& b) { return a.level < b.level; });
    return std::move(advice_);
  }

 private:
  bool Has(const std::string& name) const { return options_.contains(name); }
  std::string Value(const std::string& name) const {
    const auto found = options_.find(name);
    return found == options_.end() ? "" : found->second;
  }
  bool NoBarrier() const { return Has("nobarrier") || Value("barrier") == "0"; }
  void Add(AdviceLevel level, std::string what, std::string why, const char* source) {
    advice_.push_back({level, std::move(what), std::move(why), source});
  }
  void Problem(std::string what, std::string why, const char* source) {
    Add(AdviceLevel::kProblem, std::move(what), std::move(why), source);
  }
  void Warning(std::string what, std::string why, const char* source) {
    Add(AdviceLevel::kWarning, std::move(what), std::move(why), source);
  }
  void Hint(std::string what, std::string why, const char* source) {
    Add(AdviceLevel::kHint, std::move(what), std::move(why), source);
  }

  void Nfs() {
    for (const char* soft : {"soft", "softerr"}) {
      if (!Has(soft)) continue;
      Problem(absl::StrCat(soft, " mount"),
              "a write that the server is slow to answer fails after retrans tries, though it may still be done: the "
              "log is "
              "damaged; mount it hard",
              kNfsManual);
    }
    const std::string version = Value("vers");
    if (!version.empty() && !absl::StartsWith(version, "4")) {
      Problem(absl::StrCat("NFS version ", version),
              "the server keeps the locks of a dead host until that host restarts, so no standby can take over; use "
              "vers=4.1 or "
              "later",
              kTestingStatement);
    } else if (version == "4.0") {
      Hint("NFS version 4.0", "4.1 and later have sessions, so a retransmitted call is not executed twice", "RFC 8881");
    }
    const std::string local = Value("local_lock");
    if (Has("nolock") || (!local.empty() && local != "none")) {
      Problem(Has("nolock") ? "nolock" : absl::StrCat("local_lock=", local),
              "locks are local to this host: two hosts can run one queue manager at once; mount with local_lock=none",
              kNfsManual);
    }
    if (Value("proto") == "udp") {
      Problem("proto=udp", "packets that are reassembled wrongly damage data silently; use proto=tcp", kNfsManual);
    }
    uint64_t wsize_bytes = 0;
    if (absl::SimpleAtoi(Value("wsize"), &wsize_bytes) && wsize_bytes < block_size_bytes_) {
      Warning(absl::StrCat("wsize=", wsize_bytes, " is below the largest write (", FormatSize(block_size_bytes_), ")"),
              "a larger write is sent as several and a COMMIT, one more round trip; raise wsize (the server also "
              "limits it), or expect higher latency above that size",
              kPlimsoll);
    }
    if (Has("noac") || Value("actimeo") == "0") {
      Hint(Has("noac") ? "noac" : "actimeo=0",
           "every file access asks the server for attributes; a log does not need that", kNfsManual);
    }
    if (directory_.exports().empty()) {
      Hint("the client cannot see whether the export is sync",
           "an async export acknowledges writes that it can lose: on the server, `exportfs -v` must show sync",
           kExportsManual);
    }
  }

  void FileSystem() {
    static constexpr std::array<const char*, 4> kInMemory = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"};
    const std::string& type = directory_.fs_type();
    if (std::ranges::find(kInMemory, type) != kInMemory.end()) {
      Problem(absl::StrCat(type, " keeps data in memory"), "the log is gone after a restart", "tmpfs(5)");
    } else if (type == "overlay") {
      Problem("overlay is a layer over another file system",
              "it belongs to a container and is removed with it; use a volume",
              "Linux: Documentation/filesystems/overlayfs.rst");
    } else if (type == "btrfs" || type == "zfs") {
      Warning(absl::StrCat(type, " writes each block to a new place"),
              "a circular log, overwritten in place, becomes slower and fragmented", "btrfs(5), zfsprops(7)");
    } else if (!directory_.caveat().empty() && !NoBarrier()) {
      Warning(directory_.caveat(), "whether an acknowledged write is safe depends on it", "mount(8)");
    }
    if (NoBarrier()) {
      Problem("mounted without barriers", "a power cut can lose acknowledged writes; mount without that option",
              "ext4(5), xfs(5)");
    }
    if (Value("data") == "journal") {
      Warning("data=journal", "every block is written twice; use data=ordered", "ext4(5)");
    }
  }

  void Device(const v1::BlockLayer& layer) {
    const std::string name = layer.mapped_name().empty() ? layer.name() : layer.mapped_name();
    if (layer.kind() == v1::BlockLayer::KIND_MULTIPATH && layer.below_size() == 1 &&
        !absl::StartsWith(layer.below(0), "dm-")) {
      Warning(absl::StrCat(name, " has one path only (", layer.below(0), ")"),
              "if it fails, this host loses the log; `multipath -ll` shows the other paths", "multipath(8)");
    }
    if (layer.kind() == v1::BlockLayer::KIND_DISK && layer.other_paths_size() > 0 && !OverMultipath(layer.name())) {
      Problem(
          absl::StrCat(name, " is also ", absl::StrJoin(layer.other_paths(), ", "), ", and no multipath is above it"),
          "the file system uses a single path and hangs when it fails; mount the multipath device", "multipath(8)");
    }
    if (!layer.state().empty() && layer.state() != "running" && layer.state() != "live") {
      Warning(absl::StrCat(name, " is ", layer.state()), "the device accepts no writes over this path", kKernelQueue);
    }
    if (layer.scheduler() == "bfq" || layer.scheduler() == "cfq") {
      Warning(absl::StrCat(name, " has the scheduler ", layer.scheduler()),
              "it delays writes to share the disk between programs; use none or mq-deadline for a log", kKernelQueue);
    }
    if (layer.write_cache() == "write back") {
      Hint(absl::StrCat(name, " has a volatile write cache"),
           layer.forced_unit_access() ? "each synchronous write waits until it is past the cache (FUA)"
                                      : "each synchronous write is followed by a separate cache flush",
           kKernelCache);
    }
    if (layer.rotational() && layer.kind() == v1::BlockLayer::KIND_DISK && !IsVirtual(layer)) {
      Hint(absl::StrCat(name, " reports itself as rotational"),
           "a disk without a battery-backed cache writes once per rotation, about 8 ms", kKernelQueue);
    }
  }

  // A virtio disk or QEMU's: the guest's kernel reports it as rotational, whatever the host's disk is.
  static bool IsVirtual(const v1::BlockLayer& layer) {
    return absl::StartsWith(layer.name(), "vd") || absl::StrContains(layer.model(), "QEMU");
  }

  bool OverMultipath(const std::string& disk) const {
    return std::ranges::any_of(directory_.block_layers(), [&](const v1::BlockLayer& layer) {
      return layer.kind() == v1::BlockLayer::KIND_MULTIPATH &&
             std::ranges::find(layer.below(), disk) != layer.below().end();
    });
  }

  void Export(const std::string& one) {
    const size_t open = one.find('(');
    const size_t close = one.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open) return;
    const Options options = ParseMountOptions(one.substr(open + 1, close - open - 1));
    const std::string client = one.substr(0, open);
    if (options.contains("async")) {
      Problem(absl::StrCat("exported async to ", client),
              "the server acknowledges writes before they are stable: a queue manager's log can lose what it promised; "
              "export "
              "it sync",
              kExportsManual);
    } else if (options.contains("wdelay")) {
      Hint(absl::StrCat("exported with wdelay to ", client),
           "the server may delay a write to combine it with others; use no_wdelay for a log", kExportsManual);
    }
  }

  const v1::DirectoryDescription& directory_;
  const Options options_;
  const uint64_t block_size_bytes_;
  std::vector<StorageAdvice> advice_;
};

}  // namespace

Options ParseMountOptions(const std::string& options) {
  Options parsed;
  for (const std::string& option : std::vector<std::string>(absl::StrSplit(options, ',', absl::SkipEmpty()))) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(option, absl::MaxSplits('=', 1));
    parsed[pair.first] = pair.second;
  }
  return parsed;
}

bool IsNfsType(const std::string& fs_type) {
  return fs_type == "nfs" || fs_type == "nfs4";
}

std::vector<StorageAdvice> AdviseOnStorage(const v1::DirectoryDescription& directory, uint64_t block_size_bytes) {
  return Adviser(directory, block_size_bytes).Advise();
}

}  // namespace plimsoll
