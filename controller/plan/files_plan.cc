#include "controller/plan/files_plan.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/plan/plan_defaults.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;

constexpr char kNumbered[] = "...";

bool IsNumbered(const std::string& name) {
  return absl::EndsWith(name, kNumbered);
}

// Names that a list stands for; it has more than a plan may have where the number is greater than kMaxFiles.
size_t CountNames(const v1::LogWorkload& workload, uint32_t threads) {
  const auto numbered = static_cast<size_t>(std::ranges::count_if(workload.files(), IsNumbered));
  return static_cast<size_t>(workload.files_size()) - numbered + numbered * threads;
}

void ExpandNames(v1::LogWorkload& workload) {
  const uint32_t threads = workload.has_qm() ? workload.qm() : 1;
  // A list that is too long stays as it is, for the check to find.
  if (std::ranges::none_of(workload.files(), IsNumbered) || CountNames(workload, threads) > kMaxFiles) return;
  const google::protobuf::RepeatedPtrField<std::string> names = std::move(*workload.mutable_files());
  workload.clear_files();
  for (const std::string& name : names) {
    if (!IsNumbered(name)) {
      workload.add_files(name);
      continue;
    }
    const std::string base = name.substr(0, name.size() - std::string(kNumbered).size());
    for (uint32_t thread = 0; thread < threads; ++thread) {
      workload.add_files(absl::StrCat(base, absl::StrFormat("%03d", thread)));
    }
  }
}

// Threads of one host on the file.
uint64_t ThreadsOn(size_t file, uint64_t files, uint64_t threads) {
  if (threads <= files) return file < threads ? 1 : 0;
  return FirstThreadOf(file + 1, files, threads) - FirstThreadOf(file, files, threads);
}

uint64_t LargestBlock(const v1::TestPlan& plan) {
  uint64_t largest = 1;
  for (const uint64_t block_bytes : plan.block_size_bytes()) largest = std::max(largest, block_bytes);
  return largest;
}

// What is wrong with one name; empty: nothing.
std::string NameProblem(const std::string& name) {
  if (name.empty()) return "is empty: name a file";
  if (name[0] == '/') {
    if (name.size() >= kMaxTextBytes) return absl::StrCat("is longer than ", kMaxTextBytes - 1, " bytes");
    if (name.back() == '/') return "is a directory: name the file in it";
    for (const std::string& part : std::vector<std::string>(absl::StrSplit(name.substr(1), '/'))) {
      if (part.empty() || part == "." || part == "..") {
        return "has '//', '.' or '..' in its path: write the path without them";
      }
    }
    return "";
  }
  if (absl::StrContains(name, "/")) {
    return "is neither a plain name nor an absolute path: begin it with '/' for a file that exists, or leave out the "
           "directories for one that the run makes below --dir";
  }
  if (!IsPlainName(name) || name[0] == '-') {
    return "is not a plain name: use 1 to 64 of A-Z a-z 0-9 . _ -, the first neither '.' nor '-', or an absolute path";
  }
  return "";
}

class FilesCheck {
 public:
  explicit FilesCheck(const v1::TestPlan& plan) : plan_(plan), workload_(plan.workload()) {}

  std::vector<PlanProblem> Run() {
    CheckHosts();
    if (!UsesFiles(workload_)) {
      CheckWithout();
      return std::move(problems_);
    }
    if (!CheckKind()) return std::move(problems_);
    CheckNames();
    CheckExtents(workload_, "");
    if (!problems_.empty()) return std::move(problems_);
    CheckShare();
    CheckCreate();
    if (workload_.one_pass()) CheckOnePass();
    CheckPause();
    CheckSearch();
    CheckOverwrite();
    if (problems_.empty()) CheckSizes();
    return std::move(problems_);
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    problems_.emplace_back(parts...);
  }

  static PlanKey KeyOf(const FieldDescriptor& field) { return PlanKey(absl::StrCat("workload.", FieldKey(field))); }

  // What is given of the fields that belong to files.
  static std::vector<const FieldDescriptor*> Given(const v1::LogWorkload& workload) {
    std::vector<const FieldDescriptor*> given;
    for (const FieldDescriptor& field : FieldsOf(*v1::LogWorkload::descriptor())) {
      const bool off = KindOf(field) == ValueKind::kBool && CountOf(field, workload) > 0 &&
                       !workload.GetReflection()->GetBool(workload, &field);
      if (IsFilesField(field) && CountOf(field, workload) > 0 && !off) given.push_back(&field);
    }
    return given;
  }

  void CheckHosts() {
    for (const v1::HostSpec& host : plan_.hosts()) {
      for (const FieldDescriptor* const field : Given(host.workload())) {
        Add(KeyOf(*field), " on ", host.address(), ": a host has no files of its own: give it in the plan's workload");
      }
      if (UsesFiles(workload_)) CheckExtents(host.workload(), " on " + host.address());
    }
  }

