#include "controller/plan/plan_schema.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "plimsoll/v1/plan.pb.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FieldDescriptorProto;

bool IsKnownType(const FieldDescriptor& field) {
  if (field.type() == FieldDescriptor::TYPE_BYTES) return false;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64:
      return KindOf(field) != ValueKind::kTime;
    case FieldDescriptor::CPPTYPE_INT64:
      return KindOf(field) != ValueKind::kSize;
    case FieldDescriptor::CPPTYPE_UINT32:
      return KindOf(field) == ValueKind::kInteger;
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_ENUM:
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return field.real_containing_oneof() == nullptr && !field.is_map();
    default:
      return false;
  }
}

// Collects the problems of a message and those below it, each message once.
class RuleChecker {
 public:
  void Check(const Descriptor& message) {
    if (!seen_.insert(&message).second) return;
    std::set<std::string> keys;
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      if (!keys.insert(FieldKey(field)).second) Add(field, "has the key of another field");
      CheckField(field);
      if (KindOf(field) == ValueKind::kMessage && !RuleOf(field).no_key()) Check(*field.message_type());
    }
  }

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void Add(const FieldDescriptor& field, const std::string& problem) {
    problems_.push_back(absl::StrCat(field.full_name(), " ", problem));
  }

  void CheckField(const FieldDescriptor& field) {
    const v1::FieldRule& rule = RuleOf(field);
    if (!IsKnownType(field)) return Add(field, "has a type that a plan cannot hold");
    if (rule.help().empty()) Add(field, "has no help");
    if (KindOf(field) == ValueKind::kMessage) return;
    if (!field.is_repeated() && !field.has_presence()) Add(field, "has no presence");
    CheckFlags(field, rule);
    for (const std::string& texts : {rule.min(), rule.max(), rule.default_value(), rule.example()}) {
      for (const std::string& text : SplitList(field, texts)) {
        const absl::StatusOr<FieldValue> value = ParseValue(field, text);
        if (!value.ok()) Add(field, absl::StrCat("does not keep its own rule: ", value.status().message()));
      }
    }
  }

  void CheckFlags(const FieldDescriptor& field, const v1::FieldRule& rule) {
    if (rule.flag().empty() && rule.alias_size() > 0) Add(field, "has an alias and no flag");
    std::vector<std::string> flags(rule.alias().begin(), rule.alias().end());
    if (!rule.flag().empty()) flags.push_back(rule.flag());
    // `plimsoll restart-time` takes no option of another section: only those of workload and plan must differ.
    const bool of_restart = field.containing_type() == v1::RestartPlan::descriptor();
    for (const std::string& flag : flags) {
      const bool taken = of_restart ? common_flags_.contains(flag) || !restart_flags_.insert(flag).second
                                    : !flags_.insert(flag).second;
      if (taken) Add(field, absl::StrCat("has the flag --", flag, " of another field"));
      const Descriptor* const type = field.containing_type();
      if (type == v1::TestPlan::descriptor() || type == v1::LogWorkload::descriptor()) common_flags_.insert(flag);
    }
  }

  std::vector<std::string> problems_;
  std::set<const Descriptor*> seen_;
  std::set<std::string> flags_;
  // Flags of plan and workload, which every command has that takes a plan, and flags of restart I/O.
  std::set<std::string> common_flags_;
  std::set<std::string> restart_flags_;
};

// What is wrong with the rules of a message and those below it: a field without help, a default outside its range, a
// flag that two fields have, a field of a type that a plan cannot hold. Empty: nothing.
std::vector<std::string> SchemaProblems(const Descriptor& message) {
  RuleChecker checker;
  checker.Check(message);
  return checker.problems();
}

const FieldDescriptor& WorkloadField(const std::string& key) {
  return *FindField(*v1::LogWorkload::descriptor(), key);
}

const FieldDescriptor& PlanField(const std::string& key) {
  return *FindField(*v1::TestPlan::descriptor(), key);
}

// A message that a later change to the plan could make.
class NewMessage {
 public:
  NewMessage() {
    file_.set_name("new.proto");
    file_.set_syntax("proto3");
    message_ = file_.add_message_type();
    message_->set_name("New");
  }

  v1::FieldRule& Add(const std::string& name, FieldDescriptorProto::Type type, bool presence = true) {
    FieldDescriptorProto& field = *message_->add_field();
    field.set_name(name);
    field.set_number(message_->field_size());
    field.set_type(type);
    field.set_label(FieldDescriptorProto::LABEL_OPTIONAL);
    if (presence) {
      field.set_proto3_optional(true);
      field.set_oneof_index(message_->oneof_decl_size());
      message_->add_oneof_decl()->set_name("_" + name);
    }
    return *field.mutable_options()->MutableExtension(v1::rule);
  }

  std::vector<std::string> Problems() {
    const google::protobuf::FileDescriptor* file = pool_.BuildFile(file_);
    return file == nullptr ? std::vector<std::string>{"no file"} : SchemaProblems(*file->message_type(0));
  }

 private:
  google::protobuf::FileDescriptorProto file_;
  google::protobuf::DescriptorProto* message_ = nullptr;
  DescriptorPool pool_;
};

TEST(PlanSchema, EveryFieldOfThePlanHasAConsistentRule) {
  EXPECT_THAT(SchemaProblems(*v1::TestPlan::descriptor()), IsEmpty());
}

