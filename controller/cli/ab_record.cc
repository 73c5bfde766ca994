#include "controller/cli/ab_record.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "controller/cli/compare_command.h"
#include "controller/compare/compare.h"
#include "controller/journal/sha256.h"
#include "controller/render/json.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

constexpr char kRecordName[] = "ab.json";
// The first format has no parts of runs: a reader of it would take each for the whole run.
constexpr uint64_t kRunsFormat = 1;
constexpr uint64_t kPartsFormat = 2;
constexpr size_t kMostRecordBytes = 1 << 20;

std::string RecordPath(const std::string& directory) {
  return (std::filesystem::path(directory) / kRecordName).string();
}

void WriteTexts(const std::string& key, const std::vector<std::string>& texts, JsonWriter& json) {
  json.Key(key).BeginArray(/*one_line=*/true);
  for (const std::string& text : texts) json.String(text);
  json.EndArray();
}

void WritePart(const std::string& key, const AbPart& part, JsonWriter& json) {
  json.Key(key).String(part.run);
  if (part.steps == 0) return;
  json.Key(absl::StrCat(key, "_steps")).BeginArray(/*one_line=*/true);
  json.UInt(part.first_step);
  json.UInt(part.steps);
  json.EndArray();
}

AbPart ReadPart(const std::string& key, const nlohmann::json& round) {
  AbPart part;
  part.run = round.at(key).get<std::string>();
  if (const auto steps = round.find(absl::StrCat(key, "_steps")); steps != round.end()) {
    part.first_step = steps->at(0).get<uint32_t>();
    part.steps = steps->at(1).get<uint32_t>();
  }
  return part;
}

// Index behind the part's last step, of those that its run has.
uint64_t EndOf(const AbPart& part, int steps) {
  return std::min(static_cast<uint64_t>(steps), uint64_t{part.first_step} + part.steps);
}

// A directory of the record is one name: it leads nowhere else.
bool IsOneName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

absl::Status CheckRecord(const AbRecord& record) {
  const auto wrong = [](const std::string& what) { return absl::InvalidArgumentError(what); };
  if (record.names.size() != 2) return wrong("it has no two names");
  for (const std::string& name : record.names) PLIMSOLL_RETURN_IF_ERROR(CheckSideName(name));
  if (record.names[0] == record.names[1]) return wrong("both sides have the same name");
  if (record.planned_rounds < kFewestRounds || record.planned_rounds > kMostRounds) {
    return wrong("planned_rounds is out of range");
  }
  if (record.rounds.size() > record.planned_rounds) return wrong("it has more rounds than were planned");
  for (const AbRound& round : record.rounds) {
    if (round.order != "AB" && round.order != "BA") return wrong("an order is neither AB nor BA");
    for (const auto& [part, front] :
         {std::pair(round.first, record.rounds.front().first), std::pair(round.second, record.rounds.front().second)}) {
      if ((part.steps > 0) != (front.steps > 0) || (part.steps > 0 && part.run != front.run)) {
        return wrong("its rounds are parts of different runs");
      }
    }
    if (!IsOneName(round.first.run) || !IsOneName(round.second.run)) {
      return wrong("a result is not a directory of it");
    }
  }
  return absl::OkStatus();
}

// Names what was sealed and is not so any more. Without seals in the record nothing is known.
std::vector<std::string> BrokenSeals(const std::string& directory, const std::string& text, const AbRecord& record) {
  const bool sealed = !record.seals.empty() || text.find(absl::StrCat("\"", kRecordSeal, "\"")) != std::string::npos;
  std::vector<std::string> differs;
  if (!sealed) return differs;
  if (!IsSealIntact(text)) differs.emplace_back("ab.json was changed: its SHA-256 is not the one in it");
  std::set<std::string> seen;
  for (const AbRound& round : record.rounds) {
    for (const AbPart& part : {round.first, round.second}) {
      if (!seen.insert(part.run).second) continue;
      const absl::StatusOr<std::string> digest = Sha256Below(directory, part.run, "journal");
      const auto seal = record.seals.find(part.run);
      if (!digest.ok()) {
        differs.emplace_back(digest.status().message());
      } else if (seal == record.seals.end()) {
        differs.push_back(absl::StrCat("ab.json has no SHA-256 of ", part.run, "/journal"));
      } else if (seal->second != *digest) {
        differs.push_back(
            absl::StrCat(part.run, "/journal was changed or replaced: its SHA-256 is not the one in ab.json"));
      }
    }
  }
  return differs;
}