  void CheckWithout() {
    for (const FieldDescriptor* const field : Given(workload_)) {
      Add(KeyOf(*field), " is for files: name them with ", PlanKey("workload.files"), ", or leave it out");
    }
  }

  bool CheckKind() {
    const RunKindFacts& kind = FactsOf(RunKindOf(plan_));
    if (kind.kind == RunKind::kRun || kind.kind == RunKind::kLimit) return true;
    Add(PlanKey("workload.files"), ": ", kind.noun,
        " writes logs; leave it out, or measure the files with `plimsoll run`",
        HasPlacement(plan_) ? " and without the placement" : "");
    return false;
  }

  void CheckNames() {
    const PlanKey name("workload.files");
    if (const size_t count = CountNames(workload_, workload_.qm()); count > kMaxFiles) {
      return Add(name, ": ", count, " names; a plan has at most ", kMaxFiles,
                 ": name fewer files, or let several threads share each of them");
    }
    size_t bytes = 0;
    std::set<std::string> seen;
    bool paths = false;
    bool plain = false;
    for (const std::string& file : workload_.files()) {
      bytes += file.size();
      if (const std::string problem = NameProblem(file); !problem.empty()) {
        return Add(name, ": ", Quoted(file), " ", problem);
      }
      if (!seen.insert(file).second) return Add(name, ": ", Quoted(file), " is listed twice; name each file once");
      (file[0] == '/' ? paths : plain) = true;
    }
    if (bytes > kMaxFilesText) {
      Add(name, ": names of ", FormatSize(bytes), " bytes together; a plan has at most ", FormatSize(kMaxFilesText),
          ": name fewer files, or use shorter paths");
    }
    if (paths && plain) {
      Add(name, ": plain names and absolute paths are mixed: name files that the run makes, or paths, not both");
    }
  }

  // Options of extents, which have no meaning for files.
  void CheckExtents(const v1::LogWorkload& workload, const std::string& where) {
    const auto refuse = [&](const char* key, const char* why) { Add(PlanKey(key), where, why); };
    if (workload.has_num_files()) {
      refuse("workload.num_files", ": with --files their names are their number; leave it out");
    }
    if (workload.has_file_prefix()) {
      refuse("workload.file_prefix", ": with --files each file has its name; leave it out");
    }
    if (!workload.qm_dirs().empty()) {
      refuse("workload.qm_dirs", ": with --files threads have no directories of their own; pass --dir");
    }
    const bool own = &workload != &workload_;
    if (UsesPaths(workload_) && workload.has_dir() && (own || workload.dir() != DirectoryOfPath(workload_.files(0)))) {
      refuse("workload.dir", ": with absolute paths in --files the run has no directory; leave it out");
    }
  }

  void CheckShare() {
    const PlanKey name("workload.share");
    const v1::FileShare share = workload_.share();
    if (share == v1::FILE_SHARE_OWN) return;
    const char* const word = share == v1::FILE_SHARE_RANGES ? " ranges" : " all";
    if (!UsesPaths(workload_)) {
      Add(name, word,
          ": files that the run makes are in a directory of each host, which no other host uses: name files "
          "that exist by absolute paths, or leave it out");
    }
    if (share != v1::FILE_SHARE_RANGES) return;
    for (const v1::HostSpec& host : plan_.hosts()) {
      if (host.workload().has_qm()) {
        Add(PlanKey("workload.qm"), " on ", host.address(), ": ", name,
            " ranges divides each file by the threads of all hosts, which must have equally many; leave it out there");
      }
      if (host.workload().has_file_size_bytes()) {
        Add(PlanKey("workload.file_size"), " on ", host.address(), ": ", name,
            " ranges divides one file, which has one size; leave it out there");
      }
    }
  }

