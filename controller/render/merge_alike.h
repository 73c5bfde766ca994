// Sentences about many hosts and steps that differ in names and numbers alone, as one sentence.
#pragma once

#include <string>
#include <vector>

namespace plimsoll {

// Names with ranges of the numbers in them: "node[1-3,5], filer"; leading zeros stay. Beyond `most` groups the others
// are counted: "and 12 more". In the order in which they come first.
std::string JoinNames(const std::vector<std::string>& names, size_t most = 6);

// "1-3, 5" of numbers in any order.
std::string JoinNumbers(std::vector<uint32_t> numbers);

// Merges sentences that begin with the name of a host or of its queue manager, with a step, or with both, as notes and
// reasons do, and otherwise differ in numbers alone: "node1, step 1: waited for 17.2 % of the time." and "node2, step
// 2: waited for 20 % of the time." become "node[1-2], steps 1-2: waited for 17.2–20 % of the time.". All others stay as
// they are. In the order in which each comes first. `hosts`: the names of the hosts.
std::vector<std::string> MergeAlike(const std::vector<std::string>& sentences, const std::vector<std::string>& hosts);

}  // namespace plimsoll
