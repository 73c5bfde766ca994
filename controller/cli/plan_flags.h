// The options of a command line that set the fields of a plan.
#pragma once

#include <google/protobuf/descriptor.h>

#include <CLI/CLI.hpp>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/launch/launcher.h"
#include "controller/report/run_kind.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// One option for every field of a plan whose rule names one, with its other spellings, --hosts and --hosts-file, and
// for a run and a search --files-from. For a drill: those of its section, and those of a run that have a meaning for
// it; the pairs name the hosts. For a search: those of its section, too. For an acceptance: those of its section and of
// a search. For a watch: those of its section, and those of a run that do not say how to write. For
// the I/O of a restart: those of its section, and those of a run that say where it goes and who runs it.
//
// Construct before parsing, call ApplyTo after it. The app must outlive the object.
class PlanFlags {
 public:
  explicit PlanFlags(CLI::App& app, RunKind kind = RunKind::kRun);

  // Where neither the options nor the plan name hosts, they are those that this launcher finds, if it finds any.
  // `launch` outlives the object.
  void FindHostsBy(const LaunchOptions& launch) { launch_ = &launch; }

  // Puts the options that were given over `plan`: over the plan's own value, and over the value of every host that has
  // one of its own. --hosts and --hosts-file, together, replace the hosts; a host of the plan with the same address
  // keeps its workload. INVALID_ARGUMENT "--file-size: '64q' is not a size: ..."; the system's error for the hosts
  // file.
  absl::Status ApplyTo(v1::TestPlan& plan) const;

 private:
  struct Flag {
    const google::protobuf::FieldDescriptor* field;
    const CLI::Option* option;
  };

  void AddFlags(const google::protobuf::Descriptor& message, const std::string& group, CLI::App& app);
  absl::Status ApplyHosts(v1::TestPlan& plan) const;
  // The names in the file of --files-from.
  absl::Status ApplyFilesFrom(v1::TestPlan& plan) const;

  const RunKind kind_;
  // Null: hosts are named.
  const LaunchOptions* launch_ = nullptr;
  // Values of options whose value may be left out; the parser keeps their addresses.
  std::deque<std::string> flag_values_;
  std::vector<Flag> flags_;
  // Null for a drill.
  const CLI::Option* hosts_ = nullptr;
  const CLI::Option* hosts_file_ = nullptr;
  // Null where the command has no --files.
  const CLI::Option* files_from_ = nullptr;
};

// INVALID_ARGUMENT where the plan of that file is for another command than that of `kind`, which is named.
absl::Status CheckPlanKind(const v1::TestPlan& plan, RunKind kind, const std::string& file);

// The field of a plan or its workload whose option on the command line, or another spelling of it, has this name; null
// where there is none.
const google::protobuf::FieldDescriptor* FindPlanOption(const std::string& name);

// Puts one option over the plan's own value, and over the value of every host that has one of its own. `field` is of
// the plan, its workload or one of its sections; `text` as on the command line. INVALID_ARGUMENT "--file-size: ...".
absl::Status SetPlanOption(const google::protobuf::FieldDescriptor& field, const std::string& text, v1::TestPlan& plan);

}  // namespace plimsoll
