#include "controller/xdisk/xdisk_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/field_rules.h"
#include "common/files.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/plan/host_list.h"
#include "controller/xdisk/xdisk_output.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {
namespace {

constexpr uint32_t kMostProcesses = 128;
constexpr uint32_t kMostAsync = 128;
constexpr uint32_t kMostXdiskHosts = 16;
constexpr uint64_t kLeastCreate = uint64_t{1} << 20U;
constexpr uint64_t kLeastBlock = 512;
constexpr uint64_t kMostBlock = uint64_t{64} << 20U;
constexpr uint32_t kMostSnooze = 10'000;
constexpr char kNumberedName[] = "...";
constexpr char kSeparators[] = ",:#";

constexpr std::array kXdiskOptionList = {
    XdiskOption{"-S", "1", "Sequential I/O; -S1 reads or writes the files once, whatever -t and -w are", true},
    XdiskOption{"-R", "1", "Random I/O; -R1 takes each block once; with -C, create the files in random order", true},
    XdiskOption{"-C", "SIZE", "Create files of this size (1M to 2T) by writing them once, and keep them"},
    XdiskOption{"-M", "NUM", "Processes on each host, 1 to 128 [1]; before -f NAME..."},
    XdiskOption{"-f", "NAMES", "Files or devices: a list separated by , : or #, or NAME... for NAME000, NAME001, ..."},
    XdiskOption{"-F", "FILE", "File with the names of the files, one per line"},
    XdiskOption{"-O", "FLAGS", "f (fsync after each write), or of S (O_SYNC), D (O_DIRECT) and W (O_DSYNC)"},
    XdiskOption{"-t", "SECONDS", "Measured time, 5 to 86400 [5]"},
    XdiskOption{"-w", "SECONDS", "Warm-up before it, not counted, 2 to 3600 [none]"},
    XdiskOption{"-i", "SECONDS", "Print a line for each interval of 2 to 3600 seconds instead of one at the end"},
    XdiskOption{"-z", "PERCENT", "Pause after each operation in percent of the average response time [0]; not with -A"},
    XdiskOption{"-r", "PERCENT", "Share of reads, 0 to 100 [0]"},
    XdiskOption{"-b", "SIZE", "Block size, 512 to 64M [4K]"},
    XdiskOption{"-A", "NUM", "Asynchronous operations of each process, 1 to 128 [none]"},
    XdiskOption{"-s", "SIZE", "Part of each device that is used; needed for devices of unknown size"},
    XdiskOption{"-c", nullptr, "Also print the statistics of the devices under the files"},
    XdiskOption{"-q", nullptr, "Print no information before the figures"},
    XdiskOption{"-Q", nullptr, "Print no header line; implies -q"},
    XdiskOption{"-P", nullptr, "Print the header line (with that of -x and -c) and exit"},
    XdiskOption{"-x", "srw", "Print distributions of response times in 1/1000: r reads, w writes, s both"},
    XdiskOption{"-V", nullptr, "Print for spreadsheets: one line, 0 instead of ___ and ---; implies -q"},
    XdiskOption{"-T", "TEXT", "Print this text at the end"},
    XdiskOption{"-l", "LANG", "Format numbers as in en_US or de_DE"},
    XdiskOption{"-L", "FILE", "Also append the output to this file"},
    XdiskOption{"-d", nullptr, "Print the plan and the progress on standard error"},
    XdiskOption{"-n", "HOSTS", "Hosts, at most 16, separated by , : or #; agents are started over ssh"},
    XdiskOption{"-N", "FILE", "File with the hosts, one per line"},
};

const XdiskOption* FindOption(std::string_view word) {
  const auto found = std::ranges::find_if(
      kXdiskOptionList, [word](const XdiskOption& option) { return word.substr(0, 2) == option.name; });
  return found == kXdiskOptionList.end() ? nullptr : &*found;
}

absl::Status Wrong(const std::string& text) {
  return absl::InvalidArgumentError(text);
}

bool IsOptionWord(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

struct GivenValue {
  std::string text;
  // Which word of the line it is.
  size_t place = 0;
};

// The options of a line by their names.
using GivenOptions = std::map<std::string, GivenValue>;

absl::Status UnexpectedArgument(const std::vector<std::string>& words, size_t place) {
  const std::string& word = words[place];
  const std::string before = place == 0 ? "" : words[place - 1];
  std::string hint = "; see plimsoll xdisk --help";
  if ((before == "-S" || before == "-R") && (word == "0" || word == "1")) {
    hint = absl::StrCat(": write ", before, word, " without a blank");
  } else if (!before.empty() && std::string_view(kSeparators).find(before.back()) != std::string_view::npos) {
    hint = ": write lists without blanks";
  }
  return Wrong(absl::StrCat("unexpected argument ", Quoted(word), hint));
}

// Whether the option takes the word behind it as its value if it has no attached one.
bool TakesNextWord(const XdiskOption& option) {
  return option.type != nullptr && !option.digit;
}

// Checks what is attached to an option, "50" of -r50; empty: nothing is.
absl::Status CheckAttached(const XdiskOption& option, const std::string& attached) {
  if (attached.empty()) return absl::OkStatus();
  if (option.type == nullptr) {
    return Wrong(
        absl::StrCat(option.name, " takes no value: write ", option.name, " -", absl::StripPrefix(attached, "-")));
  }
  if (option.digit && attached != "0" && attached != "1") {
    return Wrong(absl::StrCat(option.name, attached, ": write ", option.name, ", or ", option.name,
                              "1 to take each block once"));
  }
  return absl::OkStatus();
}

// The value of an option that is the word at `place`, which may be behind the end of the line.
absl::StatusOr<std::string> ValueAt(const std::vector<std::string>& words, size_t place, const XdiskOption& option) {
  const std::string_view name = option.name;
  const bool is_value = place < words.size() && !IsOptionWord(words[place]) && (!words[place].empty() || name == "-T");
  if (is_value) return words[place];
  return Wrong(absl::StrCat(option.name, " needs a value: ", name == "-x" ? "r, w or s" : option.type));
}

absl::Status GivenTwice(const std::string& name) {
  const bool is_list = name == "-f" || name == "-n";
  return Wrong(absl::StrCat(
      name, " was given twice: ", is_list ? "list all values in one, separated by commas" : "give it once"));
}

absl::StatusOr<GivenOptions> ReadWords(const std::vector<std::string>& words) {
  GivenOptions given;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!IsOptionWord(word)) return UnexpectedArgument(words, i);
    const XdiskOption* option = FindOption(word);
    if (option == nullptr) {
      return Wrong(absl::StrCat("unknown option ", Quoted(word), "; see plimsoll xdisk --help"));
    }
    GivenValue value{word.substr(2), i};
    PLIMSOLL_RETURN_IF_ERROR(CheckAttached(*option, value.text));
    if (TakesNextWord(*option) && value.text.empty()) {
      PLIMSOLL_ASSIGN_OR_RETURN(value.text, ValueAt(words, ++i, *option));
    }
    if (!given.emplace(option->name, value).second) return GivenTwice(option->name);
  }
  return given;
}

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return absl::ascii_isdigit(static_cast<uint8_t>(c)); });
}

