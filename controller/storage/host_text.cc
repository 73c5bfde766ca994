#include "controller/storage/host_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/storage/advice.h"

namespace plimsoll {
namespace {

// "nfs4 from filer:/mq, mounted on /mnt". Where the agent's root directory is not a mount point, the kernel does not
// show it what is mounted above.
std::string FileSystemText(const v1::DirectoryDescription& directory) {
  if (directory.mount_point().empty()) {
    return absl::StrCat(directory.fs_type(), "; its device and mount point are outside the agent's root directory");
  }
  return absl::StrCat(directory.fs_type(), " from ", directory.fs_source(), ", mounted on ", directory.mount_point());
}

constexpr size_t kFactLabelWidth = 19;
// Digits that 64 bits hold whatever they are.
constexpr size_t kMostDigits = 18;

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() <= kMostDigits && std::ranges::all_of(text, IsDigit);
}

// Names that differ in one number: what is before and behind it, and the numbers as they are written.
struct NumberedNames {
  std::string before;
  std::string behind;
  std::vector<std::string> numbers;

  // Whether `name` is one more of them; its number then.
  std::string NumberOf(const std::string& name) const {
    if (name.size() <= before.size() + behind.size() || !absl::StartsWith(name, before) ||
        !absl::EndsWith(name, behind)) {
      return "";
    }
    std::string number = name.substr(before.size(), name.size() - before.size() - behind.size());
    // "01" and "1" are two names; a range has one width where zeros fill it up.
    const bool filled = number.front() == '0' || numbers.front().front() == '0';
    return IsNumber(number) && (!filled || number.size() == numbers.front().size()) ? number : "";
  }
};

// What two names have in common, around one number in which they differ; without numbers where they do not.
NumberedNames CommonParts(const std::string& a, const std::string& b) {
  const size_t shorter = std::min(a.size(), b.size());
  size_t before = 0;
  while (before < shorter && a[before] == b[before]) ++before;
  while (before > 0 && IsDigit(a[before - 1])) --before;
  size_t behind = 0;
  while (behind < shorter - before && a[a.size() - 1 - behind] == b[b.size() - 1 - behind]) ++behind;
  while (behind > 0 && IsDigit(a[a.size() - behind])) --behind;
  NumberedNames names{a.substr(0, before), a.substr(a.size() - behind), {}};
  const std::string number = a.substr(before, a.size() - before - behind);
  if (!IsNumber(number)) return names;
  names.numbers.push_back(number);
  if (const std::string other = names.NumberOf(b); !other.empty()) {
    names.numbers.push_back(other);
  } else {
    names.numbers.clear();
  }
  return names;
}

// "1-3,7"
std::string Ranges(const std::vector<std::string>& numbers) {
  std::string ranges;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    uint64_t value = 0;
    uint64_t next = 0;
    while (last + 1 < numbers.size() && absl::SimpleAtoi(numbers[last], &value) &&
           absl::SimpleAtoi(numbers[last + 1], &next) && next == value + 1) {
      ++last;
    }
    absl::StrAppend(&ranges, ranges.empty() ? "" : ",", numbers[i], last > i ? "-" : "", last > i ? numbers[last] : "");
    i = last + 1;
  }
  return ranges;
}

std::string Tenths(int64_t ns) {
  return absl::StrFormat("%.1f", static_cast<double>(ns) / 1e3);
}

// What the agent was started with, as options; "none" where nothing is capped.
std::string LimitsInWords(const v1::AgentLimits& limits) {
  std::string words;
  if (limits.max_bytes() > 0) absl::StrAppend(&words, " --max-bytes ", FormatSize(limits.max_bytes()));
  if (limits.max_files() > 0) absl::StrAppend(&words, " --max-files ", limits.max_files());
  if (limits.max_writers() > 0) absl::StrAppend(&words, " --max-writers ", limits.max_writers());
  if (limits.max_duration_ns() > 0) {
    absl::StrAppend(&words, " --max-duration ", FormatDuration(limits.max_duration_ns()));
  }
  return words.empty() ? "none" : words.substr(1);
}

