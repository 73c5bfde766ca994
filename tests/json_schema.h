// The schemas of the JSON that the programs write.
#pragma once

#include <deque>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "controller/render/json.h"
#include "google/protobuf/descriptor.h"
#include "plimsoll/v1/options.pb.h"

namespace plimsoll::tests {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

inline constexpr char kTimestamp[] = "google.protobuf.Timestamp";

// The comment in front of a field or a type, on one line; empty where there is none.
template <typename Described>
std::string CommentOf(const Described& described) {
  google::protobuf::SourceLocation location;
  if (!described.GetSourceLocation(&location)) return "";
  const std::string text = absl::StrReplaceAll(location.leading_comments, {{"\n", " "}});
  std::string comment(absl::StripAsciiWhitespace(text));
  while (comment.find("  ") != std::string::npos) comment = absl::StrReplaceAll(comment, {{"  ", " "}});
  return comment;
}

inline bool IsNullable(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::nullable);
}

inline void Member(const char* key, const std::string& value, JsonWriter& json) {
  json.Key(key);
  json.String(value);
}

// Collects the message types that a schema refers to.
class SchemaWriter {
 public:
  explicit SchemaWriter(const Descriptor& root) { Need(root); }

  std::string Write() {
    const Descriptor& root = *pending_.front();
    pending_.pop_front();
    json_.BeginObject();
    Member("$schema", "https://json-schema.org/draft/2020-12/schema", json_);
    Member("title", absl::StrCat("Plimsoll ", absl::AsciiStrToLower(root.name())), json_);
    WriteObject(root);
    json_.Key("$defs");
    json_.BeginObject();
    while (!pending_.empty()) {
      const Descriptor& type = *pending_.front();
      pending_.pop_front();
      json_.Key(type.name());
      json_.BeginObject();
      WriteObject(type);
      json_.EndObject();
    }
    json_.EndObject();
    json_.EndObject();
    return json_.Take();
  }

 private:
  void Need(const Descriptor& type) {
    if (needed_.insert(type.full_name()).second) pending_.push_back(&type);
  }

  void WriteObject(const Descriptor& type) {
    if (const std::string comment = CommentOf(type); !comment.empty()) Member("description", comment, json_);
    Member("type", "object", json_);
    json_.Key("additionalProperties");
    json_.Bool(false);
    json_.Key("required");
    json_.BeginArray(true);
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (field.options().GetExtension(v1::omit_empty)) continue;
      if (!field.has_presence() || IsNullable(field)) json_.String(field.name());
    }
    json_.EndArray();
    json_.Key("properties");
    json_.BeginObject();
    for (int i = 0; i < type.field_count(); ++i) WriteField(*type.field(i));
    json_.EndObject();
  }

  void WriteField(const FieldDescriptor& field) {
    json_.Key(field.name());
    json_.BeginObject();
    if (const std::string comment = CommentOf(field); !comment.empty()) Member("description", comment, json_);
    if (field.is_repeated()) {
      Member("type", "array", json_);
      json_.Key("items");
      json_.BeginObject();
      WriteType(field);
      json_.EndObject();
    } else {
      WriteType(field);
    }
    json_.EndObject();
  }

  void WriteNullable(const char* type) {
    json_.Key("type");
    json_.BeginArray(true);
    json_.String(type);
    json_.String("null");
    json_.EndArray();
  }

  void WriteType(const FieldDescriptor& field) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
      case FieldDescriptor::CPPTYPE_INT64:
        return IsNullable(field) ? WriteNullable("integer") : Member("type", "integer", json_);
      case FieldDescriptor::CPPTYPE_UINT32:
      case FieldDescriptor::CPPTYPE_UINT64:
        if (IsNullable(field)) {
          WriteNullable("integer");
        } else {
          Member("type", "integer", json_);
        }
        json_.Key("minimum");
        return json_.Int(0);
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        return WriteNullable("number");
      case FieldDescriptor::CPPTYPE_BOOL:
        return Member("type", "boolean", json_);
      case FieldDescriptor::CPPTYPE_ENUM:
        json_.Key("enum");
        json_.BeginArray(true);
        for (int i = 0; i < field.enum_type()->value_count(); ++i) {
          json_.String(EnumName(*field.enum_type(), field.enum_type()->value(i)->number()));
        }
        return json_.EndArray();
      case FieldDescriptor::CPPTYPE_STRING:
        Member("type", "string", json_);
        if (field.type() == FieldDescriptor::TYPE_BYTES) Member("pattern", "^([0-9a-f]{2})*$", json_);
        return;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (field.message_type()->full_name() == kTimestamp) {
          Member("type", "string", json_);
          return Member("format", "date-time", json_);
        }
        Need(*field.message_type());
        return Member("$ref", absl::StrCat("#/$defs/", field.message_type()->name()), json_);
    }
  }

  JsonWriter json_;
  std::set<std::string> needed_;
  std::deque<const Descriptor*> pending_;
};

// JSON schema (draft 2020-12) of what RenderJson makes of messages of `type`. Its descriptions are the comments of the
// proto files, where the descriptor knows its source; those compiled in do not.
inline std::string RenderSchema(const Descriptor& type) {
  return SchemaWriter(type).Write();
}

}  // namespace plimsoll::tests