// Reads the values of options into the structure. One object reads one line.
class XdiskReader {
 public:
  XdiskReader(GivenOptions given, std::string directory) : given_(std::move(given)), directory_(std::move(directory)) {}

  absl::StatusOr<XdiskOptions> Read();

 private:
  bool Has(const std::string& name) const { return given_.contains(name); }
  std::string Text(const std::string& name) const { return Has(name) ? given_.at(name).text : ""; }
  // Leaves `value` as it is where the option was not given.
  absl::Status Number(const std::string& name, uint32_t least, uint32_t most, const std::string& unit,
                      uint32_t& value) const;
  absl::Status Size(const std::string& name, uint64_t least, uint64_t most, uint64_t& value) const;

  absl::Status ReadOutput();
  absl::Status ReadPattern();
  absl::Status ReadSizes();
  absl::Status ReadTimes();
  absl::Status ReadFlags();
  absl::Status ReadHosts();
  absl::Status ReadFiles();
  absl::StatusOr<std::vector<std::string>> ListedFiles() const;
  // The absolute path of a file of `option` (-f or -F).
  absl::StatusOr<std::string> PathOf(const std::string& option, const std::string& name) const;
  // What -x shows, once the share of reads is known.
  void ChooseDistributions();

  const GivenOptions given_;
  const std::string directory_;
  XdiskOptions options_;
};

