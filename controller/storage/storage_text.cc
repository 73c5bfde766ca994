#include "controller/storage/storage_text.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text_numbers.h"
#include "controller/render/text_table.h"
#include "controller/storage/advice.h"
#include "controller/storage/host_text.h"

namespace plimsoll {
namespace {

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
  AppendFact("NFS version", value("vers", "unknown"), lines);
  const size_t colon = directory.remote().rfind(":/");
  std::string server = directory.remote().substr(0, colon);
  if (const std::string address = value("addr", ""); !address.empty() && address != server) {
    absl::StrAppend(&server, " (", address, ")");
  }
  AppendFact("server", server, lines);
  AppendFact("export", colon == std::string::npos ? "" : directory.remote().substr(colon + 1), lines);
  AppendFact("retry",
             absl::StrCat(options.contains("soft")      ? "soft"
                          : options.contains("softerr") ? "softerr"
                                                        : "hard",
                          ", timeo=", value("timeo", "?"), " (tenths of a second), retrans=", value("retrans", "?")),
             lines);
  AppendFact("sizes", absl::StrCat("wsize=", value("wsize", "?"), ", rsize=", value("rsize", "?")), lines);
  AppendFact("locks",
             absl::StrCat("local_lock=", value("local_lock", options.contains("nolock") ? "all (nolock)" : "none")),
             lines);
  std::string caching = "default";
  if (options.contains("noac")) {
    caching = "noac";
  } else if (options.contains("actimeo")) {
    caching = absl::StrCat("actimeo=", value("actimeo", ""));
  } else if (options.contains("acregmin") || options.contains("acregmax")) {
    caching = absl::StrCat("acregmin=", value("acregmin", "3"), ", acregmax=", value("acregmax", "60"));
  }
  AppendFact("attributes", caching, lines);
}

}  // namespace

std::vector<std::string> TextOfStorage(const v1::DirectoryDescription& directory, uint64_t block_size_bytes) {
  std::vector<std::string> lines;
  AppendFact("directory", directory.path(), lines);
  if (!directory.error().empty()) AppendFact("error", directory.error(), lines);
  if (directory.fs_type().empty()) return lines;
  AppendFact(
      "file system",
      absl::StrCat(directory.fs_type(), " from ", directory.fs_source(), ", mounted on ", directory.mount_point()),
      lines);
  if (IsNfsType(directory.fs_type())) NfsFacts(directory, lines);
  AppendFact("mount options", SharedMountOptions(directory.mount_options()), lines);
  if (directory.direct_offset_align() > 0) {
    AppendFact("O_DIRECT", absl::StrCat("offsets on multiples of ", directory.direct_offset_align(), " bytes"), lines);
  }
  std::string label = "devices";
  for (const v1::BlockLayer& layer : directory.block_layers())
    AppendFact(std::exchange(label, ""), DeviceText(layer), lines);
  label = "exported to";
  for (const std::string& one : directory.exports()) AppendFact(std::exchange(label, ""), one, lines);
  for (const std::string& sign : directory.queue_managers()) AppendFact("queue manager", sign, lines);
  const std::vector<StorageAdvice> advice = AdviseOnStorage(directory, block_size_bytes);
  for (const StorageAdvice& one : advice) {
    const char* level = one.level == AdviceLevel::kProblem   ? "PROBLEM"
                        : one.level == AdviceLevel::kWarning ? "warning"
                                                             : "hint";
    AppendFact(level, absl::StrCat(one.what, ": ", one.why, " [", one.source, "]"), lines);
  }
  if (advice.empty()) AppendFact("advice", "no issues found", lines);
  return lines;
}

std::vector<std::string> TextOfStorages(const std::vector<HostDirectory>& hosts, uint64_t block_size_bytes) {
  const std::vector<AlikeHosts> groups =
      GroupAlike(hosts.size(), [&](size_t host) { return TextOfStorage(hosts[host].directory, block_size_bytes); });
  std::vector<std::string> lines;
  TextTable table({"hosts", "file system", "source", "problems", "warnings", "hints"}, 3, {0, 2});
  for (const AlikeHosts& group : groups) {
    std::vector<std::string> names;
    std::vector<const v1::DirectoryDescription*> directories;
    for (const size_t host : group.hosts) {
      names.push_back(SanitizeForTerminal(hosts[host].label));
      directories.push_back(&hosts[host].directory);
    }
    const v1::DirectoryDescription& first = *directories.front();
    const std::string joined = JoinHostNames(names);
    std::array<size_t, 3> counts{};
    for (const StorageAdvice& one : AdviseOnStorage(first, block_size_bytes)) ++counts[static_cast<size_t>(one.level)];
    table.AddRow({joined, SanitizeForTerminal(first.fs_type()), SanitizeForTerminal(first.fs_source()),
                  absl::StrCat(counts[0]), absl::StrCat(counts[1]), absl::StrCat(counts[2])});
    if (!lines.empty()) lines.emplace_back();
    for (std::string& line : Wrap(joined, kHostTextWidth)) lines.push_back(std::move(line));
    std::vector<std::string> text = group.text;
    if (!first.fs_type().empty()) {
      std::vector<std::string> free;
      AppendFact("free", FreeSpace(names, directories), free);
      text.insert(text.end(), free.begin(), free.end());
    }
    lines.insert(lines.end(), text.begin(), text.end());
  }
  if (groups.size() < 2) return lines;
  std::vector<std::string> all = table.Lines();
  all.emplace_back();
  all.insert(all.end(), lines.begin(), lines.end());
  return all;
}

}  // namespace plimsoll
