// The command line of xdisk (IBM's storage workload generator, guide V8.6): its options and what they set.
// docs/xdisk.md explains each, and each decision where the guide leaves one open.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

// One of xdisk's options: a dash and a letter.
struct XdiskOption {
  const char* name;
  // What help calls its value; null: a flag.
  const char* type;
  const char* help;
  // The value is a digit behind the letter or missing: -S, -S1.
  bool digit = false;
};

// The options in the order of the help, without -h and -?.
std::span<const XdiskOption> XdiskOptionList();

// The command line, checked.
struct XdiskOptions {
  // -P: only the header line is printed.
  bool header_only = false;

  // -R, else -S; and -S1, -R1 or -C.
  bool random = false;
  bool one_pass = false;
  // -C: the size of each file; 0: the files exist.
  uint64_t create_bytes = 0;
  // -s; 0: all of a file or device.
  uint64_t size_bytes = 0;
  uint64_t block_size_bytes = 4096;
  uint32_t read_percent = 0;
  // -M, and -A (0: none).
  uint32_t processes = 1;
  uint32_t async = 0;
  // -O, as written; empty: none.
  std::string flags;
  // -z; 0 with -A, which ignores it.
  uint32_t snooze_percent = 0;
  // -t, -w and -i; 0: no warm-up, no intervals. One pass ignores -t and has no warm-up.
  uint32_t duration_s = 5;
  uint32_t warmup_s = 0;
  uint32_t interval_s = 0;

  // Absolute paths of the files that the processes use, and the text of -f or -F.
  std::vector<std::string> files;
  std::string files_text;
  // -n and -N: addresses with ports; empty: this machine. `host_names` are the hosts for people, without the agents'
  // port.
  std::vector<std::string> hosts;
  std::vector<std::string> host_names;

  // -x: the distributions that are shown.
  bool shows_reads = false;
  bool shows_writes = false;
  // -c, -q, -Q, -V and -d.
  bool shows_devices = false;
  // -c shows reads, too.
  bool shows_device_reads = false;
  bool quiet = false;
  bool no_header = false;
  bool summary = false;
  bool workflow = false;
  // -T, -l ("": none) and -L.
  std::string text;
  std::string locale;
  std::string log;

  // Options that were given and have no effect, a sentence each.
  std::vector<std::string> remarks;

  bool creates() const { return create_bytes > 0; }
  bool uses_fsync() const { return HasFlag('f'); }
  bool HasFlag(char flag) const { return flags.find(flag) != std::string::npos; }
  // Operations in flight on a host.
  uint32_t threads() const { return processes * (async > 0 ? async : 1); }
};

// The words of a command line in two parts. `own`: xdisk's options with their values, and words that belong to no
// option. `others`: options with two dashes and their values; -h and -? become --help.
struct XdiskWords {
  std::vector<std::string> own;
  std::vector<std::string> others;
};
// `takes_value`: whether an option with two dashes, "--out", takes a value.
XdiskWords SplitXdiskWords(const std::vector<std::string>& words,
                           const std::function<bool(const std::string& name)>& takes_value);

// Reads xdisk's own words, and the lists of -F and -N. Relative names of files are below `directory`. The error of the
// first wrong option names option, limit and way out: INVALID_ARGUMENT, or the system's error for a list.
absl::StatusOr<XdiskOptions> ParseXdiskOptions(const std::vector<std::string>& words, const std::string& directory);

}  // namespace plimsoll