absl::Status XdiskReader::Number(const std::string& name, uint32_t least, uint32_t most, const std::string& unit,
                                 uint32_t& value) const {
  if (!Has(name)) return absl::OkStatus();
  const std::string text = Text(name);
  uint32_t number = 0;
  if (!IsNumber(text) || !absl::SimpleAtoi(text, &number) || number < least || number > most) {
    return Wrong(
        absl::StrCat(name, ": ", Quoted(text), " is not a whole number of ", unit, " from ", least, " to ", most));
  }
  value = number;
  return absl::OkStatus();
}

absl::Status XdiskReader::Size(const std::string& name, uint64_t least, uint64_t most, uint64_t& value) const {
  if (!Has(name)) return absl::OkStatus();
  const std::string text = Text(name);
  const absl::StatusOr<uint64_t> size = ParseSize(text);
  if (!size.ok() || *size < least || *size > most) {
    return Wrong(absl::StrCat(name, ": ", Quoted(text), " is not a size from ", FormatSize(least), " to ",
                              FormatSize(most), ", such as 64K, 100M or 2G"));
  }
  value = *size;
  return absl::OkStatus();
}

absl::StatusOr<XdiskOptions> XdiskReader::Read() {
  PLIMSOLL_RETURN_IF_ERROR(ReadOutput());
  PLIMSOLL_RETURN_IF_ERROR(Number("-r", 0, 100, "percent", options_.read_percent));
  PLIMSOLL_RETURN_IF_ERROR(Size("-b", kLeastBlock, kMostBlock, options_.block_size_bytes));
  PLIMSOLL_RETURN_IF_ERROR(Number("-M", 1, kMostProcesses, "processes", options_.processes));
  PLIMSOLL_RETURN_IF_ERROR(Number("-A", 1, kMostAsync, "asynchronous operations", options_.async));
  if (!options_.header_only) {
    PLIMSOLL_RETURN_IF_ERROR(ReadPattern());
    PLIMSOLL_RETURN_IF_ERROR(ReadTimes());
    PLIMSOLL_RETURN_IF_ERROR(ReadFlags());
    PLIMSOLL_RETURN_IF_ERROR(ReadHosts());
    PLIMSOLL_RETURN_IF_ERROR(ReadFiles());
  }
  ChooseDistributions();
  // The header line alone does not know the share of reads.
  const bool may_read = options_.read_percent > 0 || (options_.header_only && !Has("-r"));
  options_.shows_device_reads = options_.shows_devices && may_read;
  return options_;
}

absl::Status XdiskReader::ReadOutput() {
  options_.header_only = Has("-P");
  options_.shows_devices = Has("-c");
  options_.no_header = Has("-Q");
  options_.summary = Has("-V");
  options_.quiet = Has("-q") || Has("-Q") || Has("-V");
  options_.workflow = Has("-d");
  options_.text = Text("-T");
  options_.log = Text("-L");
  options_.locale = Text("-l");
  if (const std::string letters = Text("-x"); letters.find_first_not_of("srw") != std::string::npos) {
    return Wrong(absl::StrCat("-x: ", Quoted(letters),
                              " is not of the letters r (reads), w (writes) and s (both): write -xr, -xw or -xs"));
  }
  if (Has("-l") && !IsXdiskLocale(options_.locale)) {
    return Wrong(
        absl::StrCat("-l: ", Quoted(options_.locale), " is not a locale that is known here: use en_US or de_DE"));
  }
  return absl::OkStatus();
}

