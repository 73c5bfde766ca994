// What agents report about their hosts and storage, as tables and lines: alike hosts are described once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Width of these texts, in columns.
inline constexpr size_t kHostTextWidth = 100;

// Names in their order as --hosts takes them: "node[1-12],alpha". Names that differ in one number are joined.
std::string JoinHostNames(const std::vector<std::string>& names);

// A line with a label in front; text that is too wide goes on below itself. The text may be anything.
void AppendFact(const std::string& label, const std::string& text, std::vector<std::string>& lines);

// Groups of hosts with the same text, each in the order of its first host: numbers of the hosts, and the text.
struct AlikeHosts {
  std::vector<size_t> hosts;
  std::vector<std::string> text;
};
std::vector<AlikeHosts> GroupAlike(size_t count, const std::function<std::vector<std::string>(size_t)>& text_of);

// "12 GiB of 2 TiB"; where hosts differ, from the least to the most, with the host that has least.
std::string FreeSpace(const std::vector<std::string>& names,
                      const std::vector<const v1::DirectoryDescription*>& directories);

struct AskedHost {
  std::string label;
  std::string address;
  v1::HostDescription description;
  // Against this host, where it answered probes.
  bool probed = false;
  int64_t round_trip_ns = 0;
  int64_t offset_ns = 0;
  int64_t error_ns = 0;
  int64_t wall_difference_ns = 0;
  // The run that holds its agent; empty: none.
  std::string busy_with;
  // The node of its pod; empty: not known, or not a pod.
  std::string node = {};
};

// A row for each host with its clock, and its node where that of any host is known, then what each group of alike hosts
// is. Lines without anything that controls a terminal.
std::vector<std::string> TextOfHosts(const std::vector<AskedHost>& hosts);

// Facts and advice but for the free space, as lines of at most 100 columns, without what controls a terminal. A
// directory that could not be examined gives its error. `block_size_bytes` is the largest write that the log will make.
std::vector<std::string> TextOfStorage(const v1::DirectoryDescription& directory, uint64_t block_size_bytes);

// One directory as each of several hosts sees it.
struct HostDirectory {
  std::string label;
  v1::DirectoryDescription directory;
};

// Where hosts differ, a row for each group of hosts that are alike; then each group's facts and advice.
std::vector<std::string> TextOfStorages(const std::vector<HostDirectory>& hosts, uint64_t block_size_bytes);

}  // namespace plimsoll
