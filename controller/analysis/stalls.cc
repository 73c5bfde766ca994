#include "controller/analysis/stalls.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/algorithm.h"

namespace plimsoll {
namespace {

int64_t Length(const StalledInterval& interval) {
  return interval.end_ns - interval.begin_ns;
}

// The least that is not less than half.
int64_t Half(int64_t length_ns) {
  return length_ns - length_ns / 2;
}

// By how much two intervals overlap where the second one is `shift_ns` later than it seems.
int64_t Overlap(const StalledInterval& a, const StalledInterval& b, int64_t shift_ns) {
  return std::max<int64_t>(std::min(a.end_ns, b.end_ns + shift_ns) - std::max(a.begin_ns, b.begin_ns + shift_ns), 0);
}

// One of two intervals may be shifted against the other by so much at most.
int64_t MostShift(const StalledInterval& a, const StalledInterval& b) {
  return a.host == b.host ? 0 : a.error_ns + b.error_ns;
}

bool IsRow(const StalledInterval& interval) {
  return interval.row_of_ns > 0;
}

bool IsPaused(const StalledInterval& interval) {
  const bool whole = IsRow(interval) || interval.longest_ns <= 0;
  return interval.paused_ns >= Half(whole ? Length(interval) : std::min(interval.longest_ns, Length(interval)));
}

int64_t NeededOverlap(const StalledInterval& a, const StalledInterval& b) {
  return Half(IsRow(a) || IsRow(b) ? std::max(Length(a), Length(b)) : std::min(Length(a), Length(b)));
}

bool SeemTogether(const StalledInterval& a, const StalledInterval& b) {
  return Overlap(a, b, 0) >= NeededOverlap(a, b);
}

// The overlap rises to where one lies in the other, and falls beyond: it is least at one end of the possible shifts.
bool AreTogether(const StalledInterval& a, const StalledInterval& b) {
  if (IsRow(a) != IsRow(b)) return false;
  const int64_t shift_ns = MostShift(a, b);
  return std::min(Overlap(a, b, -shift_ns), Overlap(a, b, shift_ns)) >= NeededOverlap(a, b);
}

// Whether `own` may have kept its writer from running while `a` stalled.
bool MayBeTogether(const StalledInterval& a, const StalledInterval& own) {
  // One write of a run was in flight at any moment, but for no longer than the longest of them.
  const bool moment_of_row = IsRow(own) && !IsRow(a);
  if (moment_of_row && own.row_of_ns < Half(Length(a))) return false;
  const int64_t needed_ns = moment_of_row ? 1 : NeededOverlap(a, own);
  const StalledInterval& b = own;
  const int64_t shift_ns = MostShift(a, b);
  // Shifted by anything between these, one lies in the other.
  const auto [from_ns, to_ns] = std::minmax({a.begin_ns - b.begin_ns, a.end_ns - b.end_ns});
  const int64_t least_ns = from_ns > 0 ? from_ns : std::min<int64_t>(to_ns, 0);
  return Overlap(a, b, std::clamp(least_ns, -shift_ns, shift_ns)) >= needed_ns;
}

// How much of the stall the host's data do not cover, where the stall is longer by a shift on either side.
int64_t UnseenNs(const StallHost& host, const Stall& stall, int64_t shift_ns) {
  const int64_t from_ns = stall.begin_ns - shift_ns;
  const int64_t to_ns = stall.end_ns + shift_ns;
  const int64_t seen_from_ns = std::max(from_ns, host.from_ns);
  const int64_t seen_to_ns = std::min(to_ns, host.to_ns);
  const int64_t seen_ns = std::max<int64_t>(seen_to_ns - seen_from_ns, 0);
  return to_ns - from_ns - seen_ns + host.paused.Within(seen_from_ns, seen_to_ns);
}

// Directory of a writer; 0 where all of the host's write in one.
size_t DirectoryOf(const StallHost& host, uint32_t qm) {
  const auto found = host.directory_of.find(qm);
  return found == host.directory_of.end() ? 0 : found->second;
}

class Finder {
 public:
  Finder(const std::map<uint32_t, StallHost>& hosts, const std::vector<StalledInterval>& intervals,
         const ClockErrorAt& error_at, const ServedTimeOf& served_of)
      : hosts_(hosts), intervals_(intervals), error_at_(error_at), served_of_(served_of) {}

  std::vector<Stall> Find();

 private:
  using Places = std::vector<size_t>;
  // Whether a host without a stall was seen to be unaffected.
  enum class Witness : uint8_t { kUnaffected, kUnknown, kUnsure };

