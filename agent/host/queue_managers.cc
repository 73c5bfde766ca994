#include "agent/host/queue_managers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/host/text_file.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr char kControlFile[] = "amqhlctl.lfh";
constexpr int kMaxSearchDepth = 4;
constexpr int kMaxSearchEntries = 10'000;
constexpr size_t kMaxFound = 10;
// Every run has a directory of this name and its id in hexadecimal digits.
constexpr char kRunDirectory[] = "/plimsoll-";

// Whether a path lies below a run's directory: extents of a run, or what an interrupted one left.
bool IsOwnRun(const std::string& path) {
  for (size_t at = path.find(kRunDirectory); at != std::string::npos; at = path.find(kRunDirectory, at + 1)) {
    const size_t id = at + sizeof(kRunDirectory) - 1;
    const size_t end = path.find_first_not_of("0123456789abcdef", id);
    if (end != std::string::npos && end > id && path[end] == '/') return true;
  }
  return false;
}

bool OnDevice(const std::string& path, dev_t device) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && info.st_dev == device;
}

void FindControlFiles(const std::string& mount_point, dev_t device, const std::function<bool()>& cancelled,
                      std::vector<std::string>& found) {
  std::error_code error;
  fs::recursive_directory_iterator entry(mount_point, fs::directory_options::skip_permission_denied, error);
  for (int seen = 0; !error && entry != fs::recursive_directory_iterator() && seen < kMaxSearchEntries;
       ++seen, entry.increment(error)) {
    if (cancelled()) return;
    const std::string& path = entry->path().native();
    if (entry->path().filename() == kControlFile && OnDevice(path, device)) found.push_back(path);
    if (found.size() >= kMaxFound) return;
    std::error_code ignored;
    // Another file system below is another storage.
    if (entry->is_directory(ignored) && (entry.depth() + 1 >= kMaxSearchDepth || !OnDevice(path, device))) {
      entry.disable_recursion_pending();
    }
  }
}

void FindHolders(dev_t device, const std::function<bool()>& cancelled, std::vector<std::string>& found) {
  std::error_code error;
  const std::string self = std::to_string(getpid());
  for (const fs::directory_entry& process : fs::directory_iterator("/proc", error)) {
    if (cancelled()) return;
    const std::string pid = process.path().filename();
    if (pid == self || !std::all_of(pid.begin(), pid.end(), absl::ascii_isdigit)) continue;
    for (fs::directory_iterator file(process.path() / "fd", error); !error && file != fs::directory_iterator();
         file.increment(error)) {
      std::error_code ignored;
      const std::string target = fs::read_symlink(file->path(), ignored);
      if (!IsQueueManagerLog(target) || IsOwnRun(target)) continue;
      if (!OnDevice(file->path(), device)) continue;
      const std::string name = ReadTextLine(absl::StrCat("/proc/", pid, "/comm"));
      found.push_back(absl::StrCat("process ", pid, " (", name, ") holds ", target));
      break;
    }
    if (found.size() >= kMaxFound) return;
  }
}

}  // namespace

bool IsQueueManagerLog(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == kControlFile) return true;
  constexpr size_t kExtentNameBytes = 12;  // S0000000.LOG
  return name.size() == kExtentNameBytes && name[0] == 'S' && name.substr(8) == ".LOG" &&
         std::all_of(name.begin() + 1, name.begin() + 8, absl::ascii_isdigit);
}

std::vector<std::string> FindQueueManagers(const std::string& directory, const std::string& mount_point,
                                           const std::function<bool()>& cancelled) {
  std::vector<std::string> found;
  struct stat info{};
  if (stat(directory.c_str(), &info) != 0) return found;
  FindHolders(info.st_dev, cancelled, found);
  if (found.size() < kMaxFound) {
    FindControlFiles(mount_point.empty() ? directory : mount_point, info.st_dev, cancelled, found);
  }
  return found;
}

}  // namespace plimsoll
