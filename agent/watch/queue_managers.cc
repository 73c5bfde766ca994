#include "agent/watch/queue_managers.h"

#include <fcntl.h>

#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/host/storage_stack.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr char kLogDirAdvice[] = "name the directory of the log files with --log-dir";

const std::string* ValueOf(const IniStanza& stanza, const std::string& key) {
  const auto found = stanza.values.find(key);
  return found == stanza.values.end() ? nullptr : &found->second;
}

// Not access(), which leaves the capabilities of the agent's file out.
absl::Status CheckReadable(const std::string& path) {
  if (UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)).valid()) return absl::OkStatus();
  const int error_number = errno;
  return absl::NotFoundError(absl::StrCat(path, " cannot be read: ", kLogDirAdvice, " (",
                                          std::string(PosixError("open", "", error_number).message()), ")"));
}

}  // namespace

std::vector<IniStanza> ParseIni(const std::string& text) {
  std::vector<IniStanza> stanzas;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    const size_t equals = line.find('=');
    if (equals == absl::string_view::npos) {
      if (line.back() == ':') stanzas.push_back({std::string(line.substr(0, line.size() - 1)), {}});
      continue;
    }
    if (stanzas.empty()) continue;
    const absl::string_view key = absl::StripAsciiWhitespace(line.substr(0, equals));
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(equals + 1));
    stanzas.back().values[std::string(key)] = std::string(value);
  }
  return stanzas;
}

absl::StatusOr<QueueManagerPaths> FindQueueManagerPaths(const std::string& name, const std::string& mqs_ini) {
  PLIMSOLL_RETURN_IF_ERROR(CheckReadable(mqs_ini));
  QueueManagerPaths paths;
  for (const IniStanza& stanza : ParseIni(ReadTextFile(mqs_ini))) {
    const std::string* const stanza_name = ValueOf(stanza, "Name");
    if (stanza.name != "QueueManager" || stanza_name == nullptr || *stanza_name != name) continue;
    const std::string* const directory = ValueOf(stanza, "Directory");
    const std::string* const prefix = ValueOf(stanza, "Prefix");
    if (const std::string* const data = ValueOf(stanza, "DataPath"); data != nullptr) {
      paths.data_dir = *data;
    } else {
      paths.data_dir =
          absl::StrCat(prefix != nullptr ? *prefix : "/var/mqm", "/qmgrs/", directory != nullptr ? *directory : name);
    }
  }
  if (paths.data_dir.empty()) {
    return absl::NotFoundError(
        absl::StrCat(mqs_ini, " has no queue manager ", name, ": check the name, or ", kLogDirAdvice));
  }
  const std::string qm_ini = absl::StrCat(paths.data_dir, "/qm.ini");
  PLIMSOLL_RETURN_IF_ERROR(CheckReadable(qm_ini));
  for (const IniStanza& stanza : ParseIni(ReadTextFile(qm_ini))) {
    const std::string* const path = ValueOf(stanza, "LogPath");
    if (stanza.name == "Log" && path != nullptr) paths.log_dir = *path;
  }
  if (paths.log_dir.empty()) {
    return absl::NotFoundError(absl::StrCat(qm_ini, " has no LogPath in its Log stanza: ", kLogDirAdvice));
  }
  while (paths.log_dir.size() > 1 && paths.log_dir.back() == '/') paths.log_dir.pop_back();
  absl::StrAppend(&paths.log_dir, "/active");
  return paths;
}

}  // namespace plimsoll
