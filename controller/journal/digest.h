// The digest of a result directory: one SHA-256 over the files that its verdict follows from and is shown in, for a
// change ticket (docs/evidence.md).
//
// `digest.txt` lists these files as sha256sum prints them, sorted by name. It is written when the command ends,
// and its own SHA-256 is the digest: `sha256sum -c digest.txt` and `sha256sum digest.txt` check the same without this
// program. The list shows which file was changed. The digest, kept where the files cannot be reached, shows that the
// list was not changed with them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/journal/results.h"

namespace plimsoll {

inline constexpr char kDigestName[] = "digest.txt";

// A file of the results. The name is that below their directory: "journal", or of a part "load-1/journal".
struct FileSum {
  std::string name;
  std::string sha256;

  bool operator==(const FileSum&) const = default;
};

// The text of digest.txt.
std::string WriteFileSums(std::vector<FileSum> files);
// The inverse. INVALID_ARGUMENT, with the line, where the text is not exactly what WriteFileSums makes of some files.
absl::StatusOr<std::vector<FileSum>> ReadFileSums(const std::string& text);

// What has become of the files that digest.txt lists.
struct DigestState {
  // SHA-256 of digest.txt.
  std::string digest;
  // Names that digest.txt has.
  std::vector<std::string> listed;
  // The listed files as they are now, where they can be read.
  std::vector<FileSum> files;
  // A sentence without its full stop for each file that was changed, is missing, or is a symbolic link; it begins with
  // the file's name.
  std::vector<std::string> differences;
  // Why other files could not be read.
  std::vector<std::string> unreadable;

  bool intact() const { return differences.empty() && unreadable.empty(); }
};

// Compares the files of a directory with its digest.txt. No symbolic link in it is followed. NOT_FOUND where there is
// no digest.txt, FAILED_PRECONDITION where it is a link or not a regular file, INVALID_ARGUMENT where it is not such a
// list.
absl::StatusOr<DigestState> CheckDigest(const std::string& directory);

// A directory of results below those of their command: "load-1" of an acceptance.
struct ResultsPart {
  std::string directory;
  // The file that its outcome follows from. Files of a journal beside it count, too (JournalFileNames).
  std::string evidence;
};

// What becomes of a digest.txt that is there. The command that makes the results replaces it: `plimsoll report` may
// have sealed what there was until then. `plimsoll report` itself leaves it as it is.
enum class Seal { kReplace, kKeep };

// Writes digest.txt over the files `names` of the results, and over those that the parts list in their own digest.txt,
// with the sums that they have there, so that a change made since shows. A part without a list was cut off, or is of an
// earlier version: its evidence is listed. Files and list are on the disk when it returns what CheckDigest then finds.
// Where one of the files is missing, nothing is written: FAILED_PRECONDITION, or to be kept NOT_FOUND.
absl::StatusOr<DigestState> SealResults(const ResultsDirectory& results, Seal seal,
                                        const std::vector<std::string>& names,
                                        const std::vector<ResultsPart>& parts = {});

// Why SealResults could not read or write; OK where it could, also where it found files missing or another list, which
// is for `plimsoll verify` to name.
absl::Status SealFailure(const absl::StatusOr<DigestState>& sealed);

// FAILED_PRECONDITION with the first difference, where files of parts were changed before the whole was sealed.
absl::Status ChangedBeforeSeal(const absl::StatusOr<DigestState>& sealed);

// What is shown of the digest: "sha256:...", or why there is none; empty where there is no list.
std::string DigestText(const absl::StatusOr<DigestState>& state);

}  // namespace plimsoll