struct AbText {
  std::string text;
  AbRecord record;
};

absl::StatusOr<AbText> ReadRecordOf(const std::string& directory) {
  const std::string path = RecordPath(directory);
  PLIMSOLL_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMostRecordBytes));
  absl::StatusOr<AbRecord> record = ReadAbRecord(text);
  if (!record.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::string(record.status().message())));
  }
  return AbText{std::move(text), *std::move(record)};
}

}  // namespace

v1::PairedDesign DesignOf(const AbRecord& record) {
  v1::PairedDesign design;
  design.set_planned_rounds(record.planned_rounds);
  SetLooks(PlannedLooks(record.planned_rounds), design);
  for (const AbRound& round : record.rounds) design.add_order(round.order);
  design.set_order_seed(record.order_seed);
  design.set_ended(record.ended.empty() ? "The rounds were cut off." : record.ended);
  return design;
}

std::vector<std::string> DrawOrder(uint64_t seed, size_t rounds) {
  std::mt19937_64 generator(seed);
  std::vector<std::string> order;
  for (size_t i = 0; i < rounds; ++i) order.emplace_back((generator() >> 63) == 0 ? "AB" : "BA");
  return order;
}

std::vector<RunInput> PartInputs(const std::vector<AbPart>& parts, const std::string& source, v1::Report report) {
  google::protobuf::RepeatedPtrField<v1::StepReport> steps;
  steps.Swap(report.mutable_steps());
  std::vector<RunInput> inputs;
  for (const AbPart& part : parts) {
    RunInput& input = inputs.emplace_back(RunInput{absl::StrCat(source, " (round ", inputs.size() + 1, ")"), report});
    for (uint64_t i = part.first_step; i < EndOf(part, steps.size()); ++i) {
      *input.report.add_steps() = steps.at(static_cast<int>(i));
    }
  }
  return inputs;
}

bool IsWhole(const AbPart& part, const v1::Report& report) {
  if (uint64_t{part.first_step} + part.steps > EndOf(part, report.steps_size())) return false;
  for (uint64_t i = part.first_step; i < EndOf(part, report.steps_size()); ++i) {
    const v1::StepReport& step = report.steps(static_cast<int>(i));
    const v1::ScopeReport* const cluster = ClusterOf(step);
    if (!step.cut_short().empty() || (cluster != nullptr && cluster->has_data_until())) return false;
  }
  return true;
}

