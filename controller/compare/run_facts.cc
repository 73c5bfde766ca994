#include "controller/compare/run_facts.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/render/json.h"
#include "controller/render/mount_options.h"
#include "controller/render/text_numbers.h"
#include "google/protobuf/message.h"
#include "plimsoll/v1/options.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Values = std::set<std::string>;

// Options that say nothing about how writes go.
constexpr std::array<const char*, 11> kIrrelevant = {"name",     "block_size_bytes", "criteria",      "keep_files",
                                                     "lease_ns", "on_host_loss",     "max_slew_ppm",  "file_prefix",
                                                     "stall_ns", "hang_limit_ns",    "min_free_bytes"};

// A fact of each host.
RunFact OfHosts(std::string what, std::string why, std::function<std::string(const v1::HostReport&)> value) {
  return {std::move(what), std::move(why), [value = std::move(value)](const v1::Report& report) {
            Values values;
            for (const v1::HostReport& host : report.hosts()) {
              if (std::string text = value(host); !text.empty()) values.insert(std::move(text));
            }
            return values;
          }};
}

RunFact OfRun(std::string what, std::string why, std::function<std::string(const v1::Report&)> value) {
  return {std::move(what), std::move(why),
          [value = std::move(value)](const v1::Report& report) { return Values{value(report)}; }};
}

// A scalar as the plan spells it; empty where it is not given.
std::string Spelled(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated() || !reflection.HasField(message, &field)) return "";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::EndsWith(field.name(), "_bytes") ? FormatSize(reflection.GetUInt64(message, &field))
                                                    : absl::StrCat(reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::EndsWith(field.name(), "_ns") ? FormatDuration(reflection.GetInt64(message, &field))
                                                 : absl::StrCat(reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(reflection.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::StrCat(reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "on" : "off";
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumName(*field.enum_type(), reflection.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetString(message, &field);
    default:
      return "";
  }
}

// The plan's own options, and those of each host's workload as it was told.
std::vector<RunFact> OptionFacts() {
  std::vector<RunFact> facts;
  const auto relevant = [](const FieldDescriptor& field) {
    return std::find(kIrrelevant.begin(), kIrrelevant.end(), field.name()) == kIrrelevant.end() &&
           !field.options().GetExtension(v1::rule).flag().empty();
  };
  const auto option = [](const FieldDescriptor& field) {
    return absl::StrCat("--", field.options().GetExtension(v1::rule).flag());
  };
  const google::protobuf::Descriptor& workload = *v1::LogWorkload::descriptor();
  for (int i = 0; i < workload.field_count(); ++i) {
    const FieldDescriptor& field = *workload.field(i);
    if (!relevant(field)) continue;
    facts.push_back(
        OfHosts(option(field), "", [&field](const v1::HostReport& host) { return Spelled(host.workload(), field); }));
  }
  const google::protobuf::Descriptor& plan = *v1::TestPlan::descriptor();
  for (int i = 0; i < plan.field_count(); ++i) {
    const FieldDescriptor& field = *plan.field(i);
    if (field.is_repeated() || field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE || !relevant(field)) continue;
    facts.push_back(OfRun(option(field), "", [&field](const v1::Report& report) {
      const std::string text = Spelled(report.plan(), field);
      return text.empty() ? "not given" : text;
    }));
  }
  return facts;
}

std::string Sync(const v1::HostReport& host) {
  return host.workload().has_sync() ? EnumName(*v1::SyncMode_descriptor(), host.workload().sync()) : "dsync";
}

std::string Writers(const v1::Report& report) {
  return absl::StrCat(report.run().queue_managers(),
                      report.run().queue_managers() == 1 ? " writer on " : " writers on ", report.run().hosts(),
                      report.run().hosts() == 1 ? " host" : " hosts");
}

}  // namespace

const std::vector<RunFact>& DecisiveFacts() {
  static const std::vector<RunFact> facts = {
      OfHosts("how writes are made durable (--sync)", "a write that waits for less is not the same write", Sync),
      OfHosts("O_DIRECT in effect", "with the page cache in between it is not the same path",
              [](const v1::HostReport& host) { return host.mount().direct() ? "yes" : "no"; }),
      OfHosts("pace", "IO/s on schedule are asked for, those one after another are measured",
              [](const v1::HostReport& host) {
                return host.workload().rate_per_second() > 0 ? "on schedule (--rate)" : "one after another";
              }),
  };
  return facts;
}

const std::vector<RunFact>& LoadFacts() {
  static const std::vector<RunFact> facts = {
      OfRun("writers", "more writers mean more IO/s and longer latencies on the same storage", Writers),
      OfHosts("--rate", "IO/s are those that were asked for",
              [](const v1::HostReport& host) {
                return host.workload().rate_per_second() > 0 ? absl::StrCat(host.workload().rate_per_second()) : "";
              }),
      OfHosts("when writes start (--arrival)", "writes that start together queue for one another",
              [](const v1::HostReport& host) {
                // Runs of versions that had no choice started all writers at once.
                const v1::LogWorkload& workload = host.workload();
                if (workload.rate_per_second() <= 0) return std::string();
                return workload.has_arrival() ? EnumName(*v1::Arrival_descriptor(), workload.arrival()) : "aligned";
              }),
      OfHosts("--delay", "pauses lower IO/s on the same storage",
              [](const v1::HostReport& host) { return FormatDuration(host.workload().delay_ns()); }),
  };
  return facts;
}

const std::vector<RunFact>& AllFacts() {
  static const std::vector<RunFact> facts = [] {
    std::vector<RunFact> all = {
        OfHosts("storage", "",
                [](const v1::HostReport& host) {
                  const v1::MountReport& mount = host.mount();
                  return absl::StrCat(mount.fs_type(), mount.fs_type().empty() ? "" : " ",
                                      mount.remote().empty() ? mount.fs_source() : mount.remote());
                }),
        OfHosts("mount options", "",
                [](const v1::HostReport& host) { return SharedMountOptions(host.mount().mount_options()); }),
        OfHosts("open flags", "", [](const v1::HostReport& host) { return host.mount().open_flags(); }),
        OfRun("writers", "", Writers),
        OfHosts("hosts", "", [](const v1::HostReport& host) { return host.label(); }),
        OfHosts("kernel", "", [](const v1::HostReport& host) { return host.kernel(); }),
        OfHosts(
            "CPUs for the agent", "",
            [](const v1::HostReport& host) { return host.usable_cpus() == 0 ? "" : absl::StrCat(host.usable_cpus()); }),
        OfHosts("clock source", "", [](const v1::HostReport& host) { return host.clock().source(); }),
        OfRun("plimsoll", "", [](const v1::Report& report) { return report.run().version(); }),
        OfHosts("plimsoll-agent", "", [](const v1::HostReport& host) { return host.version(); }),
    };
    std::vector<RunFact> options = OptionFacts();
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }();
  return facts;
}

}  // namespace plimsoll