absl::Status XdiskReader::ReadPattern() {
  if (!Has("-S") && !Has("-R") && !Has("-C")) {
    return Wrong("-S, -R or -C is missing: -S for sequential I/O, -R for random I/O, -C SIZE to create the files");
  }
  if (Has("-S") && Has("-R")) return Wrong("-S and -R exclude each other: leave one of them out");
  options_.random = Has("-R");
  options_.one_pass = Has("-C") || Text("-S") == "1" || Text("-R") == "1";
  if (Has("-C") && options_.read_percent > 0) {
    return Wrong(absl::StrCat("-C creates the files by writing them, -r ", options_.read_percent,
                              " reads: leave -r out, and read them with -S or -R afterwards"));
  }
  PLIMSOLL_RETURN_IF_ERROR(ReadSizes());
  const uint32_t most_threads = LargestOfWorkload(v1::LogWorkload::kQmFieldNumber);
  if (options_.threads() > most_threads) {
    return Wrong(absl::StrCat("-M ", options_.processes, " and -A ", options_.async, " make ",
                              FormatCount(options_.threads()), " operations in flight on a host; at most ",
                              FormatCount(most_threads), " are possible: use -A ", most_threads / options_.processes,
                              " or less"));
  }
  PLIMSOLL_RETURN_IF_ERROR(Number("-z", 0, kMostSnooze, "percent", options_.snooze_percent));
  if (options_.async > 0 && options_.snooze_percent > 0) {
    options_.snooze_percent = 0;
    options_.remarks.emplace_back("-z is ignored with -A");
  }
  return absl::OkStatus();
}

absl::Status XdiskReader::ReadSizes() {
  const uint64_t most = std::get<uint64_t>(
      *LargestOf(*v1::LogWorkload::descriptor()->FindFieldByNumber(v1::LogWorkload::kFileSizeBytesFieldNumber)));
  PLIMSOLL_RETURN_IF_ERROR(Size("-C", kLeastCreate, most, options_.create_bytes));
  PLIMSOLL_RETURN_IF_ERROR(Size("-s", kLeastBlock, most, options_.size_bytes));
  if (Has("-C") && Has("-s")) return Wrong("-s has no meaning with -C, which has the size: leave -s out");
  const uint64_t size = options_.creates() ? options_.create_bytes : options_.size_bytes;
  if (size == 0 || options_.block_size_bytes <= size) return absl::OkStatus();
  return Wrong(absl::StrCat("-b: a block of ", FormatSize(options_.block_size_bytes), " is larger than ",
                            options_.creates() ? "-C " : "-s ", FormatSize(size),
                            ": use smaller blocks or larger files"));
}

