#include "controller/journal/digest.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "controller/journal/recent_frames.h"
#include "controller/journal/sha256.h"

namespace plimsoll {
namespace {

// As many as 60 rounds of `plimsoll ab` have.
constexpr size_t kMostListBytes = size_t{1} << 20;
constexpr size_t kSumDigits = 64;
// sha256sum puts them between the sum and the name of a file that it reads as bytes of any kind.
constexpr std::string_view kBetween = "  ";
constexpr char kPrefix[] = "sha256:";

// "journal" as {"", "journal"}, "load-1/journal" as {"load-1", "journal"}.
std::pair<std::string, std::string> SplitName(const std::string& name) {
  const size_t slash = name.find('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

bool IsPlain(std::string_view part) {
  return !part.empty() && part != "." && part != ".." && absl::c_all_of(part, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
}

// Whether the results of a command can have a file of this name, at most one directory below their own.
bool IsResultName(const std::string& name) {
  const auto [part, file] = SplitName(name);
  return IsPlain(file) && (name.find('/') == std::string::npos || IsPlain(part));
}

bool IsSum(const std::string& text) {
  return text.size() == kSumDigits &&
         absl::c_all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

absl::StatusOr<UniqueFd> OpenListed(int directory, const std::string& name) {
  const auto [part, file] = SplitName(name);
  return OpenBelow(directory, part, file);
}

absl::StatusOr<std::string> SumBelow(int directory, const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenListed(directory, name));
  return Sha256OfRest(fd.get(), name);
}

// The text of digest.txt in the directory, or of the one in its directory `part`.
absl::StatusOr<std::string> ReadList(int directory, const std::string& part = "") {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenBelow(directory, part, kDigestName));
  return ReadRest(fd.get(), part.empty() ? kDigestName : absl::StrCat(part, "/", kDigestName), kMostListBytes);
}

absl::StatusOr<UniqueFd> OpenResults(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return PosixError("open", path, errno);
  return fd;
}

// Whether a file or list is missing or is not what it should be: nothing that the system failed to do.
bool IsDifference(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status);
}

absl::StatusOr<DigestState> CheckIn(int directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadList(directory));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<FileSum> listed, ReadFileSums(text));
  DigestState state;
  state.digest = Sha256(text);
  for (const FileSum& file : listed) {
    state.listed.push_back(file.name);
    absl::StatusOr<std::string> sum = SumBelow(directory, file.name);
    if (!sum.ok()) {
      (IsDifference(sum.status()) ? state.differences : state.unreadable).emplace_back(sum.status().message());
      continue;
    }
    if (*sum != file.sha256) {
      state.differences.push_back(absl::StrCat(file.name, " was changed: its SHA-256 is not the one in ", kDigestName));
    }
    state.files.push_back({file.name, *std::move(sum)});
  }
  return state;
}

// So that what was written survives the loss of power.
absl::Status Sync(const UniqueFd& fd, const std::string& name) {
  // A file system that has no fsync keeps things as it does.
  if (fsync(fd.get()) == 0 || errno == EINVAL || errno == EROFS) return absl::OkStatus();
  return PosixError("fsync", name, errno);
}

absl::Status SyncDirectory(int directory) {
  const UniqueFd fd(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return PosixError("open", kDigestName, errno);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd list, OpenBelow(directory, "", kDigestName));
  PLIMSOLL_RETURN_IF_ERROR(Sync(list, kDigestName));
  return Sync(fd, "the directory of the results");
}

// Adds the file, which is on the disk then.
absl::Status AddFile(int directory, const std::string& name, std::vector<FileSum>& files) {
  const absl::StatusOr<UniqueFd> fd = OpenListed(directory, name);
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  PLIMSOLL_RETURN_IF_ERROR(Sync(*fd, name));
  PLIMSOLL_ASSIGN_OR_RETURN(std::string sum, Sha256OfRest(fd->get(), name));
  files.push_back({name, std::move(sum)});
  return absl::OkStatus();
}

// Adds what the part lists.
absl::Status AddPart(int directory, const ResultsPart& part, std::vector<FileSum>& files) {
  const absl::StatusOr<std::string> text = ReadList(directory, part.directory);
  if (absl::IsNotFound(text.status())) {
    PLIMSOLL_RETURN_IF_ERROR(AddFile(directory, absl::StrCat(part.directory, "/", part.evidence), files));
    // A journal that was cut off may still have its files of recent frames.
    for (const char* const suffix : kRecentSuffixes) {
      const absl::Status added = AddFile(directory, absl::StrCat(part.directory, "/", part.evidence, suffix), files);
      if (!added.ok() && !absl::IsNotFound(added)) return added;
    }
    return absl::OkStatus();
  }
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  const absl::StatusOr<std::vector<FileSum>> listed = ReadFileSums(*text);
  if (!listed.ok()) return WithContext(part.directory, listed.status());
  for (const FileSum& file : *listed) files.push_back({absl::StrCat(part.directory, "/", file.name), file.sha256});
  return absl::OkStatus();
}

}  // namespace

