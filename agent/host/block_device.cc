#include "agent/host/block_device.h"

#include <sys/sysmacros.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/host/text_file.h"

namespace plimsoll {

std::optional<BlockDevice> FindBlockDevice(dev_t number, const std::string& sys_dev_block) {
  const std::string link = absl::StrCat(sys_dev_block, "/", major(number), ":", minor(number));
  std::error_code error;
  std::filesystem::path directory = std::filesystem::canonical(link, error);
  if (error) return std::nullopt;
  BlockDevice device;
  device.name = directory.filename().string();
  device.number = number;
  device.disk_number = number;
  // A partition has no queue of its own: its disk's directory is the one above.
  if (std::filesystem::exists(directory / "partition", error)) {
    directory = directory.parent_path();
    const std::vector<std::string> parts = absl::StrSplit(ReadTextLine(directory / "dev"), ':');
    uint32_t disk_major = 0;
    uint32_t disk_minor = 0;
    if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &disk_major) && absl::SimpleAtoi(parts[1], &disk_minor)) {
      device.disk_number = makedev(disk_major, disk_minor);
    }
  }
  if (!absl::SimpleAtoi(ReadTextLine(directory / "queue" / "logical_block_size"), &device.logical_block_bytes)) {
    device.logical_block_bytes = 0;
  }
  return device;
}

}  // namespace plimsoll
