// Texts about plans that are made from the rules of their fields: the commented example and docs/plan.md.
#pragma once

#include <string>

namespace plimsoll {

// A plan in YAML with every key, each under a comment that says what it means, its default and its limits. It reads
// back, and CheckPlan passes it.
std::string ExamplePlan();

// Markdown reference of every key and option, docs/plan.md.
std::string PlanReference();

}  // namespace plimsoll