  // All intervals of a host in the order in which they begin.
  struct OfHost {
    Places places;
    // The latest end of it and of all before it, and the largest error of any.
    std::vector<int64_t> reach_ns;
    int64_t error_ns = 0;
  };

  void IndexHosts();
  std::vector<Places> ConnectPaused(const Places& of_host) const;
  std::vector<Places> Connect(const Places& places) const;
  Stall MakeStall(Places places) const;
  void SetClass(Stall& stall) const;
  Witness Ask(uint32_t number, const StallHost& host, const Stall& stall) const;
  // Whether any writer of the host, besides those that stalled, is known to have made progress.
  bool SiblingRan(uint32_t number, const std::set<uint32_t>& stalled, const Stall& stall) const;
  // `served`: the host proves that the storage served it.
  Witness AskStallIntervals(uint32_t number, const Stall& stall, bool served) const;
  // Whether a writer of the host proves that it was served in every part of the stall that is as long as half of its
  // shortest interval, where the stall was up to a shift earlier or later than it seems.
  bool WasServed(uint32_t number, uint32_t qm, const Stall& stall, int64_t shift_ns) const;
  bool AnyWasServed(uint32_t number, const StallHost& host, const Stall& stall) const;
  // Visits the host's intervals that may touch the stall, with clocks wrong by a shift, in the order in which they
  // begin, as long as `visit` returns true.
  template <typename Visit>
  void ForEachNear(uint32_t number, const Stall& stall, int64_t shift_ns, Visit visit) const;

