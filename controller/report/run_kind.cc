#include "controller/report/run_kind.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>

namespace plimsoll {
const RunKindFacts& FactsOf(RunKind kind) {
  return *std::ranges::find(kRunKinds, kind, &RunKindFacts::kind);
}

bool HasSection(const google::protobuf::Message& message, RunKind kind) {
  const google::protobuf::FieldDescriptor* const field =
      message.GetDescriptor()->FindFieldByName(FactsOf(kind).section);
  if (field == nullptr) return false;
  const google::protobuf::Reflection& read = *message.GetReflection();
  return field->is_repeated() ? read.FieldSize(message, field) > 0 : read.HasField(message, field);
}

RunKind RunKindOf(const google::protobuf::Message& message) {
  return std::ranges::find_if(kRunKinds,
                              [&message](const RunKindFacts& facts) {
                                return facts.kind == RunKind::kRun || HasSection(message, facts.kind);
                              })
      ->kind;
}

}  // namespace plimsoll
