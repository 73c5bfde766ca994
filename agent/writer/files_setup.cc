#include "agent/writer/files_setup.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace plimsoll {
namespace {

// Linux's PATH_MAX, with its end.
constexpr size_t kLongestPath = 4096;

absl::Status Wrong(const std::string& text) {
  return absl::InvalidArgumentError(text);
}

// What a plan without files cannot have.
absl::Status CheckWithoutFiles(const v1::LogWorkload& workload) {
  const char* const needs = workload.share() != v1::FILE_SHARE_UNSPECIFIED ? "share"
                            : workload.create()                            ? "create"
                            : workload.one_pass()                          ? "one_pass"
                            : workload.overwrite()                         ? "overwrite"
                            : workload.pause_percent() != 0                ? "pause"
                                                                           : nullptr;
  return needs == nullptr ? absl::OkStatus() : Wrong(absl::StrCat(needs, " needs files"));
}

absl::Status CheckName(const std::string& name, bool paths) {
  if (name.starts_with('/') != paths) {
    return Wrong("files must be all names or all absolute paths");
  }
  if (!paths && !IsPlainName(name)) {
    return Wrong(absl::StrCat("files: ", Quoted(name),
                              " must be 1 to 64 letters, digits, '.', '_' and '-', not beginning with '.', or an "
                              "absolute path"));
  }
  if (absl::EndsWith(name, "...")) {
    return Wrong(absl::StrCat("files: ", Quoted(name), " stands for several files; the controller must list them"));
  }
  if (name.size() >= kLongestPath) {
    return Wrong(absl::StrCat("files: a path is ", name.size(), " bytes long, at most ", kLongestPath - 1,
                              " are accepted: ", Quoted(name)));
  }
  if (name.find('\0') != std::string::npos || name.ends_with('/')) {
    return Wrong(absl::StrCat("files: ", Quoted(name), " is not the path of a file"));
  }
  return absl::OkStatus();
}

absl::Status CheckNames(const v1::LogWorkload& workload) {
  if (static_cast<size_t>(workload.files_size()) > kMaxFiles) {
    return Wrong(absl::StrCat("files: at most ", kMaxFiles, " names are accepted; they are ", workload.files_size()));
  }
  size_t text = 0;
  std::set<std::string> seen;
  for (const std::string& name : workload.files()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckName(name, UsesPaths(workload)));
    if (!seen.insert(name).second) return Wrong(absl::StrCat("files: ", Quoted(name), " is listed twice"));
    text += name.size();
  }
  if (text <= kMaxFilesText) return absl::OkStatus();
  return Wrong(absl::StrCat("files: the names are ", text, " bytes together, at most ", kMaxFilesText,
                            " are accepted; use fewer or shorter names"));
}

absl::Status CheckShare(const v1::HostPlan& plan) {
  const v1::LogWorkload& workload = plan.log().workload();
  if (!v1::FileShare_IsValid(workload.share())) return Wrong("share must be own, ranges or all");
  const bool shared = workload.share() == v1::FILE_SHARE_RANGES || workload.share() == v1::FILE_SHARE_ALL;
  if (!shared) return absl::OkStatus();
  if (!UsesPaths(workload)) {
    return Wrong("share must be own with plain names: each host makes its own files; hosts share absolute paths");
  }
  if (workload.create()) return Wrong("create needs share own: each host makes the files");
  if (workload.share() == v1::FILE_SHARE_RANGES && plan.host_index() >= std::max(plan.log().hosts(), 1U)) {
    return Wrong(absl::StrCat("share ranges: the host has number ", plan.host_index(), ", and the run has only ",
                              std::max(plan.log().hosts(), 1U), " hosts"));
  }
  return absl::OkStatus();
}

absl::Status CheckOnePass(const v1::LogWork& work) {
  const v1::LogWorkload& workload = work.workload();
  if (!IsOnePass(workload)) return absl::OkStatus();
  const char* const field = workload.create() ? "create" : "one_pass";
  if (workload.rate_per_second() > 0) return Wrong(absl::StrCat("rate and ", field, " exclude one another"));
  if (!workload.create()) return absl::OkStatus();
  if (!UsesPaths(workload)) return Wrong("create needs absolute paths: files with plain names are made in any case");
  if (work.steps_size() > 1) return Wrong(absl::StrCat("create takes one step; the plan has ", work.steps_size()));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNamedFiles(const v1::HostPlan& plan) {
  const v1::LogWork& work = plan.log();
  const v1::LogWorkload& workload = work.workload();
  if (!UsesFiles(workload)) return CheckWithoutFiles(workload);
  PLIMSOLL_RETURN_IF_ERROR(CheckNames(workload));
  if (!workload.qm_dirs().empty()) return Wrong("qm_dirs and files exclude one another");
  if (!work.queue_managers().empty()) return Wrong("the queue managers of a placement have logs, not files");
  PLIMSOLL_RETURN_IF_ERROR(CheckShare(plan));
  PLIMSOLL_RETURN_IF_ERROR(CheckOnePass(work));
  const bool rated = workload.rate_per_second() > 0 || workload.delay_ns() > 0;
  if (workload.pause_percent() > 0 && rated) return Wrong("pause excludes delay and rate");
  return absl::OkStatus();
}

absl::Status CheckNamedFilesStep(const v1::LogWorkload& workload, const v1::LogStep& step) {
  if (!UsesFiles(workload)) return absl::OkStatus();
  if (workload.pause_percent() > 0 && step.rate_per_second() > 0) return Wrong("pause excludes delay and rate");
  if (!IsOnePass(workload)) return absl::OkStatus();
  const char* const field = workload.create() ? "create" : "one_pass";
  if (step.warmup_ns() != 0) return Wrong(absl::StrCat("warmup must be 0 with ", field));
  if (step.rate_per_second() > 0) return Wrong(absl::StrCat("rate and ", field, " exclude one another"));
  if (step.qm() > 0) return Wrong(absl::StrCat("a step with ", field, " has all threads of the host"));
  if (!step.size_mix().empty()) return Wrong(absl::StrCat(field, " needs one block size; the step has size_mix"));
  if (workload.create() && workload.file_size_bytes() % std::max<uint64_t>(step.block_size_bytes(), 1) != 0) {
    return Wrong(absl::StrCat("create fills files with whole blocks: file_size ",
                              FormatSize(workload.file_size_bytes()), " is not a multiple of block_size ",
                              FormatSize(step.block_size_bytes())));
  }
  if (workload.create() && step.read_percent() > 0) return Wrong("create writes only: read_percent must be 0");
  return absl::OkStatus();
}

v1::LogWorkload WithoutUnset(const v1::LogWorkload& workload) {
  v1::LogWorkload filled = workload;
  if (!UsesFiles(workload)) return filled;
  if (filled.num_files() == 0) filled.set_num_files(1);
  if (filled.file_prefix().empty()) filled.set_file_prefix("S");
  constexpr uint64_t kAnySize = uint64_t{1} << 20;
  if (!filled.has_file_size_bytes() && !MakesFiles(workload)) filled.set_file_size_bytes(kAnySize);
  return filled;
}

}  // namespace plimsoll