  const std::map<uint32_t, StallHost>& hosts_;
  const std::vector<StalledInterval>& intervals_;
  const ClockErrorAt& error_at_;
  const ServedTimeOf& served_of_;
  std::map<uint32_t, OfHost> of_hosts_;
  // Hosts of each known storage.
  std::map<uint32_t, std::vector<uint32_t>> of_storages_;
};

void Finder::IndexHosts() {
  for (const auto& [number, host] : hosts_) {
    if (host.storage != 0) of_storages_[host.storage].push_back(number);
  }
  for (size_t i = 0; i < intervals_.size(); ++i) of_hosts_[intervals_[i].host].places.push_back(i);
  for (auto& [number, host] : of_hosts_) {
    StableSort(host.places, [&](size_t a, size_t b) { return intervals_[a].begin_ns < intervals_[b].begin_ns; });
    int64_t reach_ns = INT64_MIN;
    for (const size_t place : host.places) {
      reach_ns = std::max(reach_ns, intervals_[place].end_ns);
      host.reach_ns.push_back(reach_ns);
      host.error_ns = std::max(host.error_ns, intervals_[place].error_ns);
    }
  }
}

std::vector<Stall> Finder::Find() {
  IndexHosts();
  // Hosts without a storage are on their own.
  std::map<std::pair<uint32_t, uint32_t>, Places> by_storage;
  std::vector<Stall> stalls;
  for (const auto& [number, of_host] : of_hosts_) {
    const uint32_t storage = hosts_.at(number).storage;
    Places paused;
    for (const size_t place : of_host.places) {
      if (!intervals_[place].counts) continue;
      if (IsPaused(intervals_[place])) {
        paused.push_back(place);
      } else {
        by_storage[{storage, storage == 0 ? number : 0}].push_back(place);
      }
    }
    for (Places& group : ConnectPaused(paused)) {
      Stall& stall = stalls.emplace_back(MakeStall(std::move(group)));
      SetClass(stall);
      stall.stall_class = v1::STALL_CLASS_HOST_PAUSED;
      stall.unsure = false;
    }
  }
  for (const auto& [storage, places] : by_storage) {
    for (Places& group : Connect(places)) SetClass(stalls.emplace_back(MakeStall(std::move(group))));
  }
  StableSort(stalls, [](const Stall& a, const Stall& b) {
    return std::pair(a.begin_ns, a.end_ns) < std::pair(b.begin_ns, b.end_ns);
  });
  return stalls;
}

// Connects the overlapping intervals of one host, which are in order.
std::vector<Finder::Places> Finder::ConnectPaused(const Places& of_host) const {
  std::vector<Places> groups;
  int64_t end_ns = 0;
  for (const size_t place : of_host) {
    if (groups.empty() || intervals_[place].begin_ns >= end_ns) {
      groups.emplace_back();
      end_ns = intervals_[place].end_ns;
    }
    groups.back().push_back(place);
    end_ns = std::max(end_ns, intervals_[place].end_ns);
  }
  return groups;
}

std::vector<Finder::Places> Finder::Connect(const Places& places) const {
  Places order = places;
  StableSort(order, [&](size_t a, size_t b) { return intervals_[a].begin_ns < intervals_[b].begin_ns; });
  Groups groups(order.size());
  // Intervals that had begun and not ended when the one that is looked at began. The last ones first: where many stand
  // together, the first look mostly finds the group.
  std::vector<size_t> active;
  for (size_t next = 0; next < order.size(); ++next) {
    const StalledInterval& interval = intervals_[order[next]];
    std::erase_if(active, [&](size_t other) { return intervals_[order[other]].end_ns <= interval.begin_ns; });
    for (auto other = active.rbegin(); other != active.rend(); ++other) {
      if (groups.Root(*other) == groups.Root(next)) continue;
      if (AreTogether(intervals_[order[*other]], interval)) groups.Join(*other, next);
    }
    active.push_back(next);
  }
  std::map<size_t, Places> by_root;
  for (size_t i = 0; i < order.size(); ++i) by_root[groups.Root(i)].push_back(order[i]);
  std::vector<Places> found;
  found.reserve(by_root.size());
  for (auto& [root, members] : by_root) found.push_back(std::move(members));
  return found;
}

Stall Finder::MakeStall(Places places) const {
  StableSort(places, [&](size_t a, size_t b) { return Length(intervals_[a]) > Length(intervals_[b]); });
  Stall stall;
  stall.begin_ns = INT64_MAX;
  stall.end_ns = INT64_MIN;
  std::set<uint32_t> hosts;
  for (const size_t place : places) {
    const StalledInterval& interval = intervals_[place];
    stall.begin_ns = std::min(stall.begin_ns, interval.begin_ns);
    stall.end_ns = std::max(stall.end_ns, interval.end_ns);
    stall.error_ns = std::max(stall.error_ns, interval.error_ns);
    stall.open = stall.open || interval.open;
    hosts.insert(interval.host);
  }
  stall.hosts.assign(hosts.begin(), hosts.end());
  stall.storage = hosts_.at(stall.hosts.front()).storage;
  stall.intervals = std::move(places);
  return stall;
}

void Finder::SetClass(Stall& stall) const {
  if (const auto storage = of_storages_.find(stall.storage); storage != of_storages_.end()) {
    for (const uint32_t number : storage->second) {
      if (std::binary_search(stall.hosts.begin(), stall.hosts.end(), number)) continue;
      const Witness witness = Ask(number, hosts_.at(number), stall);
      if (witness == Witness::kUnaffected) stall.others.push_back(number);
      if (witness == Witness::kUnsure) stall.unsure = true;
    }
  }
  const bool alone = stall.others.empty();
  if (stall.hosts.size() > 1) {
    stall.stall_class = alone ? v1::STALL_CLASS_ALL_HOSTS : v1::STALL_CLASS_SOME_HOSTS;
    return;
  }
  std::set<uint32_t> qms;
  for (const size_t place : stall.intervals) qms.insert(intervals_[place].qm);
  if (!SiblingRan(stall.hosts.front(), qms, stall)) {
    stall.stall_class = alone ? v1::STALL_CLASS_SINGLE_HOST : v1::STALL_CLASS_ONE_HOST;
  } else {
    stall.stall_class = qms.size() == 1 ? v1::STALL_CLASS_ONE_QM : v1::STALL_CLASS_SOME_QMS;
  }
}

bool Finder::SiblingRan(uint32_t number, const std::set<uint32_t>& stalled, const Stall& stall) const {
  const StallHost& host = hosts_.at(number);
  if (host.left_out.Within(stall.begin_ns, stall.end_ns) > 0) return false;
  // Directories of stalled writers in which no writer is known to have run.
  std::set<size_t> without;
  for (const uint32_t qm : stalled) without.insert(DirectoryOf(host, qm));
  for (uint32_t qm = 1; qm <= std::max(host.qms, host.last_qm); ++qm) {
    const size_t directory = DirectoryOf(host, qm);
    if (!stalled.contains(qm) && without.contains(directory) && WasServed(number, qm, stall, 0)) {
      without.erase(directory);
    }
  }
  if (without.empty()) return true;
  const int64_t length_ns = stall.end_ns - stall.begin_ns;
  if (host.between_writes_ns > length_ns / 2 || UnseenNs(host, stall, 0) > length_ns / 2) return false;
  // Writers that stalled, and those of which it is not known. All go by one clock.
  std::set<uint32_t> silent = stalled;
  ForEachNear(number, stall, 0, [&](const StalledInterval& own) {
    for (const size_t place : stall.intervals) {
      if (MayBeTogether(intervals_[place], own)) silent.insert(own.qm);
    }
    return true;
  });
  if (host.directory_of.empty()) return silent.size() < host.qms;
  for (const auto& [qm, directory] : host.directory_of) {
    if (!silent.contains(qm)) without.erase(directory);
  }
  return without.empty();
}

Finder::Witness Finder::Ask(uint32_t number, const StallHost& host, const Stall& stall) const {
  if (host.left_out.Within(stall.begin_ns - stall.error_ns, stall.end_ns + stall.error_ns) > 0) {
    return Witness::kUnknown;
  }
  const int64_t length_ns = stall.end_ns - stall.begin_ns;
  const int64_t shift_ns = stall.error_ns + error_at_(number, stall.begin_ns);
  const bool idle = host.between_writes_ns > length_ns / 2;
  const bool unseen = UnseenNs(host, stall, 0) > length_ns / 2;
  const bool seen_surely = UnseenNs(host, stall, shift_ns) <= length_ns / 2;
  const Witness intervals = AskStallIntervals(number, stall, false);
  if (!idle && !unseen && seen_surely && intervals == Witness::kUnaffected) return Witness::kUnaffected;
  if (AnyWasServed(number, host, stall)) return AskStallIntervals(number, stall, true);
  if (idle || unseen) return Witness::kUnknown;
  // Wherever the stall was within the clocks' errors, no more of it than this was not seen.
  return intervals == Witness::kUnaffected ? Witness::kUnsure : intervals;
}

Finder::Witness Finder::AskStallIntervals(uint32_t number, const Stall& stall, bool served) const {
  const auto found = of_hosts_.find(number);
  if (found == of_hosts_.end()) return Witness::kUnaffected;
  Witness witness = Witness::kUnaffected;
  ForEachNear(number, stall, stall.error_ns + found->second.error_ns, [&](const StalledInterval& own) {
    for (const size_t place : stall.intervals) {
      const StalledInterval& stalled = intervals_[place];
      if (!MayBeTogether(stalled, own)) continue;
      // With clocks that are exact it would be part of the stall, or would not have to do with it, unless it is one of
      // those that never are part of one.
      const bool never = !own.counts || IsPaused(own) || IsRow(own) != IsRow(stalled);
      if (never && served) continue;
      const bool seems = IsRow(own) && !IsRow(stalled) ? Overlap(stalled, own, 0) > 0 : SeemTogether(stalled, own);
      witness = never && seems ? Witness::kUnknown : Witness::kUnsure;
      return false;
    }
    return true;
  });
  return witness;
}

bool Finder::WasServed(uint32_t number, uint32_t qm, const Stall& stall, int64_t shift_ns) const {
  const ServedTime* served = served_of_ ? served_of_(number, qm) : nullptr;
  const int64_t needed_ns = Half(Length(intervals_[stall.intervals.back()]));  // the longest come first
  if (served == nullptr || served->least_ns > needed_ns) return false;
  // A gap overlaps no more than this of the stall wherever both are.
  const int64_t from_ns = stall.begin_ns - shift_ns;
  const int64_t to_ns = stall.end_ns + shift_ns;
  auto gap = std::partition_point(served->gaps.begin(), served->gaps.end(),
                                  [from_ns](const ServiceGap& each) { return each.end_ns <= from_ns; });
  for (; gap != served->gaps.end() && gap->begin_ns < to_ns; ++gap) {
    const int64_t overlap_ns = std::min(gap->end_ns, to_ns) - std::max(gap->begin_ns, from_ns);
    if (std::min(overlap_ns, gap->longest_ns) >= needed_ns) return false;
  }
  return true;
}

bool Finder::AnyWasServed(uint32_t number, const StallHost& host, const Stall& stall) const {
  for (uint32_t qm = 1; qm <= std::max(host.qms, host.last_qm); ++qm) {
    if (WasServed(number, qm, stall, stall.error_ns)) return true;
  }
  return false;
}

template <typename Visit>
void Finder::ForEachNear(uint32_t number, const Stall& stall, int64_t shift_ns, Visit visit) const {
  const auto found = of_hosts_.find(number);
  if (found == of_hosts_.end()) return;
  const OfHost& host = found->second;
  const auto first = std::lower_bound(host.reach_ns.begin(), host.reach_ns.end(), stall.begin_ns - shift_ns);
  for (auto i = static_cast<size_t>(first - host.reach_ns.begin()); i < host.places.size(); ++i) {
    const StalledInterval& own = intervals_[host.places[i]];
    if (own.begin_ns > stall.end_ns + shift_ns || !visit(own)) return;
  }
}

}  // namespace

std::vector<Stall> FindStalls(const std::map<uint32_t, StallHost>& hosts, const std::vector<StalledInterval>& intervals,
                              const ClockErrorAt& error_at, const ServedTimeOf& served_of) {
  return Finder(hosts, intervals, error_at, served_of).Find();
}

}  // namespace plimsoll
