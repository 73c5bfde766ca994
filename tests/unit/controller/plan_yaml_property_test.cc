// Random plans survive the way through YAML.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/plan_yaml.h"
#include "controller/plan/sweep.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

constexpr int kPlans = 10'000;

// Makes plans by the schema alone, so that a new field is tried without a change here.
class PlanMaker {
 public:
  explicit PlanMaker(uint64_t seed) : random_(seed) {}

  v1::TestPlan Make() {
    v1::TestPlan plan;
    Fill(plan);
    for (int i = 0; i < plan.hosts_size(); ++i) plan.mutable_hosts(i)->set_address(Address(i));
    // Their hosts become hosts of the plan.
    for (int i = 0; plan.has_ha() && i < plan.ha().pairs_size(); ++i) {
      plan.mutable_ha()->set_pairs(i, absl::StrCat("first", i, "+second", i));
    }
    // Lists of the workload, as readers set them.
    for (const FieldDescriptor& list : FieldsOf(*v1::Sweep::descriptor())) {
      const FieldDescriptor& field = *v1::LogWorkload::descriptor()->FindFieldByName(list.name());
      std::vector<std::string> texts;
      for (uint64_t n = Below(4); n > 0; --n) {
        v1::LogWorkload one;
        StoreValue(field, Value(field), one);
        texts.push_back(FormatValue(field, one));
      }
      if (texts.empty()) continue;
      EXPECT_THAT(SetWorkloadValues(field, texts, plan), IsOk());
    }
    return plan;
  }

 private:
  uint64_t Below(uint64_t end) { return std::uniform_int_distribution<uint64_t>(0, end - 1)(random_); }

  std::string Address(int i) {
    switch (Below(4)) {
      case 0:
        return absl::StrCat("node", i);
      case 1:
        return absl::StrCat("[fe80::", i + 1, "]:", 1 + Below(65535));
      case 2:
        return absl::StrCat("unix:/run/a ", i);
      default:
        return absl::StrCat("10.0.0.", i, ":7461");
    }
  }

  std::string Text() {
    static const std::vector<std::string> kPieces = {"a",
                                                     " ",
                                                     "\"",
                                                     "\\",
                                                     "'",
                                                     ": ",
                                                     "#",
                                                     "- ",
                                                     "?",
                                                     "|",
                                                     ">",
                                                     "%",
                                                     "@",
                                                     "`",
                                                     "{",
                                                     "}",
                                                     "[",
                                                     "]",
                                                     "&x",
                                                     "*x",
                                                     "!x",
                                                     "\xC3\xA4",
                                                     ",",
                                                     "~",
                                                     "\\n",
                                                     "0x1",
                                                     "no",
                                                     "null",
                                                     "\xF0\x9F\x98\x80"};
    std::string text;
    for (uint64_t n = Below(8); n > 0; --n) text += kPieces[Below(kPieces.size())];
    return text;
  }

  // A value between the limits of the field's rule, or one of the limits.
  template <typename T>
  T Between(const FieldDescriptor& field) {
    const v1::FieldRule& rule = RuleOf(field);
    const auto limit = [&field](const std::string& text, T of_the_type) {
      return text.empty() ? of_the_type : std::get<T>(*ParseValue(field, text));
    };
    const T min = limit(rule.min(), std::numeric_limits<T>::lowest());
    const T max = limit(rule.max(), std::numeric_limits<T>::max());
    if (Below(8) == 0) return Below(2) == 0 ? min : max;
    if constexpr (std::is_floating_point_v<T>) {
      return std::uniform_real_distribution<T>(min, max)(random_);
    } else {
      // Small values as often as large ones.
      const T shifted = static_cast<T>((max - min) >> Below(40));
      return min + std::uniform_int_distribution<T>(0, shifted)(random_);
    }
  }

  FieldValue Value(const FieldDescriptor& field) {
    switch (KindOf(field)) {
      case ValueKind::kTime:
        return Between<int64_t>(field);
      case ValueKind::kNumber:
        return Between<double>(field);
      case ValueKind::kEnum:
        return EnumNumber{1 + static_cast<int>(Below(EnumWords(*field.enum_type()).size()))};
      case ValueKind::kBool:
        return Below(2) == 0;
      case ValueKind::kText:
        return Text();
      default:
        return Between<uint64_t>(field);
    }
  }

  void Fill(Message& message) {
    const Descriptor& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (RuleOf(field).no_key()) continue;
      const uint64_t count = Below(field.is_repeated() ? 4 : 2);
      for (uint64_t n = 0; n < count; ++n) {
        if (KindOf(field) != ValueKind::kMessage) {
          StoreValue(field, Value(field), message);
        } else if (field.is_repeated()) {
          Fill(*message.GetReflection()->AddMessage(&message, &field));
        } else {
          Fill(*message.GetReflection()->MutableMessage(&message, &field));
        }
      }
    }
  }

  std::mt19937_64 random_;
};

TEST(PlanYamlProperty, ARandomPlanReadsBackAsItWasWritten) {
  const uint64_t seed = tests::RandomSeed();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  PlanMaker maker(seed);
  for (int i = 0; i < kPlans; ++i) {
    const v1::TestPlan plan = maker.Make();
    const std::string yaml = WritePlan(plan);
    const auto read = ReadPlan(yaml, "plan.yaml");
    ASSERT_THAT(read, IsOk()) << yaml;
    v1::TestPlan filled = plan;
    FillDefaults(filled);
    ASSERT_TRUE(MessageDifferencer::Equals(*read, filled)) << yaml << "\n" << filled.DebugString();
    ASSERT_EQ(WritePlan(*read), yaml);
    // Whatever is wrong with it is told, not run into.
    for (const std::string& problem : ProblemsOf(plan)) ASSERT_EQ(problem.find('\n'), std::string::npos);
  }
}

TEST(PlanYamlProperty, EveryValueReadsBackFromItsText) {
  const uint64_t seed = tests::RandomSeed();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  PlanMaker maker(seed);
  for (int i = 0; i < kPlans; ++i) {
    const v1::TestPlan plan = maker.Make();
    const v1::LogWorkload& workload = plan.workload();
    const Descriptor& type = *v1::LogWorkload::descriptor();
    for (int f = 0; f < type.field_count(); ++f) {
      if (CountOf(*type.field(f), workload) == 0) continue;
      const std::string text = FormatValue(*type.field(f), workload);
      // Entries of a list are separated by commas, with or without blanks.
      const bool lists = type.field(f)->is_repeated();
      if (lists && (text.empty() || absl::StripAsciiWhitespace(text) != text || text.find(',') != std::string::npos)) {
        continue;
      }
      v1::LogWorkload copy;
      ASSERT_THAT(SetFromText(*type.field(f), text, copy), IsOk());
      ASSERT_EQ(FormatValue(*type.field(f), copy), text);
    }
  }
}

}  // namespace
}  // namespace plimsoll
