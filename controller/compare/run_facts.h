// Facts about a run that are no figures: where it wrote, from which hosts, with which options.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

struct RunFact {
  // For people, such as "mount options".
  std::string what;
  // Why it matters where runs differ in it; empty for facts that just have to be named.
  std::string why;
  // Its values in a run: one for each host mostly, each once.
  std::function<std::set<std::string>(const v1::Report&)> values;
};

// Facts that must be the same: otherwise the writes themselves are not the same.
const std::vector<RunFact>& DecisiveFacts();
// Facts that make the load: where they differ, figures differ on one and the same storage.
const std::vector<RunFact>& LoadFacts();
// All that are listed where they differ, storage first. Options are those of the plan that shape what is measured, by
// the names of their flags.
const std::vector<RunFact>& AllFacts();

}  // namespace plimsoll