// Facts that a host shares with others that are alike.
std::vector<std::string> CommonFacts(const v1::HostDescription& facts) {
  std::vector<std::string> lines;
  AppendFact("version", absl::StrCat(facts.version(), ", protocol ", facts.protocol_version()), lines);
  if (facts.has_program_sha256()) AppendFact("SHA-256", facts.program_sha256(), lines);
  if (facts.has_time_service()) AppendFact("time service", facts.time_service(), lines);
  AppendFact("kernel",
             absl::StrCat(facts.kernel(), ", ", facts.cpus(), " CPUs, ", FormatSizeForPeople(facts.memory_bytes()),
                          ", clock source ", facts.clock_source()),
             lines);
  AppendFact("limits", LimitsInWords(facts.limits()), lines);
  for (const v1::DirectoryDescription& directory : facts.directories()) {
    if (!directory.error().empty()) {
      AppendFact("directory", absl::StrCat(directory.path(), ": ", directory.error()), lines);
      continue;
    }
    AppendFact("directory", absl::StrCat(directory.path(), " is ", FileSystemText(directory)), lines);
    AppendFact("mount options", SharedMountOptions(directory.mount_options()), lines);
    if (!directory.caveat().empty()) AppendFact("note", directory.caveat(), lines);
  }
  return lines;
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

std::string JoinHostNames(const std::vector<std::string>& names) {
  std::vector<std::string> joined;
  for (size_t i = 0; i < names.size();) {
    NumberedNames numbered;
    if (i + 1 < names.size()) numbered = CommonParts(names[i], names[i + 1]);
    if (numbered.numbers.empty()) {
      joined.push_back(names[i++]);
      continue;
    }
    i += 2;
    for (; i < names.size(); ++i) {
      std::string number = numbered.NumberOf(names[i]);
      if (number.empty()) break;
      numbered.numbers.push_back(std::move(number));
    }
    joined.push_back(absl::StrCat(numbered.before, "[", Ranges(numbered.numbers), "]", numbered.behind));
  }
  return absl::StrJoin(joined, ",");
}

void AppendFact(const std::string& label, const std::string& text, std::vector<std::string>& lines) {
  std::string prefix = absl::StrFormat("  %-17s", label);
  for (const std::string& line : Wrap(SanitizeForTerminal(text), kHostTextWidth - kFactLabelWidth)) {
    lines.push_back(prefix + line);
    prefix = std::string(kFactLabelWidth, ' ');
  }
}

std::vector<AlikeHosts> GroupAlike(size_t count, const std::function<std::vector<std::string>(size_t)>& text_of) {
  std::vector<AlikeHosts> groups;
  for (size_t host = 0; host < count; ++host) {
    std::vector<std::string> text = text_of(host);
    const auto group = std::ranges::find_if(groups, [&](const AlikeHosts& each) { return each.text == text; });
    if (group == groups.end()) {
      groups.push_back({{host}, std::move(text)});
    } else {
      group->hosts.push_back(host);
    }
  }
  return groups;
}

std::string FreeSpace(const std::vector<std::string>& names,
                      const std::vector<const v1::DirectoryDescription*>& directories) {
  const auto less = [](const v1::DirectoryDescription* a, const v1::DirectoryDescription* b) {
    return a->free_bytes() < b->free_bytes();
  };
  const auto least = std::ranges::min_element(directories, less);
  const auto most = std::ranges::max_element(directories, less);
  const std::string from = FormatSizeForPeople((*least)->free_bytes());
  const std::string to = FormatSizeForPeople((*most)->free_bytes());
  const std::string total = FormatSizeForPeople((*least)->total_bytes());
  if (from == to) return absl::StrCat(from, " of ", total);
  const std::string& host = names[static_cast<size_t>(least - directories.begin())];
  return absl::StrCat(from, " of ", total, " (", host, ") to ", to);
}

std::vector<std::string> TextOfHosts(const std::vector<AskedHost>& hosts) {
  std::vector<std::string> lines;
  if (hosts.empty()) return lines;
  lines.emplace_back("Clock offsets from this host; sync: error bound of the wall clock, - if it is not synchronised");
  const bool in_pods = std::ranges::any_of(hosts, [](const AskedHost& host) { return !host.node.empty(); });
  std::vector<std::string> headings = {"host", "address", "RTT us", "offset s", "+/- us", "wall ms", "sync us"};
  std::vector<size_t> shortened = {0, 1};
  if (in_pods) {
    headings.insert(headings.begin() + 2, "node");
    shortened.push_back(2);
  }
  TextTable table(headings, shortened.size(), shortened);
  for (const AskedHost& host : hosts) {
    const v1::HostDescription& facts = host.description;
    std::vector<std::string> row = {SanitizeForTerminal(host.label), SanitizeForTerminal(host.address)};
    if (in_pods) row.push_back(host.node.empty() ? "-" : SanitizeForTerminal(host.node));
    if (!host.probed) {
      row.insert(row.end(), {"-", "no answer", "-", "-", "-"});
    } else {
      row.insert(row.end(),
                 {Tenths(host.round_trip_ns), absl::StrFormat("%.9f", static_cast<double>(host.offset_ns) / 1e9),
                  Tenths(host.error_ns), absl::StrFormat("%+.3f", static_cast<double>(host.wall_difference_ns) / 1e6),
                  facts.time_synchronized() ? Tenths(static_cast<int64_t>(facts.time_error_ns())) : "-"});
    }
    table.AddRow(row);
  }
  for (std::string& line : table.Lines()) lines.push_back(std::move(line));
  for (const AskedHost& host : hosts) {
    if (!host.busy_with.empty()) {
      lines.push_back(SanitizeForTerminal(absl::StrCat("  ", host.label, ": busy with ", host.busy_with)));
    }
  }
  for (const AlikeHosts& group :
       GroupAlike(hosts.size(), [&hosts](size_t host) { return CommonFacts(hosts[host].description); })) {
    std::vector<std::string> names;
    for (const size_t host : group.hosts) names.push_back(SanitizeForTerminal(hosts[host].label));
    lines.emplace_back();
    for (std::string& line : Wrap(JoinHostNames(names), kHostTextWidth)) lines.push_back(std::move(line));
    lines.insert(lines.end(), group.text.begin(), group.text.end());
    const v1::HostDescription& first = hosts[group.hosts.front()].description;
    for (int i = 0; i < first.directories_size(); ++i) {
      if (!first.directories(i).error().empty()) continue;
      std::vector<const v1::DirectoryDescription*> directories;
      for (const size_t host : group.hosts) {
        const v1::HostDescription& facts = hosts[host].description;
        if (i < facts.directories_size()) directories.push_back(&facts.directories(i));
      }
      AppendFact("free", FreeSpace(names, directories), lines);
    }
  }
  return lines;
}

std::vector<std::string> TextOfStorage(const v1::DirectoryDescription& directory, uint64_t block_size_bytes) {
  std::vector<std::string> lines;
  AppendFact("directory", directory.path(), lines);
  if (!directory.error().empty()) AppendFact("error", directory.error(), lines);
  if (directory.fs_type().empty()) return lines;
  AppendFact("file system", FileSystemText(directory), lines);
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
