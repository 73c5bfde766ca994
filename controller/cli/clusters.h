// Clusters by name: hosts and how they are reached, from a file in place of the command line (docs/clusters.md).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

// Options of a command line, without their dashes, and their values in order; an option that may be there several times
// has several. A flag has the value "true".
using ClusterOptions = std::vector<std::pair<std::string, std::string>>;

// The file without --config: $XDG_CONFIG_HOME/plimsoll/clusters.yaml, or ~/.config/plimsoll/clusters.yaml. Empty where
// there is no home directory.
std::string DefaultClustersFile();

// The options of the cluster `name` in the text of a file. Paths of files are relative to the directory of `path`.
// INVALID_ARGUMENT "FILE:LINE:COLUMN: ..." where the file is not as it must be, with the nearest name for a key that is
// unknown; NOT_FOUND where it has no such cluster.
absl::StatusOr<ClusterOptions> ReadCluster(const std::string& text, const std::string& path, const std::string& name);

// Adds --cluster and --config to a command that takes hosts. Their values are read by WithCluster.
void AddClusterFlags(CLI::App& command);

// The words of a command line, of PrepareWords, with the options of its --cluster, or of PLIMSOLL_CLUSTER, behind them.
// What the line gives itself is not replaced: --hosts or --hosts-file stand for the cluster's hosts, --launch for how
// they are reached, and what names another place for its directory. PLIMSOLL_CLUSTER is ignored where the line names
// hosts or a plan, which may have some; where it is used, `note` is what a person must know of that.
absl::StatusOr<std::vector<std::string>> WithCluster(const CLI::App& app, std::vector<std::string> words,
                                                     std::string& note);

}  // namespace plimsoll
