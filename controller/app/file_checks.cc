#include "controller/app/file_checks.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/app/agents.h"
#include "controller/plan/files_plan.h"
#include "controller/plan/plan_defaults.h"
#include "controller/render/plain_text.h"

namespace plimsoll {
namespace {

// More lines would only push the first ones off the screen.
constexpr size_t kMostFileLines = 20;

// Whether the directory holds devices, and nothing else.
bool IsOfDevices(const std::string& directory) {
  return absl::StartsWith(directory + "/", "/dev/") && !absl::StartsWith(directory + "/", "/dev/shm/");
}

bool WritesFiles(const v1::TestPlan& plan) {
  return plan.read_percent() < kOnlyReads;
}

bool HasCode(const v1::FileDescription& file, absl::StatusCode code) {
  return file.error_code() == static_cast<int32_t>(code);
}

bool IsMissing(const v1::FileDescription& file) {
  return HasCode(file, absl::StatusCode::kNotFound);
}

// Why the file cannot be used; empty: it can.
std::string WhyNot(const v1::FileDescription& file, const v1::TestPlan& plan, bool started) {
  if (plan.workload().create()) return file.create_error();
  const bool writes = WritesFiles(plan);
  const bool needs_overwrite = writes && !plan.workload().overwrite() && !file.kept();
  std::string overwritten =
      absl::StrCat(file.path(), " would be overwritten: pass --overwrite if its contents may be lost");
  // Without --overwrite a started agent may use kept files alone: its own message would name an option of the agent.
  if (started && needs_overwrite && HasCode(file, absl::StatusCode::kPermissionDenied)) return overwritten;
  if (!file.error().empty()) return file.error();
  if (!writes) return "";
  if (!file.write_error().empty()) return file.write_error();
  return needs_overwrite ? overwritten : "";
}

// Why the file is too small for its part of the plan; empty: it is not.
std::string WhyTooSmall(const v1::FileDescription& file, size_t number, const v1::LogWorkload& workload,
                        const v1::TestPlan& plan) {
  uint64_t size_bytes = file.size_bytes();
  if (workload.has_file_size_bytes()) {
    if (size_bytes < workload.file_size_bytes()) {
      return absl::StrCat(file.path(), " has ", FormatCount(size_bytes), " bytes, fewer than --file-size ",
                          FormatSize(workload.file_size_bytes()), ": use a larger file, or a smaller --file-size");
    }
    size_bytes = workload.file_size_bytes();
  }
  const auto largest = std::max_element(plan.block_size_bytes().begin(), plan.block_size_bytes().end());
  return TooSmallFor(workload, number, size_bytes, static_cast<size_t>(std::max(plan.hosts_size(), 1)), *largest);
}

std::string KindOfFile(const v1::FileDescription& file) {
  return file.block_device() ? "block device" : file.kept() ? "file, kept" : IsMissing(file) ? "new file" : "file";
}

std::string FateOfFile(const v1::FileDescription& file, const v1::TestPlan& plan) {
  if (plan.workload().create()) return IsMissing(file) ? "will be created" : "will be emptied and created again";
  return WritesFiles(plan) ? "will be overwritten" : "will be read";
}

}  // namespace

absl::Status CheckLocalDirectoriesOf(const v1::LogWorkload& workload) {
  std::set<std::string> parents;
  for (const std::string& file : workload.files()) {
    const std::filesystem::path path = file;
    if (path.is_absolute() && path.has_filename() && path.lexically_normal() == path) {
      parents.insert(path.parent_path().string());
    }
  }
  for (const std::string& parent : parents) {
    PLIMSOLL_RETURN_IF_ERROR(LocalDirectory(parent, "--files").status());
  }
  return absl::OkStatus();
}

std::vector<std::string> DirectoriesOfFiles(const v1::LogWorkload& workload) {
  std::vector<std::string> directories;
  std::set<std::string> seen;
  for (const std::string& file : UsedFiles(workload)) {
    std::string parent = DirectoryOfPath(file);
    if (IsOfDevices(parent) || !seen.insert(parent).second) continue;
    directories.push_back(std::move(parent));
  }
  return directories;
}

std::optional<std::string> DeviceOf(const v1::LogWorkload& workload) {
  for (const std::string& file : UsedFiles(workload)) {
    if (IsOfDevices(DirectoryOfPath(file))) return file;
  }
  return std::nullopt;
}

std::vector<AgentRoot> RootsOfFiles(const v1::LogWorkload& workload) {
  std::vector<AgentRoot> roots;
  for (std::string& directory : DirectoriesOfFiles(workload)) roots.push_back({std::move(directory), "--files"});
  // An agent has a root in any case. With devices alone it makes nothing there.
  if (roots.empty()) roots.push_back({"/tmp", "--files"});
  return roots;
}

std::vector<std::string> PermissionsOfFiles(const v1::TestPlan& plan) {
  std::vector<std::string> options = {"--allow-kept"};
  const v1::LogWorkload workload = EffectiveWorkload(plan, 0);
  if (workload.create() || (WritesFiles(plan) && !workload.overwrite())) return options;
  for (const std::string& file : UsedFiles(workload)) {
    std::error_code error;
    if (std::filesystem::exists(file, error)) options.insert(options.end(), {"--allow-target", file});
  }
  return options;
}

std::optional<Failure> CheckFiles(const v1::TestPlan& plan, const std::vector<std::unique_ptr<Host>>& hosts,
                                  const std::vector<HostFiles>& files, bool started) {
  Failure failure{Exit::kWrong, {}};
  for (const auto& host : hosts) {
    const v1::LogWorkload workload = EffectiveWorkload(plan, static_cast<int>(host->index));
    const HostFiles& of_host = files[host->index];
    for (size_t number = 0; number < of_host.size(); ++number) {
      std::string problem = WhyNot(of_host[number], plan, started);
      if (problem.empty() && !workload.create()) problem = WhyTooSmall(of_host[number], number, workload, plan);
      if (!problem.empty()) failure.lines.push_back(absl::StrCat(host->label, ": ", problem));
    }
  }
  if (failure.lines.empty()) return std::nullopt;
  if (failure.lines.size() > kMostFileLines) {
    const size_t more = failure.lines.size() - kMostFileLines;
    failure.lines.resize(kMostFileLines);
    failure.lines.push_back(absl::StrCat("and ", FormatCount(more), " more files"));
  }
  return failure;
}

std::vector<std::string> DescribeFiles(const v1::TestPlan& plan, const std::vector<std::unique_ptr<Host>>& hosts,
                                       const std::vector<HostFiles>& files) {
  std::vector<std::vector<std::string>> rows = {{"host", "file", "size", "kind", ""}};
  for (const auto& host : hosts) {
    const uint64_t created_bytes = EffectiveWorkload(plan, static_cast<int>(host->index)).file_size_bytes();
    for (const v1::FileDescription& file : files[host->index]) {
      const uint64_t bytes = plan.workload().create() ? created_bytes : file.size_bytes();
      rows.push_back({SanitizeForTerminal(host->label), SanitizeForTerminal(file.path()), FormatSizeForPeople(bytes),
                      KindOfFile(file), FateOfFile(file, plan)});
    }
  }
  return AlignColumns(rows, "llrll");
}

}  // namespace plimsoll