std::string WriteAbRecord(const AbRecord& record) {
  const bool parts = std::ranges::any_of(record.rounds, [](const AbRound& round) { return round.first.steps > 0; });
  JsonWriter json;
  json.BeginObject();
  json.Key("format").UInt(parts ? kPartsFormat : kRunsFormat);
  json.Key("version").String(kVersion);
  WriteTexts("names", record.names, json);
  json.Key("planned_rounds").UInt(record.planned_rounds);
  json.Key("order_seed").UInt(record.order_seed);
  WriteTexts("differs", record.differs, json);
  json.Key("min_effect").String(record.min_effect);
  if (record.judged.has_value()) {
    json.Key("fail_if_slower").String(record.judged->fail_if_slower);
    json.Key("gate").String(record.judged->gate);
    json.Key("times").String(record.judged->times);
  }
  json.Key("rounds").BeginArray();
  for (const AbRound& round : record.rounds) {
    json.BeginObject();
    json.Key("order").String(round.order);
    WritePart("a", round.first, json);
    WritePart("b", round.second, json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("ended").String(record.ended);
  if (!record.seals.empty()) {
    json.Key("seals").BeginObject();
    for (const auto& [run, digest] : record.seals) {
      json.Key(run).String(digest);
    }
    json.EndObject();
    json.Key(kRecordSeal).String("");
  }
  json.EndObject();
  return record.seals.empty() ? json.Take() : SealRecord(json.Take());
}

absl::StatusOr<AbRecord> ReadAbRecord(const std::string& text) {
  AbRecord record;
  try {
    const nlohmann::json document = nlohmann::json::parse(text);
    if (const auto format = document.at("format").get<uint64_t>(); format != kRunsFormat && format != kPartsFormat) {
      return absl::InvalidArgumentError(absl::StrCat(
          "it has format ", format, "; this version of plimsoll reads formats ", kRunsFormat, " and ", kPartsFormat));
    }
    record.names = document.at("names").get<std::vector<std::string>>();
    record.planned_rounds = document.at("planned_rounds").get<uint32_t>();
    record.order_seed = document.at("order_seed").get<uint64_t>();
    record.differs = document.at("differs").get<std::vector<std::string>>();
    record.min_effect = document.at("min_effect").get<std::string>();
    if (document.contains("times")) {
      record.judged = {document.at("fail_if_slower").get<std::string>(), document.at("gate").get<std::string>(),
                       document.at("times").get<std::string>()};
    }
    for (const nlohmann::json& round : document.at("rounds")) {
      record.rounds.push_back({round.at("order").get<std::string>(), ReadPart("a", round), ReadPart("b", round)});
    }
    record.ended = document.at("ended").get<std::string>();
    if (const auto seals = document.find("seals"); seals != document.end()) {
      record.seals = seals->get<std::map<std::string, std::string>>();
    }
  } catch (const nlohmann::json::exception&) {
    return absl::InvalidArgumentError("it is not a record of `plimsoll ab`");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckRecord(record));
  return record;
}

void SealRuns(const std::string& directory, AbRecord& record) {
  for (const AbRound& round : record.rounds) {
    for (const AbPart& part : {round.first, round.second}) {
      if (record.seals.contains(part.run)) continue;
      const absl::StatusOr<std::string> digest = Sha256Below(directory, part.run, "journal");
      if (digest.ok()) record.seals[part.run] = *digest;
    }
  }
}

std::string SealWarning(const AbRecord& record) {
  return record.seals.empty() ? "not sealed: ab.json has no SHA-256 of the journals; whether they are those that were "
                                "measured is unknown"
                              : "";
}

bool IsAbDirectory(const std::string& directory) {
  std::error_code error;
  return std::filesystem::is_regular_file(RecordPath(directory), error);
}

absl::StatusOr<std::vector<std::string>> AbDifferences(const std::string& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const AbText read, ReadRecordOf(directory));
  return BrokenSeals(directory, read.text, read.record);
}

absl::StatusOr<AbResults> LoadAbDirectory(const std::string& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(AbText read, ReadRecordOf(directory));
  if (const std::vector<std::string> differs = BrokenSeals(directory, read.text, read.record); !differs.empty()) {
    return absl::DataLossError(absl::StrCat(
        directory, ": INCONCLUSIVE: these are not the results that were measured: ", absl::StrJoin(differs, "; ")));
  }
  AbResults results{std::move(read.record), std::vector<SideInput>(2)};
  if (results.record.rounds.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory, ": no round is complete, there is nothing to compare"));
  }
  // By run; the parts of one are cut from the same report.
  std::map<std::string, v1::Report> reports;
  const auto source_of = [&directory](const AbPart& part) {
    return (std::filesystem::path(directory) / part.run).string();
  };
  std::vector<AbRound>& rounds = results.record.rounds;
  for (size_t round = 0; round < rounds.size(); ++round) {
    std::string cut;
    for (const AbPart& part : {rounds[round].first, rounds[round].second}) {
      if (part.steps == 0) continue;
      const auto [found, added] = reports.try_emplace(source_of(part));
      if (added) {
        PLIMSOLL_ASSIGN_OR_RETURN(found->second, LoadReport(found->first));
      }
      if (!IsWhole(part, found->second)) cut = part.run;
    }
    if (cut.empty()) continue;
    rounds.resize(round);
    absl::StrAppend(&results.record.ended, results.record.ended.empty() ? "" : " ", "The journal of ", cut,
                    " has not all of round ", round + 1, ": it and what follows are left out.");
  }
  if (rounds.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory, ": no round is complete in the journals, there is nothing to compare"));
  }
  for (size_t side = 0; side < 2; ++side) {
    results.sides[side].name = results.record.names[side];
    std::vector<AbPart> parts;
    for (const AbRound& round : rounds) parts.push_back(side == 0 ? round.first : round.second);
    if (parts.front().steps > 0) {
      const std::string source = source_of(parts.front());
      results.sides[side].runs = PartInputs(parts, source, reports.at(source));
      continue;
    }
    for (const AbPart& part : parts) {
      const std::string source = source_of(part);
      PLIMSOLL_ASSIGN_OR_RETURN(v1::Report report, LoadReport(source));
      results.sides[side].runs.push_back({source, std::move(report)});
    }
  }
  return results;
}

}  // namespace plimsoll
