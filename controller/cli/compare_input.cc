#include "controller/cli/compare_input.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "controller/analysis/analyzer.h"
#include "controller/cli/ab_record.h"
#include "controller/compare/report_json.h"
#include "controller/plan/yaml_tree.h"
#include "controller/run/journal.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Far more than the report of the largest run.
constexpr size_t kMaxJsonBytes = size_t{256} << 20;

absl::StatusOr<v1::Report> LoadJournal(const std::string& path) {
  Analyzer analyzer;
  PLIMSOLL_ASSIGN_OR_RETURN(
      const std::string damage,
      ReadWholeRecords(path, [&](const v1::JournalRecord& record, const RawRecord& /*raw*/) { analyzer.Add(record); }));
  // The comparison warns of it.
  if (!damage.empty()) analyzer.AddDamage(damage + ".");
  return analyzer.Finish();
}

// A pipe would block, and a device may have no end.
absl::Status CheckRegular(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
}

absl::StatusOr<v1::Report> LoadJson(const std::string& path) {
  PLIMSOLL_RETURN_IF_ERROR(CheckRegular(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxJsonBytes));
  absl::StatusOr<v1::Report> report = ParseReportJson(text);
  if (!report.ok()) {
    return absl::Status(report.status().code(), absl::StrCat(path, ": ", std::string(report.status().message())));
  }
  return report;
}

// A report.json begins with a brace, a journal does not.
bool BeginsWithBrace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char first = '\0';
  file >> first;
  return file && first == '{';
}

}  // namespace

absl::StatusOr<v1::Report> LoadReport(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return absl::NotFoundError(absl::StrCat(path, ": there is no such result"));
  if (!fs::is_directory(status)) {
    PLIMSOLL_RETURN_IF_ERROR(CheckRegular(path));
    return absl::EndsWith(path, ".json") || BeginsWithBrace(path) ? LoadJson(path) : LoadJournal(path);
  }
  const std::string journal = absl::StrCat(path, absl::EndsWith(path, "/") ? "" : "/", "journal");
  if (fs::exists(journal, error)) return LoadJournal(journal);
  const std::string json = absl::StrCat(path, absl::EndsWith(path, "/") ? "" : "/", "report.json");
  if (fs::exists(json, error)) return LoadJson(json);
  if (IsAbDirectory(path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the rounds of `plimsoll ab`, not one run; `plimsoll compare ", path, "` compares them"));
  }
  if (fs::exists(absl::StrCat(path, absl::EndsWith(path, "/") ? "" : "/", "accept.json"), error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the parts of `plimsoll accept`, not one run; name one of them, such as load-1 below it"));
  }
  return absl::NotFoundError(absl::StrCat(path, ": holds neither a journal nor a report.json: no result of a run"));
}

absl::StatusOr<SideInput> LoadSide(const std::string& argument) {
  std::vector<std::string> paths = {argument};
  std::error_code error;
  if (!fs::exists(argument, error)) paths = absl::StrSplit(argument, ',');
  SideInput side;
  for (const std::string& path : paths) {
    if (path.empty()) return absl::InvalidArgumentError(absl::StrCat("\"", argument, "\": a result's name is empty"));
    PLIMSOLL_ASSIGN_OR_RETURN(v1::Report report, LoadReport(path));
    side.runs.push_back({path, std::move(report)});
  }
  return side;
}

}  // namespace plimsoll