TEST(PlanSchema, AFieldWithAGoodRuleHasNoProblem) {
  NewMessage message;
  v1::FieldRule& rule = message.Add("depth_bytes", FieldDescriptorProto::TYPE_UINT64);
  rule.set_help("Depth");
  rule.set_default_value("4k");
  rule.set_min("1k");
  EXPECT_THAT(message.Problems(), IsEmpty());
}

TEST(PlanSchema, ANewFieldWithoutARuleIsAProblem) {
  NewMessage message;
  message.Add("depth", FieldDescriptorProto::TYPE_UINT32);
  EXPECT_THAT(message.Problems(), ElementsAre("New.depth has no help"));
}

TEST(PlanSchema, ADefaultBeyondItsOwnLimitsIsAProblem) {
  NewMessage message;
  v1::FieldRule& rule = message.Add("depth", FieldDescriptorProto::TYPE_UINT32);
  rule.set_help("Depth");
  rule.set_default_value("9");
  rule.set_max("8");
  EXPECT_THAT(
      message.Problems(),
      ElementsAre("New.depth does not keep its own rule: '9' is out of range: expected a whole number up to 8"));
}

TEST(PlanSchema, ALimitThatIsNoValueIsAProblem) {
  NewMessage message;
  v1::FieldRule& rule = message.Add("depth", FieldDescriptorProto::TYPE_UINT32);
  rule.set_help("Depth");
  rule.set_min("few");
  EXPECT_THAT(message.Problems(), ElementsAre(HasSubstr("'few' is not a whole number")));
}

TEST(PlanSchema, TwoFieldsWithOneFlagAreAProblem) {
  NewMessage message;
  v1::FieldRule& first = message.Add("depth", FieldDescriptorProto::TYPE_UINT32);
  first.set_help("Depth");
  first.set_flag("depth");
  v1::FieldRule& second = message.Add("width", FieldDescriptorProto::TYPE_UINT32);
  second.set_help("Width");
  second.set_flag("width");
  second.add_alias("depth");
  EXPECT_THAT(message.Problems(), ElementsAre("New.width has the flag --depth of another field"));
}

TEST(PlanSchema, FieldsThatTextCannotSayAreProblems) {
  NewMessage message;
  message.Add("raw", FieldDescriptorProto::TYPE_BYTES).set_help("Raw");
  message.Add("size_bytes", FieldDescriptorProto::TYPE_INT64).set_help("Sizes are unsigned");
  message.Add("wait_ns", FieldDescriptorProto::TYPE_UINT64).set_help("Times are signed");
  message.Add("depth", FieldDescriptorProto::TYPE_UINT32, false).set_help("Depth");
  message.Add("wait_bytes", FieldDescriptorProto::TYPE_UINT64).set_help("Same key as wait_ns");
  EXPECT_THAT(
      message.Problems(),
      ElementsAre("New.raw has a type that a plan cannot hold", "New.size_bytes has a type that a plan cannot hold",
                  "New.wait_ns has a type that a plan cannot hold", "New.depth has no presence",
                  "New.wait_bytes has the key of another field"));
}

TEST(PlanSchema, KeysAreNamesWithoutUnits) {
  EXPECT_THAT(
      FieldKeys(*v1::LogWorkload::descriptor()),
      ElementsAre("dir", "qm", "file_size", "num_files", "file_prefix", "sync", "direct", "delay", "rate", "cpu_load",
                  "arrival", "min_free", "qm_dirs", "files", "share", "create", "one_pass", "overwrite", "pause"));
  EXPECT_EQ(PlanField("block_size").name(), "block_size_bytes");
  EXPECT_EQ(PlanField("max_slew").name(), "max_slew_ppm");
  EXPECT_EQ(FindField(*v1::TestPlan::descriptor(), "block_size_bytes"), nullptr);
}

TEST(PlanSchema, KindsFollowTypeAndUnit) {
  EXPECT_EQ(KindOf(PlanField("block_size")), ValueKind::kSize);
  EXPECT_EQ(KindOf(PlanField("duration")), ValueKind::kTime);
  EXPECT_EQ(KindOf(PlanField("repeat")), ValueKind::kInteger);
  EXPECT_EQ(KindOf(PlanField("max_slew")), ValueKind::kNumber);
  EXPECT_EQ(KindOf(PlanField("trace")), ValueKind::kEnum);
  EXPECT_EQ(KindOf(PlanField("keep_files")), ValueKind::kBool);
  EXPECT_EQ(KindOf(PlanField("name")), ValueKind::kText);
  EXPECT_EQ(KindOf(PlanField("workload")), ValueKind::kMessage);
}

TEST(PlanSchema, WhatAFieldAcceptsIsSaidWithItsLimits) {
  EXPECT_EQ(Expected(WorkloadField("file_size")), "a size from 4k to 2t");
  EXPECT_EQ(Expected(WorkloadField("delay")), "a time from 0us to 1h");
  EXPECT_EQ(Expected(WorkloadField("qm")), "a whole number from 1 to 4096");
  EXPECT_EQ(Expected(WorkloadField("rate")), "a number from 0.001 to 1000000, or 0");
  EXPECT_EQ(Expected(WorkloadField("sync")), "one of dsync, sync, fdatasync, none, fsync");
  EXPECT_EQ(Expected(PlanField("trace")), "one of on, off");
  EXPECT_EQ(Expected(PlanField("keep_files")), "true or false");
  EXPECT_EQ(Expected(PlanField("name")), "text of at most 4096 bytes");
  EXPECT_EQ(Summary(WorkloadField("file_size")), "default 16m, from 4k to 2t");
  EXPECT_EQ(Summary(WorkloadField("dir")), "");
}

}  // namespace
}  // namespace plimsoll
