#include "agent/host/block_stack.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/host/mounts.h"
#include "agent/host/text_file.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Far more than volumes are made of; a loop in /sys would be the kernel's fault, but must not hang the agent.
constexpr size_t kMaxLayers = 256;

// "none [mq-deadline] bfq": the one in brackets. "none" alone stands without.
std::string ChosenScheduler(const std::string& text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  return open == std::string::npos || close < open ? text : text.substr(open + 1, close - open - 1);
}

uint64_t Number(const fs::path& file) {
  uint64_t value = 0;
  return absl::SimpleAtoi(ReadTextLine(file.string()), &value) ? value : 0;
}

v1::BlockLayer::Kind KindOf(const fs::path& directory, const std::string& mapper_uuid) {
  std::error_code error;
  if (fs::exists(directory / "partition", error)) return v1::BlockLayer::KIND_PARTITION;
  if (fs::exists(directory / "md", error)) return v1::BlockLayer::KIND_RAID;
  if (mapper_uuid.empty()) return v1::BlockLayer::KIND_DISK;
  // A partition of a mapped device has "part1-" in front.
  if (absl::StrContains(mapper_uuid, "mpath-")) return v1::BlockLayer::KIND_MULTIPATH;
  if (absl::StartsWith(mapper_uuid, "LVM-")) return v1::BlockLayer::KIND_VOLUME;
  if (absl::StartsWith(mapper_uuid, "CRYPT-")) return v1::BlockLayer::KIND_ENCRYPTED;
  return v1::BlockLayer::KIND_MAPPED;
}

std::string WorldWideName(const fs::path& directory) {
  const std::string name = ReadTextLine((directory / "device" / "wwid").string());
  return name.empty() ? ReadTextLine((directory / "wwid").string()) : name;
}

// Other disks that are the same unit, reached over another path.
void FindOtherPaths(const fs::path& sys, v1::BlockLayer& disk) {
  if (disk.world_wide_name().empty()) return;
  std::error_code error;
  for (fs::directory_iterator entry(sys / "block", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name != disk.name() && WorldWideName(entry->path()) == disk.world_wide_name()) disk.add_other_paths(name);
  }
  std::sort(disk.mutable_other_paths()->begin(), disk.mutable_other_paths()->end());
}

v1::BlockLayer Describe(const fs::path& sys, const fs::path& directory) {
  constexpr uint64_t kSectorBytes = 512;  // of /sys, whatever the device's are
  v1::BlockLayer layer;
  layer.set_name(directory.filename().string());
  const std::string mapper_uuid = ReadTextLine((directory / "dm" / "uuid").string());
  layer.set_kind(KindOf(directory, mapper_uuid));
  layer.set_mapped_name(ReadTextLine((directory / "dm" / "name").string()));
  layer.set_size_bytes(Number(directory / "size") * kSectorBytes);
  // A partition has no queue of its own.
  const fs::path queue = directory / "queue";
  layer.set_scheduler(ChosenScheduler(ReadTextLine((queue / "scheduler").string())));
  layer.set_write_cache(ReadTextLine((queue / "write_cache").string()));
  layer.set_forced_unit_access(Number(queue / "fua") != 0);
  layer.set_rotational(Number(queue / "rotational") != 0);
  layer.set_logical_block_bytes(static_cast<uint32_t>(Number(queue / "logical_block_size")));
  layer.set_physical_block_bytes(static_cast<uint32_t>(Number(queue / "physical_block_size")));
  const std::string vendor = ReadTextLine((directory / "device" / "vendor").string());
  const std::string model = ReadTextLine((directory / "device" / "model").string());
  layer.set_model(vendor.empty() || model.empty() ? model : absl::StrCat(vendor, " ", model));
  layer.set_state(ReadTextLine((directory / "device" / "state").string()));
  layer.set_world_wide_name(WorldWideName(directory));
  if (layer.kind() == v1::BlockLayer::KIND_DISK) FindOtherPaths(sys, layer);
  return layer;
}

void Descend(const fs::path& sys, const fs::path& directory, std::set<std::string>& seen,
             std::vector<v1::BlockLayer>& layers) {
  if (layers.size() >= kMaxLayers || !seen.insert(directory.filename().string()).second) return;
  layers.push_back(Describe(sys, directory));
  const size_t self = layers.size() - 1;
  if (layers[self].kind() == v1::BlockLayer::KIND_PARTITION) {
    const fs::path disk = directory.parent_path();
    layers[self].add_below(disk.filename().string());
    Descend(sys, disk, seen, layers);
    return;
  }
  std::vector<fs::path> below;
  std::error_code error;
  for (fs::directory_iterator entry(directory / "slaves", error), end; !error && entry != end; entry.increment(error)) {
    std::error_code broken;
    fs::path device = fs::canonical(entry->path(), broken);
    if (!broken) below.push_back(std::move(device));
  }
  std::sort(below.begin(), below.end());
  for (const fs::path& device : below) layers[self].add_below(device.filename().string());
  for (const fs::path& device : below) Descend(sys, device, seen, layers);
}

bool Holds(const std::string& directory, const std::string& path) {
  return path == directory || directory == "/" || absl::StartsWith(path, directory + "/");
}

}  // namespace

std::vector<v1::BlockLayer> DescribeBlockStack(dev_t number, const std::string& sys) {
  std::vector<v1::BlockLayer> layers;
  std::error_code error;
  const fs::path directory = fs::canonical(absl::StrCat(sys, "/dev/block/", major(number), ":", minor(number)), error);
  if (error) return layers;
  std::set<std::string> seen;
  Descend(sys, directory, seen, layers);
  return layers;
}

dev_t DeviceOfSource(dev_t device, const std::string& source) {
  struct stat info{};
  if (major(device) != 0 || !absl::StartsWith(source, "/dev/")) return device;
  return stat(source.c_str(), &info) == 0 && S_ISBLK(info.st_mode) ? info.st_rdev : device;
}

std::vector<std::string> ExportsOf(const std::string& path, const std::string& etab) {
  std::vector<std::string> exports;
  std::string best;
  std::istringstream lines(ReadTextFile(etab));
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    const std::string directory = DecodeMountText(line.substr(0, tab));
    if (!Holds(directory, path) || directory.size() < best.size()) continue;
    if (directory.size() > best.size()) exports.clear();
    best = directory;
    exports.push_back(line.substr(tab + 1));
  }
  return exports;
}

}  // namespace plimsoll