  void CheckCreate() {
    if (!workload_.create()) return;
    const PlanKey name("workload.create");
    if (!UsesPaths(workload_)) {
      Add(name, ": kept files need absolute paths in ", PlanKey("workload.files"),
          ": files with plain names are removed with the run's directory");
    }
    if (plan_.read_percent() > 0) {
      Add(name, " and ", PlanKey("read"),
          " are both given: a new file has nothing to read; create it first, and read it in a second run");
    }
    if (workload_.share() != v1::FILE_SHARE_OWN) {
      Add(name, " and ", PlanKey("workload.share"),
          " are both given: one host creates the files, and then all use them: run it with one host");
    }
    if (plan_.block_size_bytes_size() == 1 && workload_.file_size_bytes() % plan_.block_size_bytes(0) != 0) {
      const uint64_t block_bytes = plan_.block_size_bytes(0);
      Add(PlanKey("workload.file_size"), " ", FormatSize(workload_.file_size_bytes()), " is not a multiple of ",
          PlanKey("block_size", absl::StrCat("--bsize ", FormatSize(block_bytes))),
          ": the end of each new file would stay a hole; use ",
          FormatSize((workload_.file_size_bytes() / block_bytes + 1) * block_bytes));
    }
    const auto one_step = [&](const PlanKey& key) {
      Add(key, ": ", name, " fills the files once, in one step; leave it out");
    };
    if (plan_.block_size_bytes_size() > 1)
      one_step(PlanKey(plan_.has_block_size_mix() ? "block_size_mix" : "block_size"));
    if (plan_.repeat() > 1) one_step(PlanKey("repeat"));
    if (plan_.sweep().qm_size() > 0) one_step(PlanKey("workload.qm"));
    if (plan_.keep_files()) {
      Add(PlanKey("keep_files"), ": files of ", name, " are kept in any case; leave it out");
    }
  }

  void CheckOnePass() {
    // Named as the user gave it.
    const PlanKey name(workload_.create() ? "workload.create" : "workload.one_pass");
    if (RunKindOf(plan_) != RunKind::kRun) {
      Add(name, ": a search measures each load for a time; leave it out, or measure one pass with `plimsoll run`");
    }
    if (plan_.warmup_ns() > 0) {
      Add(PlanKey("warmup"), " ", FormatReadableDuration(plan_.warmup_ns()), ": a pass takes each block once, and ",
          name, " has no warm-up; leave it out");
    }
    const auto rated = [](const v1::LogWorkload& workload) { return workload.rate_per_second() > 0; };
    if (std::ranges::any_of(EffectiveWorkloads(plan_), rated)) {
      Add(PlanKey("workload.rate"), ": ", name,
          " takes the blocks as fast as possible; leave it out, or slow it down with ", PlanKey("workload.delay"));
    }
    if (plan_.until_steady_ns() > 0) {
      Add(PlanKey("until_steady"), ": ", name,
          " ends with its pass, not when the rate is steady; leave one of them out");
    }
    if (plan_.has_block_size_mix() && !workload_.create()) {
      Add(PlanKey("block_size_mix"), ": ", name,
          " takes each block once, and blocks of several sizes are not the same ones each time; give one size");
    }
  }

  void CheckPause() {
    if (workload_.pause_percent() <= 0) return;
    const PlanKey name("workload.pause");
    for (const v1::LogWorkload& workload : EffectiveWorkloads(plan_)) {
      if (workload.delay_ns() > 0) {
        return Add(name, " and ", PlanKey("workload.delay"), " are both given: give the pause as a time or in percent");
      }
      if (workload.rate_per_second() > 0) {
        return Add(name, " and ", PlanKey("workload.rate"),
                   " are both given: a rate sets the pauses by itself, leave one of them out");
      }
    }
    if (RunKindOf(plan_) == RunKind::kLimit && plan_.limit().over() == v1::LIMIT_OVER_RATE) {
      Add(name, ": a search over the rate sets the pauses by itself; leave it out, or search with ",
          PlanKey("limit.over", "--over qm"));
    }
  }

  // A search over the number of threads compares loads, which must all be spread over the files alike.
  void CheckSearch() {
    if (RunKindOf(plan_) != RunKind::kLimit || plan_.limit().over() != v1::LIMIT_OVER_QM) return;
    const auto files = static_cast<uint32_t>(workload_.files_size());
    if (files == 1 || workload_.qm() <= files) return;
    const PlanKey over("limit.over", "--over qm");
    Add(PlanKey("workload.files"), ": ", files, " files are fewer than ", PlanKey("workload.qm"), " ", workload_.qm(),
        ", so that the lower loads of ", over,
        " would use only the first files: name one file, or one for each thread, or search with ",
        PlanKey("limit.over", "--over rate"));
  }

  void CheckOverwrite() {
    if (!workload_.overwrite() || UsesPaths(workload_)) return;
    Add(PlanKey("workload.overwrite"),
        ": the run makes files with plain names itself, and overwrites no others; leave it out");
  }

  // Only the agent knows the sizes of files that exist.
  void CheckSizes() {
    const size_t hosts = static_cast<size_t>(std::max(plan_.hosts_size(), 1));
    for (int host = 0; host < static_cast<int>(hosts); ++host) {
      const v1::LogWorkload workload = EffectiveWorkload(plan_, host);
      if (!workload.has_file_size_bytes()) continue;
      // All files have this size, and no other file has more threads than the first one.
      const std::string problem = TooSmallFor(workload, 0, workload.file_size_bytes(), hosts, LargestBlock(plan_));
      if (problem.empty()) continue;
      Add(PlanKey("workload.file_size"), plan_.hosts().empty() ? "" : " on " + plan_.hosts(host).address(), ": ",
          problem);
      return;
    }
  }