std::string WriteFileSums(std::vector<FileSum> files) {
  std::ranges::sort(files, {}, &FileSum::name);
  std::string text;
  for (const FileSum& file : files) absl::StrAppend(&text, file.sha256, std::string(kBetween), file.name, "\n");
  return text;
}

absl::StatusOr<std::vector<FileSum>> ReadFileSums(const std::string& text) {
  std::vector<FileSum> files;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  // Behind the last line break.
  const bool ended = lines.back().empty();
  lines.pop_back();
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const size_t start = kSumDigits + kBetween.size();
    FileSum file;
    if (line.size() > start && line.compare(kSumDigits, kBetween.size(), kBetween) == 0) {
      file = {line.substr(start), line.substr(0, kSumDigits)};
    }
    const bool in_order = files.empty() || files.back().name < file.name;
    if (!IsSum(file.sha256) || !IsResultName(file.name) || !in_order) {
      return absl::InvalidArgumentError(absl::StrCat(kDigestName, " is not a list of files of a result: line ", i + 1));
    }
    files.push_back(std::move(file));
  }
  if (!ended || files.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        kDigestName, " is not a list of files of a result: ", ended ? "it is empty" : "its end is missing"));
  }
  return files;
}

absl::StatusOr<DigestState> CheckDigest(const std::string& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenResults(directory));
  return CheckIn(fd.get());
}

absl::StatusOr<DigestState> SealResults(const ResultsDirectory& results, Seal seal,
                                        const std::vector<std::string>& names, const std::vector<ResultsPart>& parts) {
  const int directory = results.descriptor();
  if (seal == Seal::kKeep) {
    if (absl::StatusOr<DigestState> there = CheckIn(directory); !absl::IsNotFound(there.status())) return there;
  }
  std::vector<FileSum> files;
  absl::Status added;
  for (const std::string& name : names) added.Update(AddFile(directory, name, files));
  for (const ResultsPart& part : parts) added.Update(AddPart(directory, part, files));
  // Where a command's own file is missing, its digest says so.
  if (absl::IsNotFound(added) && seal == Seal::kReplace) added = absl::FailedPreconditionError(added.message());
  PLIMSOLL_RETURN_IF_ERROR(added);
  const std::string text = WriteFileSums(files);
  DigestState state;
  PLIMSOLL_ASSIGN_OR_RETURN(state.files, ReadFileSums(text));
  PLIMSOLL_RETURN_IF_ERROR(results.Write(kDigestName, text));
  PLIMSOLL_RETURN_IF_ERROR(SyncDirectory(directory));
  // The sums of parts are those of their lists, not yet of their files.
  if (!parts.empty()) return CheckIn(directory);
  for (const FileSum& file : state.files) state.listed.push_back(file.name);
  state.digest = Sha256(text);
  return state;
}

absl::Status SealFailure(const absl::StatusOr<DigestState>& sealed) {
  return IsDifference(sealed.status()) ? absl::OkStatus() : sealed.status();
}

absl::Status ChangedBeforeSeal(const absl::StatusOr<DigestState>& sealed) {
  if (!sealed.ok() || sealed->differences.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(sealed->differences.front());
}

std::string DigestText(const absl::StatusOr<DigestState>& state) {
  if (absl::IsNotFound(state.status()) || !SealFailure(state).ok()) return "";
  if (!state.ok()) return absl::StrCat("none: ", state.status().message());
  if (state->intact()) return absl::StrCat(kPrefix, state->digest);
  return absl::StrCat("none: files differ from ", kDigestName, " (plimsoll verify names them)");
}

}  // namespace plimsoll
