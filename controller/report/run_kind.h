// Kinds of run: which one a plan or a report is of, and what all that read them need to know of each.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>

#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The names of the kinds that have a section of their own in the plan; of those whose reports have one, too; and of
// those with an analysis of their own. The tables of the layers are made from these lists: for a kind Name they need
// kNamePlanKind (plan_kinds.h), kNameTextSection (sections.h) and MakeNameAnalysis (kind_analysis.cc), each in the
// sources of the kind.
#define PLIMSOLL_PLANNED_KINDS(KIND) \
  KIND(Ha) KIND(Limit) KIND(Accept) KIND(Placement) KIND(Watch) KIND(Restart) KIND(Disturb)
#define PLIMSOLL_REPORTED_KINDS(KIND) KIND(Ha) KIND(Limit) KIND(Placement) KIND(Watch) KIND(Restart) KIND(Disturb)
#define PLIMSOLL_ANALYSED_KINDS(KIND) KIND(Ha) KIND(Limit) KIND(Restart)

// kRun: log writes in the steps that the plan lists.
enum class RunKind : uint8_t {
  kRun,
#define PLIMSOLL_KIND(Name) k##Name,
  PLIMSOLL_PLANNED_KINDS(PLIMSOLL_KIND)
#undef PLIMSOLL_KIND
};

struct RunKindFacts {
  RunKind kind = RunKind::kRun;
  // The field that a plan of this kind has, and a report of such a run, too. Empty: none.
  const char* section = "";
  // The command that runs its plans, and the title of its page.
  const char* command = "run";
  const char* title = "run";
  // What it is in sentences, and why its runs cannot be compared, or their writes not be exported; null: they can.
  const char* noun = "a run";
  const char* not_comparable = nullptr;
  const char* not_exportable = nullptr;
  // `plimsoll accept` takes its plans, too.
  bool in_acceptance = false;
  // The step that the verdict is about; null: all are.
  uint32_t (*answer_step)(const v1::Report& report) = nullptr;
};

// If a plan has several sections, the first one here decides what it is for.
inline constexpr RunKindFacts kRunKinds[] = {
    {RunKind::kAccept, "accept", "accept", "acceptance", "an acceptance"},
    {RunKind::kHa, "ha", "ha", "HA drill", "an HA drill", ", which has no steps; compare runs (`plimsoll run`)",
     ", whose instances write no steps: there are no writes to export; `plimsoll report` shows its events"},
    {RunKind::kLimit, "limit", "limit", "search for the limit", "a search for the highest load",
     ", whose steps have different loads; compare runs (`plimsoll run`) with one --rate", nullptr, true,
     [](const v1::Report& report) { return report.limit().step(); }},
    {RunKind::kPlacement, "placement", "run", "placement", "a placement",
     ", whose steps have different hosts down; compare runs (`plimsoll run`) without one", nullptr, true},
    {RunKind::kWatch, "watch", "watch", "watched log", "a watch"},
    {RunKind::kRestart, "restart_time", "restart-time", "storage's share of a restart", "a measurement of restart I/O",
     ", which has no steps; it compares the directories of its own run (--vary dir=A,B)",
     ", which writes no log: there are no writes to export; `plimsoll report` shows its figures"},
    {RunKind::kDisturb, "disturb", "run", "disturbed run", "a run with disturbances",
     ", whose commands changed what the storage did meanwhile; compare runs (`plimsoll run`) without `disturb`"},
    {},
};

const RunKindFacts& FactsOf(RunKind kind);

// Whether a plan or a report has the section of that kind.
bool HasSection(const google::protobuf::Message& message, RunKind kind);
// The kind of a plan or a report. A checked plan has several sections only if it is one of an acceptance.
RunKind RunKindOf(const google::protobuf::Message& message);

// Whether queue managers have names, hosts and rates of their own, and steps name the host that is down: in a
// placement, and in the load of an acceptance.
inline bool HasPlacement(const google::protobuf::Message& message) {
  return HasSection(message, RunKind::kPlacement);
}

}  // namespace plimsoll
