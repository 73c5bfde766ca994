// Reads back what RenderJson has made of a report.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The report in `text`, the content of a report.json: the inverse of RenderJson, so that RenderJson of it is `text`
// again. Members that this version does not know are passed over, and those that are missing keep their defaults, so
// that reports of other versions with the same format can be read. INVALID_ARGUMENT where it is not JSON (saying
// where), not a report, or a member is not as in report.proto (naming it); FAILED_PRECONDITION where its format is
// newer than this version reads; RESOURCE_EXHAUSTED where it has more objects than its size justifies: memory grows
// with the text, not with what the text says.
absl::StatusOr<v1::Report> ParseReportJson(const std::string& text);

// As ParseReportJson, for another message that RenderJson has made: its `format` must be `format`. `what` names it in
// errors: "the record of an acceptance (accept.json)".
absl::Status ParseJson(const std::string& text, uint64_t format, const std::string& what,
                       google::protobuf::Message& message);

// "2026-11-20T19:20:11.000000042Z", with at most nine digits of the second or none, as a moment. INVALID_ARGUMENT else.
absl::StatusOr<google::protobuf::Timestamp> ParseMoment(const std::string& text);

}  // namespace plimsoll
