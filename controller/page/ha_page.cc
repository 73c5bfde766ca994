// The data of an HA drill's page: takeovers in packed columns, and the pictures of some rounds.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/page/html_page.h"
#include "controller/page/report_page.h"
#include "controller/render/json.h"

namespace plimsoll {
namespace {

// Names by number, in the order in which they come.
class NameNumbers {
 public:
  int64_t Of(const std::string& name) {
    const auto [found, added] = numbers_.emplace(name, static_cast<int64_t>(names_.size()));
    if (added) names_.push_back(name);
    return found->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::map<std::string, int64_t> numbers_;
  std::vector<std::string> names_;
};

int64_t Micros(bool known, int64_t ns) {
  return known ? ns / kNsPerUs : -1;
}

const v1::HaTakeoverReport* WorstOf(const v1::HaRoundReport& round) {
  const auto rank = [](const v1::HaTakeoverReport& one) {
    const v1::HaFindings& found = one.findings();
    const bool failed =
        one.outcome() == v1::HA_TAKEOVER_OUTCOME_NONE || found.lost() + found.split_brain() + found.released_late() > 0;
    return std::pair(failed, one.gap().ns());
  };
  const v1::HaTakeoverReport* worst = nullptr;
  for (const v1::HaTakeoverReport& one : round.takeovers()) {
    if (worst == nullptr || rank(*worst) < rank(one)) worst = &one;
  }
  return worst;
}

class TakeoverColumns {
 public:
  void Add(const v1::HaRoundReport& round, const v1::HaTakeoverReport& one) {
    const auto add = [this](const std::string& name, int64_t value) { columns_[name].push_back(value); };
    // No phase is shorter than nothing: what the clocks' error leaves of it.
    const auto time = [&add](const std::string& name, bool known, const v1::HaSpan& span) {
      const int64_t low_ns = std::max<int64_t>(span.ns() - span.error_ns(), 0);
      const int64_t high_ns = std::max<int64_t>(span.ns() + span.error_ns(), 0);
      add(name, Micros(known, low_ns + (high_ns - low_ns) / 2));
      add(absl::StrCat(name, "_error"), Micros(known, (high_ns - low_ns) / 2));
    };
    add("round", round.number());
    add("qm", one.qm());
    add("fault", faults_.Of(EnumName(*v1::HaFaultKind_descriptor(), round.fault())));
    add("outcome", outcomes_.Of(EnumName(*v1::HaTakeoverOutcome_descriptor(), one.outcome())));
    add("old_host", hosts_.Of(one.old_host()));
    add("new_host", hosts_.Of(one.new_host()));
    add("doubtful", round.reasons().empty() ? 0 : 1);
    add("lost", static_cast<int64_t>(std::min<uint64_t>(one.findings().lost(), kMaxPacked)));
    add("split_brain", one.findings().split_brain() > 0 ? 1 : 0);
    add("released_late", one.findings().released_late() > 0 ? 1 : 0);
    time("gap", one.has_gap(), one.gap());
    time("free", one.has_to_free(), one.to_free());
    time("granted", one.has_to_granted(), one.to_granted());
    time("replayed", one.has_to_replayed(), one.to_replayed());
    time("first_write", one.has_to_first_write(), one.to_first_write());
    time("takeover", one.has_takeover(), one.takeover());
  }

  void Write(JsonWriter& json) const {
    const auto names = [&json](const char* key, const NameNumbers& numbers) {
      json.Key(key).BeginArray();
      for (const std::string& name : numbers.names()) json.String(name);
      json.EndArray();
    };
    names("hosts", hosts_);
    names("faults", faults_);
    names("outcomes", outcomes_);
    for (const auto& [name, column] : columns_) WritePacked(name, column, json);
  }

 private:
  NameNumbers hosts_;
  NameNumbers faults_;
  NameNumbers outcomes_;
  std::map<std::string, std::vector<int64_t>> columns_;
};

}  // namespace

void WriteHaPageData(const v1::HaReport& report, int limit, JsonWriter& json) {
  v1::HaReport bare;
  CopyBut(report, {"rounds", "pictures"}, bare);
  // The page reads them, of a report without them too.
  bare.mutable_findings();
  int64_t count = 0;
  for (const v1::HaRoundReport& round : report.rounds()) count += round.takeovers_size();
  const bool worst = count > limit;
  TakeoverColumns columns;
  for (const v1::HaRoundReport& round : report.rounds()) {
    if (worst) {
      if (const v1::HaTakeoverReport* one = WorstOf(round); one != nullptr) columns.Add(round, *one);
      continue;
    }
    for (const v1::HaTakeoverReport& one : round.takeovers()) columns.Add(round, one);
  }
  json.BeginObject();
  WriteJson(bare, json.Key("report"));
  json.Key("takeovers").BeginObject();
  json.Key("of").Int(count);
  json.Key("worst").Bool(worst);
  columns.Write(json);
  json.EndObject();
  json.Key("pictures").BeginArray();
  for (const v1::HaPicture& picture : report.pictures()) WriteJson(picture, json);
  json.EndArray();
  json.EndObject();
}

}  // namespace plimsoll
