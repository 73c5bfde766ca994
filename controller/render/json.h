// Reports and comparisons as JSON, and the schema of that JSON.
#pragma once

#include <string>

#include "controller/render/json_writer.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/timestamp.pb.h"

namespace plimsoll {

// Field names as in the message's proto and in its order, zeros printed, what has presence and is absent left out,
// 64-bit numbers as numbers, moments as RFC 3339 with nine digits, enums in lower case without their prefix, bytes as
// hex.
std::string RenderJson(const google::protobuf::Message& message);

// Any message in the same way, as one value of a JSON text.
void WriteJson(const google::protobuf::Message& message, JsonWriter& json);

// JSON schema (draft 2020-12) of what RenderJson makes of messages of `type`. Its descriptions are the comments of the
// proto files, where the descriptor knows its source; those compiled in do not.
std::string RenderSchema(const google::protobuf::Descriptor& type);

// How an enum value is spelled in JSON and CSV: SYNC_MODE_DSYNC is "dsync". Unknown numbers are "unspecified".
std::string EnumName(const google::protobuf::EnumDescriptor& type, int number);

// RFC 3339 in UTC with nine digits of the second. Moments that 64 bits of nanoseconds cannot hold are clamped.
std::string FormatMoment(const google::protobuf::Timestamp& moment);

}  // namespace plimsoll