absl::Status XdiskReader::ReadTimes() {
  PLIMSOLL_RETURN_IF_ERROR(Number("-t", 5, 86'400, "seconds", options_.duration_s));
  // -w0 is the default.
  if (Text("-w") != "0") PLIMSOLL_RETURN_IF_ERROR(Number("-w", 2, 3'600, "seconds", options_.warmup_s));
  PLIMSOLL_RETURN_IF_ERROR(Number("-i", 2, 3'600, "seconds", options_.interval_s));
  if (options_.one_pass) {
    const char* const why = Has("-C") ? "-C" : Has("-S") ? "-S1" : "-R1";
    for (const char* const name : {"-t", "-w"}) {
      if (Has(name)) {
        options_.remarks.push_back(absl::StrCat(name, " is ignored with ", why, ", which takes each block once"));
      }
    }
    options_.warmup_s = 0;
  } else if (options_.interval_s > options_.duration_s) {
    return Wrong(absl::StrCat("-i ", options_.interval_s, " is longer than -t ", options_.duration_s,
                              ", so that no line would be printed: use -i ", options_.duration_s, " or less, or -t ",
                              options_.interval_s, " or more"));
  }
  return absl::OkStatus();
}

absl::Status XdiskReader::ReadFlags() {
  options_.flags = Text("-O");
  for (const char flag : options_.flags) {
    if (flag == 'C' || flag == 'R') {
      return Wrong(absl::StrCat("-O", std::string(1, flag), " (", flag == 'C' ? "O_CIO" : "O_RSYNC",
                                ") is for AIX: on Linux use D (O_DIRECT), S (O_SYNC), W (O_DSYNC) or f (fsync)"));
    }
    if (std::string_view("fSDW").find(flag) == std::string_view::npos) {
      return Wrong(absl::StrCat("-O: ", Quoted(std::string(1, flag)),
                                " is not a flag: write f, or one or more of S, D and W, such as -OSD"));
    }
    if (std::ranges::count(options_.flags, flag) > 1) {
      return Wrong(absl::StrCat("-O", options_.flags, ": ", std::string(1, flag), " was given twice: write it once"));
    }
  }
  if (options_.uses_fsync() && options_.flags.size() > 1) {
    return Wrong(absl::StrCat("-O", options_.flags,
                              ": f (fsync) has no other flags beside it: write -Of, or -O with S, D and W"));
  }
  return absl::OkStatus();
}

// The lines of a list file, which has neither blank lines nor blanks around names.
absl::StatusOr<std::vector<std::string>> ListLines(const std::string& option, const std::string& path, size_t most) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMaxFilesText, FileKind::kAny, option));
  if (absl::EndsWith(text, "\n")) text.pop_back();
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string place = absl::StrCat(option, ": ", path, ":", i + 1, ": ");
    if (lines[i].empty()) return Wrong(absl::StrCat(place, "an empty line: write one name per line"));
    if (lines[i] != std::string(absl::StripAsciiWhitespace(lines[i]))) {
      return Wrong(absl::StrCat(place, "a blank before or after the name: remove it"));
    }
  }
  if (lines.size() > most) {
    return Wrong(absl::StrCat(option, ": ", path, " has ", FormatCount(lines.size()), " names; at most ",
                              FormatCount(most), " are possible"));
  }
  return lines;
}

// Whether an IPv6 address begins in the list: its colons separate hosts here.
bool HasAddressInBrackets(const std::string& list) {
  return std::ranges::any_of(std::vector<std::string>(absl::StrSplit(list, absl::ByAnyChar(kSeparators))),
                             [](const std::string& part) { return absl::StartsWith(part, "["); });
}

absl::Status XdiskReader::ReadHosts() {
  if (Has("-n") && Has("-N")) return Wrong("-n and -N exclude each other: leave one of them out");
  if (!Has("-n") && !Has("-N")) return absl::OkStatus();
  const std::string option = Has("-n") ? "-n" : "-N";
  absl::Status no_ports = Wrong("-n: ':' separates hosts; list hosts with a port in a file (-N)");
  if (HasAddressInBrackets(Text("-n"))) return no_ports;
  std::string list = absl::StrReplaceAll(Text("-n"), {{":", ","}, {"#", ","}});
  if (Has("-N")) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ListLines("-N", Text("-N"), kMostXdiskHosts));
    list = absl::StrJoin(lines, ",");
  }
  absl::StatusOr<std::vector<std::string>> hosts = ParseHostList(list);
  if (!hosts.ok()) return Wrong(absl::StrCat(option, ": ", std::string(hosts.status().message())));
  options_.hosts = *std::move(hosts);
  if (options_.hosts.size() > kMostXdiskHosts) {
    return Wrong(absl::StrCat(option, ": ", options_.hosts.size(), " hosts; at most ", kMostXdiskHosts,
                              " are possible: plimsoll run --hosts takes more"));
  }
  const std::string agents_port = absl::StrCat(":", kDefaultPort);
  for (const std::string& host : options_.hosts) {
    options_.host_names.push_back(absl::EndsWith(host, agents_port) ? host.substr(0, host.size() - agents_port.size())
                                                                    : host);
    // A number is the port of the host before it.
    if (Has("-n") && IsNumber(options_.host_names.back())) return no_ports;
    if (std::ranges::count(options_.hosts, host) > 1) {
      return Wrong(absl::StrCat(option, ": ", options_.host_names.back(), " is in the list twice: name it once"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> XdiskReader::ListedFiles() const {
  if (Has("-F")) return ListLines("-F", Text("-F"), kMaxFiles);
  const std::string text = Text("-f");
  std::vector<std::string> names = absl::StrSplit(text, absl::ByAnyChar(kSeparators));
  if (std::ranges::any_of(names, [](const std::string& name) { return name.empty(); })) {
    return Wrong(absl::StrCat("-f: ", Quoted(text),
                              " has an empty name: separate names by one of , : and #; names that have such a "
                              "character can be listed in a file (-F)"));
  }
  const bool numbered =
      std::ranges::any_of(names, [](const auto& name) { return absl::EndsWith(name, kNumberedName); });
  if (!numbered) return names;
  if (names.size() > 1) {
    return Wrong(
        absl::StrCat("-f: ", Quoted(text),
                     " has NAME... in a list: write NAME... alone, or all names, or list them in a file (-F)"));
  }
  if (Has("-M") && given_.at("-M").place > given_.at("-f").place) {
    return Wrong(absl::StrCat("-f ", text, " is numbered by -M: write -M ", options_.processes, " before -f"));
  }
  const std::string stem = text.substr(0, text.size() - std::string_view(kNumberedName).size());
  names.clear();
  for (uint32_t i = 0; i < options_.processes; ++i) names.push_back(absl::StrFormat("%s%03d", stem, i));
  return names;
}

absl::StatusOr<std::string> XdiskReader::PathOf(const std::string& option, const std::string& name) const {
  if (HasControl(name)) {
    return Wrong(absl::StrCat(option, ": ", Quoted(name), " has a control character; rename the file"));
  }
  if (name.front() != '/' && !options_.hosts.empty()) {
    return Wrong(absl::StrCat(option, ": ", Quoted(name),
                              " is not an absolute path, which hosts (-n, -N) need: begin it with /"));
  }
  // An absolute name replaces the directory.
  return (std::filesystem::path(directory_) / name).lexically_normal().string();
}

absl::Status XdiskReader::ReadFiles() {
  if (Has("-f") && Has("-F")) return Wrong("-f and -F exclude each other: leave one of them out");
  if (!Has("-f") && !Has("-F")) return Wrong("-f or -F is missing: the files or devices, such as -f /data/F...");
  const std::string option = Has("-f") ? "-f" : "-F";
  options_.files_text = Text(option);
  PLIMSOLL_ASSIGN_OR_RETURN(options_.files, ListedFiles());
  size_t bytes = 0;
  std::set<std::string> before;
  for (std::string& file : options_.files) {
    PLIMSOLL_ASSIGN_OR_RETURN(file, PathOf(option, file));
    bytes += file.size() + 1;
    if (!before.insert(file).second) {
      return Wrong(absl::StrCat(option, ": ", Quoted(file), " is in the list twice: name each file once"));
    }
  }
  if (bytes > kMaxFilesText) {
    return Wrong(absl::StrCat(option, ": the names have ", FormatCount(bytes), " bytes; at most ",
                              FormatCount(kMaxFilesText), " are possible: use fewer or shorter ones"));
  }
  if (const size_t all = options_.files.size(); all > options_.processes) {
    options_.files.resize(options_.processes);
    options_.remarks.push_back(
        absl::StrCat("-M ", options_.processes, " uses ", options_.processes, " of ", all, " files"));
  }
  return absl::OkStatus();
}

void XdiskReader::ChooseDistributions() {
  const std::string letters = Text("-x");
  if (letters.empty()) return;
  // The header line alone does not know the share of reads.
  const bool knows_share = !options_.header_only || Has("-r");
  const bool only_writes = knows_share && options_.read_percent == 0;
  const bool only_reads = knows_share && options_.read_percent == kOnlyReads;
  options_.shows_reads = !only_writes && (only_reads || letters.find_first_of("sr") != std::string::npos);
  options_.shows_writes = !only_reads && (only_writes || letters.find_first_of("sw") != std::string::npos);
}

}  // namespace

std::span<const XdiskOption> XdiskOptionList() {
  return kXdiskOptionList;
}

XdiskWords SplitXdiskWords(const std::vector<std::string>& words,
                           const std::function<bool(const std::string& name)>& takes_value) {
  XdiskWords split;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-h" || word == "-?") {
      split.others.emplace_back("--help");
      continue;
    }
    const bool is_long = absl::StartsWith(word, "--");
    std::vector<std::string>& part = is_long ? split.others : split.own;
    part.push_back(word);
    const XdiskOption* option = is_long ? nullptr : FindOption(word);
    const bool wants = is_long ? !absl::StrContains(word, "=") && takes_value(word)
                               : word.size() == 2 && option != nullptr && TakesNextWord(*option);
    if (wants && i + 1 < words.size() && !IsOptionWord(words[i + 1])) part.push_back(words[++i]);
  }
  return split;
}

absl::StatusOr<XdiskOptions> ParseXdiskOptions(const std::vector<std::string>& words, const std::string& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(GivenOptions given, ReadWords(words));
  return XdiskReader(std::move(given), directory).Read();
}

}  // namespace plimsoll
