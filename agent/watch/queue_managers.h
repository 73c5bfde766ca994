// Where a queue manager of this host keeps its files.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// A stanza of mqs.ini or qm.ini: "QueueManager:" and the lines "   Name=QM1" below it.
struct IniStanza {
  std::string name;
  std::map<std::string, std::string> values;
};
// Lines that are neither, and comments ('#' or ';'), are passed over.
std::vector<IniStanza> ParseIni(const std::string& text);

struct QueueManagerPaths {
  // Directory of `master`, `active`, `standby` and the like; empty if it is unknown.
  std::string data_dir;
  // Directory of the log's extents.
  std::string log_dir;
};

// Finds a queue manager's directories by mqs.ini (`mqs_ini`) and its qm.ini. NOT_FOUND names the file that does not
// have it and the way out.
absl::StatusOr<QueueManagerPaths> FindQueueManagerPaths(const std::string& name,
                                                        const std::string& mqs_ini = "/var/mqm/mqs.ini");

}  // namespace plimsoll
