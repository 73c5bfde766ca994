// How far all of several hosts have come.
#pragma once

#include <cstdint>
#include <map>

namespace plimsoll {

// Marks that hosts pass one after the other, and the one that all of them have passed. A host that passes a mark costs
// the logarithm of the number of hosts. Not thread-safe.
class LowestMark {
 public:
  // The host takes part and has passed nothing yet. No effect where it takes part already.
  void Expect(uint32_t host) {
    if (hosts_.try_emplace(host, 0).second) ++count_[0];
  }
  // The host has passed everything below `mark`; it never goes back. No effect where it does not take part.
  void Pass(uint32_t host, int64_t mark) {
    const auto found = hosts_.find(host);
    if (found == hosts_.end() || mark <= found->second) return;
    Drop(found->second);
    found->second = mark;
    ++count_[mark];
  }
  // Nobody waits for the host any more.
  void Leave(uint32_t host) {
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) return;
    Drop(found->second);
    hosts_.erase(found);
  }

  bool empty() const { return hosts_.empty(); }
  // Every host that takes part has passed everything below it; INT64_MAX where there is none.
  int64_t lowest() const { return count_.empty() ? INT64_MAX : count_.begin()->first; }

 private:
  void Drop(int64_t mark) {
    const auto found = count_.find(mark);
    if (--found->second == 0) count_.erase(found);
  }

  std::map<uint32_t, int64_t> hosts_;
  // How many hosts stand at a mark.
  std::map<int64_t, uint32_t> count_;
};

}  // namespace plimsoll
