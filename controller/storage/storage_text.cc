#include "controller/storage/storage_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/storage/advice.h"

namespace plimsoll {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kLabelWidth = 19;

void Fact(const std::string& label, const std::string& text, std::vector<std::string>& lines) {
  std::string prefix = absl::StrFormat("  %-17s", label);
  for (const std::string& line : Wrap(SanitizeForTerminal(text), kWidth - kLabelWidth)) {
    lines.push_back(prefix + line);
    prefix = std::string(kLabelWidth, ' ');
  }
}

std::string KindName(v1::BlockLayer::Kind kind) {
  switch (kind) {
    case v1::BlockLayer::KIND_PARTITION:
      return "partition";
    case v1::BlockLayer::KIND_DISK:
      return "disk";
    case v1::BlockLayer::KIND_MULTIPATH:
      return "multipath";
    case v1::BlockLayer::KIND_VOLUME:
      return "logical volume";
    case v1::BlockLayer::KIND_ENCRYPTED:
      return "encrypted";
    case v1::BlockLayer::KIND_RAID:
      return "software RAID";
    case v1::BlockLayer::KIND_MAPPED:
      return "mapped device";
    default:
      return "device";
  }
}

std::string DeviceText(const v1::BlockLayer& layer) {
  std::string text = layer.name();
  if (!layer.mapped_name().empty()) absl::StrAppend(&text, " (", layer.mapped_name(), ")");
  absl::StrAppend(&text, ": ", KindName(layer.kind()), ", ", FormatSizeForPeople(layer.size_bytes()));
  if (!layer.model().empty()) absl::StrAppend(&text, ", ", layer.model());
  if (!layer.scheduler().empty()) absl::StrAppend(&text, ", scheduler ", layer.scheduler());
  if (!layer.write_cache().empty()) absl::StrAppend(&text, ", write cache: ", layer.write_cache());
  if (layer.write_cache() == "write back")
    absl::StrAppend(&text, layer.forced_unit_access() ? " with FUA" : " without FUA");
  if (layer.logical_block_bytes() > 0) {
    absl::StrAppend(&text, ", blocks of ", layer.logical_block_bytes(), " (physical ", layer.physical_block_bytes(),
                    ")");
  }
  if (layer.below_size() > 0) absl::StrAppend(&text, ", on ", absl::StrJoin(layer.below(), ", "));
  return text;
}

void NfsFacts(const v1::DirectoryDescription& directory, std::vector<std::string>& lines) {
  const auto options = ParseMountOptions(directory.mount_options());
  const auto value = [&](const std::string& name, const std::string& absent) {
    const auto found = options.find(name);
    return found == options.end() ? absent : found->second;
  };
  Fact("NFS version", value("vers", "not told"), lines);
  const size_t colon = directory.remote().rfind(":/");
  std::string server = directory.remote().substr(0, colon);
  if (const std::string address = value("addr", ""); !address.empty() && address != server) {
    absl::StrAppend(&server, " (", address, ")");
  }
  Fact("server", server, lines);
  Fact("export", colon == std::string::npos ? "" : directory.remote().substr(colon + 1), lines);
  Fact("waiting",
       absl::StrCat(options.contains("soft")      ? "soft"
                    : options.contains("softerr") ? "softerr"
                                                  : "hard",
                    ", timeo=", value("timeo", "?"), " (tenths of a second), retrans=", value("retrans", "?")),
       lines);
  Fact("sizes", absl::StrCat("wsize=", value("wsize", "?"), ", rsize=", value("rsize", "?")), lines);
  Fact("locks", absl::StrCat("local_lock=", value("local_lock", options.contains("nolock") ? "all (nolock)" : "none")),
       lines);
  std::string caching = "as by default";
  if (options.contains("noac")) {
    caching = "noac";
  } else if (options.contains("actimeo")) {
    caching = absl::StrCat("actimeo=", value("actimeo", ""));
  } else if (options.contains("acregmin") || options.contains("acregmax")) {
    caching = absl::StrCat("acregmin=", value("acregmin", "3"), ", acregmax=", value("acregmax", "60"));
  }
  Fact("attributes", caching, lines);
}

}  // namespace

std::vector<std::string> TextOfStorage(const v1::DirectoryDescription& directory, uint64_t block_size_bytes) {
  std::vector<std::string> lines;
  Fact("directory", directory.path(), lines);
  if (!directory.error().empty()) Fact("error", directory.error(), lines);
  if (directory.fs_type().empty()) return lines;
  Fact("file system",
       absl::StrCat(directory.fs_type(), " from ", directory.fs_source(), ", mounted on ", directory.mount_point()),
       lines);
  if (IsNfsType(directory.fs_type())) NfsFacts(directory, lines);
  Fact("mount options", directory.mount_options(), lines);
  Fact("free",
       absl::StrCat(FormatSizeForPeople(directory.free_bytes()), " of ", FormatSizeForPeople(directory.total_bytes())),
       lines);
  if (directory.direct_offset_align() > 0) {
    Fact("O_DIRECT", absl::StrCat("offsets on multiples of ", directory.direct_offset_align(), " bytes"), lines);
  }
  std::string label = "devices";
  for (const v1::BlockLayer& layer : directory.block_layers()) Fact(std::exchange(label, ""), DeviceText(layer), lines);
  label = "exported to";
  for (const std::string& one : directory.exports()) Fact(std::exchange(label, ""), one, lines);
  for (const std::string& sign : directory.queue_managers()) Fact("queue manager", sign, lines);
  const std::vector<StorageAdvice> advice = AdviseOnStorage(directory, block_size_bytes);
  for (const StorageAdvice& one : advice) {
    const char* level = one.level == AdviceLevel::kProblem   ? "PROBLEM"
                        : one.level == AdviceLevel::kWarning ? "warning"
                                                             : "hint";
    Fact(level, absl::StrCat(one.what, ": ", one.why, " [", one.source, "]"), lines);
  }
  if (advice.empty()) Fact("advice", "nothing found that speaks against a log here", lines);
  return lines;
}

}  // namespace plimsoll