  const v1::TestPlan& plan_;
  const v1::LogWorkload& workload_;
  std::vector<PlanProblem> problems_;
};

}  // namespace

bool IsFilesField(const FieldDescriptor& field) {
  constexpr int kFields[] = {v1::LogWorkload::kFilesFieldNumber,     v1::LogWorkload::kShareFieldNumber,
                             v1::LogWorkload::kCreateFieldNumber,    v1::LogWorkload::kOnePassFieldNumber,
                             v1::LogWorkload::kOverwriteFieldNumber, v1::LogWorkload::kPausePercentFieldNumber};
  return field.containing_type() == v1::LogWorkload::descriptor() &&
         std::find(std::begin(kFields), std::end(kFields), field.number()) != std::end(kFields);
}

absl::StatusOr<std::vector<std::string>> ReadFileNames(const std::string& text, const std::string& file_name) {
  const FieldDescriptor& field = *v1::LogWorkload::descriptor()->FindFieldByNumber(v1::LogWorkload::kFilesFieldNumber);
  std::vector<std::string> names = absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  if (names.size() == 1 && names.front().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file_name, " has no names: write one a line"));
  }
  if (names.size() > kMaxFiles) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_name, ": ", names.size(), " names; a plan has at most ", kMaxFiles));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string place = absl::StrCat(file_name, ":", i + 1, ": ");
    if (names[i].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, "the line is empty: write one name a line, and no other lines"));
    }
    if (const auto value = ParseValue(field, names[i]); !value.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(place, std::string(value.status().message())));
    }
  }
  return names;
}

void FillFiles(v1::TestPlan& plan) {
  v1::LogWorkload& workload = *plan.mutable_workload();
  if (!UsesFiles(workload)) return;
  ExpandNames(workload);
  if (!workload.has_share()) workload.set_share(v1::FILE_SHARE_OWN);
  if (workload.create()) workload.set_one_pass(true);
  if (workload.one_pass()) {
    if (!plan.has_duration_ns()) plan.set_duration_ns(kLongestPassNs);
    if (!plan.has_warmup_ns()) plan.set_warmup_ns(0);
  }
  if (UsesPaths(workload) && !workload.has_dir()) workload.set_dir(DirectoryOfPath(workload.files(0)));
}

void ForgetExtents(const v1::LogWorkload& given, v1::LogWorkload& filled) {
  if (!UsesFiles(filled)) return;
  if (!given.has_num_files()) filled.clear_num_files();
  if (!given.has_file_prefix()) filled.clear_file_prefix();
  // Files that exist have the size that they have.
  if (!given.has_file_size_bytes() && UsesPaths(filled) && !filled.create()) filled.clear_file_size_bytes();
}

std::vector<PlanProblem> FilesProblems(const v1::TestPlan& plan) {
  return FilesCheck(plan).Run();
}

std::vector<std::string> FilesNotes(const v1::TestPlan& plan) {
  uint32_t most_threads = 0;
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) most_threads = std::max(most_threads, workload.qm());
  const auto files = static_cast<uint32_t>(plan.workload().files_size());
  if (files <= most_threads) return {};
  return {absl::StrCat(PlanKey("workload.files").text, ": ", FormatCount(files - most_threads), " of ",
                       FormatCount(files), " files are not used: there are ", FormatCount(most_threads),
                       most_threads == 1 ? " thread (" : " threads (", PlanKey("workload.qm", "--qm").text, ")")};
}

std::string TooSmallFor(const v1::LogWorkload& workload, size_t file, uint64_t size_bytes, size_t hosts,
                        uint64_t largest_block_bytes) {
  const std::string& name = workload.files(static_cast<int>(file));
  const uint64_t of_host = ThreadsOn(file, static_cast<uint64_t>(workload.files_size()), workload.qm());
  const bool ranges = workload.share() == v1::FILE_SHARE_RANGES;
  const uint64_t threads = ranges ? of_host * hosts : of_host;
  if (size_bytes / largest_block_bytes >= threads) return "";
  const std::string size = absl::StrCat(name, " of ", FormatSize(size_bytes), size_bytes < 1024 ? " bytes" : "");
  if (threads == 1) {
    return absl::StrCat(size, " has no block of ", FormatSize(largest_block_bytes),
                        " (--bsize): use a larger file, or smaller blocks");
  }
  return absl::StrCat(size, " has fewer than ", FormatCount(threads), " blocks of ", FormatSize(largest_block_bytes),
                      " (--bsize), one for each of its ", FormatCount(threads), " threads",
                      ranges && hosts > 1 ? " on all hosts" : "",
                      ": use a larger file, smaller blocks, or fewer threads (--qm)");
}

}  // namespace plimsoll
