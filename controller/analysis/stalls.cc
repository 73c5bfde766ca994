#include "controller/analysis/stalls.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/stable_sort.h"
#include "controller/analysis/groups.h"

namespace plimsoll {
namespace {

int64_t Length(const StalledInterval& stretch) {
  return stretch.end_ns - stretch.begin_ns;
}

// The least that is not less than half.
int64_t Half(int64_t length_ns) {
  return length_ns - length_ns / 2;
}

bool IsPaused(const StalledInterval& stretch) {
  return stretch.paused_ns >= Half(Length(stretch));
}

// By how much two stretches overlap where the second one is `shift_ns` later than it seems.
int64_t Overlap(const StalledInterval& a, const StalledInterval& b, int64_t shift_ns) {
  return std::max<int64_t>(std::min(a.end_ns, b.end_ns + shift_ns) - std::max(a.begin_ns, b.begin_ns + shift_ns), 0);
}

// One of two stretches may be shifted against the other by so much at most.
int64_t MostShift(const StalledInterval& a, const StalledInterval& b) {
  return a.host == b.host ? 0 : a.error_ns + b.error_ns;
}

bool IsRow(const StalledInterval& stretch) {
  return stretch.row_of_ns > 0;
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

// Whether `own` may have kept its writer from running while `a` stood.
bool MayBeTogether(const StalledInterval& a, const StalledInterval& own) {
  // One write of a row stood at any moment, but for no longer than the longest of them.
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

// How much of the stall the host's data do not tell of, where the stall is longer by a shift on either side.
int64_t UnseenNs(const StallHost& host, const Stall& stall, int64_t shift_ns) {
  const int64_t from_ns = stall.begin_ns - shift_ns;
  const int64_t to_ns = stall.end_ns + shift_ns;
  const int64_t seen_from_ns = std::max(from_ns, host.from_ns);
  const int64_t seen_to_ns = std::min(to_ns, host.to_ns);
  const int64_t seen_ns = std::max<int64_t>(seen_to_ns - seen_from_ns, 0);
  return to_ns - from_ns - seen_ns + host.paused.Within(seen_from_ns, seen_to_ns);
}

class Finder {
 public:
  Finder(const std::map<uint32_t, StallHost>& hosts, const std::vector<StalledInterval>& stretches,
         const ClockErrorAt& error_at, const ServedTimeOf& served_of)
      : hosts_(hosts), stretches_(stretches), error_at_(error_at), served_of_(served_of) {}

  std::vector<Stall> Find();

 private:
  using Places = std::vector<size_t>;
  // Whether a host that did not stand was seen to run.
  enum class Witness : uint8_t { kRan, kCannotTell, kUnsure };

  // All stretches of a host in the order in which they begin.
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
  Witness AskStretches(uint32_t number, const Stall& stall, bool served) const;
  // Whether a writer of the host proves that it was served in every part of the stall that is as long as half of its
  // shortest stretch, where the stall was up to a shift earlier or later than it seems.
  bool WasServed(uint32_t number, uint32_t qm, const Stall& stall, int64_t shift_ns) const;
  bool AnyWasServed(uint32_t number, const StallHost& host, const Stall& stall) const;
  // Visits the host's stretches that may touch the stall, with clocks wrong by a shift, in the order in which they
  // begin, as long as `visit` returns true.
  template <typename Visit>
  void ForEachNear(uint32_t number, const Stall& stall, int64_t shift_ns, Visit visit) const;

  const std::map<uint32_t, StallHost>& hosts_;
  const std::vector<StalledInterval>& stretches_;
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
  for (size_t i = 0; i < stretches_.size(); ++i) of_hosts_[stretches_[i].host].places.push_back(i);
  for (auto& [number, host] : of_hosts_) {
    StableSort(host.places, [&](size_t a, size_t b) { return stretches_[a].begin_ns < stretches_[b].begin_ns; });
    int64_t reach_ns = INT64_MIN;
    for (const size_t place : host.places) {
      reach_ns = std::max(reach_ns, stretches_[place].end_ns);
      host.reach_ns.push_back(reach_ns);
      host.error_ns = std::max(host.error_ns, stretches_[place].error_ns);
    }
  }
}

std::vector<Stall> Finder::Find() {
  IndexHosts();
  // Hosts without a storage stand for themselves.
  std::map<std::pair<uint32_t, uint32_t>, Places> by_storage;
  std::vector<Stall> stalls;
  for (const auto& [number, of_host] : of_hosts_) {
    const uint32_t storage = hosts_.at(number).storage;
    Places paused;
    for (const size_t place : of_host.places) {
      if (!stretches_[place].counts) continue;
      if (IsPaused(stretches_[place])) {
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

// Of one host, in order.
std::vector<Finder::Places> Finder::ConnectPaused(const Places& of_host) const {
  std::vector<Places> groups;
  int64_t end_ns = 0;
  for (const size_t place : of_host) {
    if (groups.empty() || stretches_[place].begin_ns >= end_ns) {
      groups.emplace_back();
      end_ns = stretches_[place].end_ns;
    }
    groups.back().push_back(place);
    end_ns = std::max(end_ns, stretches_[place].end_ns);
  }
  return groups;
}

std::vector<Finder::Places> Finder::Connect(const Places& places) const {
  Places order = places;
  StableSort(order, [&](size_t a, size_t b) { return stretches_[a].begin_ns < stretches_[b].begin_ns; });
  Groups groups(order.size());
  // Those that had begun and not ended when the one that is looked at began. The last ones first: where many stand
  // together, the first look mostly finds the group.
  std::vector<size_t> active;
  for (size_t next = 0; next < order.size(); ++next) {
    const StalledInterval& stretch = stretches_[order[next]];
    std::erase_if(active, [&](size_t other) { return stretches_[order[other]].end_ns <= stretch.begin_ns; });
    for (auto other = active.rbegin(); other != active.rend(); ++other) {
      if (groups.Root(*other) == groups.Root(next)) continue;
      if (AreTogether(stretches_[order[*other]], stretch)) groups.Join(*other, next);
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
  StableSort(places, [&](size_t a, size_t b) { return Length(stretches_[a]) > Length(stretches_[b]); });
  Stall stall;
  stall.begin_ns = INT64_MAX;
  stall.end_ns = INT64_MIN;
  std::set<uint32_t> hosts;
  for (const size_t place : places) {
    const StalledInterval& stretch = stretches_[place];
    stall.begin_ns = std::min(stall.begin_ns, stretch.begin_ns);
    stall.end_ns = std::max(stall.end_ns, stretch.end_ns);
    stall.error_ns = std::max(stall.error_ns, stretch.error_ns);
    stall.open = stall.open || stretch.open;
    hosts.insert(stretch.host);
  }
  stall.hosts.assign(hosts.begin(), hosts.end());
  stall.storage = hosts_.at(stall.hosts.front()).storage;
  stall.stretches = std::move(places);
  return stall;
}

void Finder::SetClass(Stall& stall) const {
  if (const auto storage = of_storages_.find(stall.storage); storage != of_storages_.end()) {
    for (const uint32_t number : storage->second) {
      if (std::binary_search(stall.hosts.begin(), stall.hosts.end(), number)) continue;
      const Witness witness = Ask(number, hosts_.at(number), stall);
      if (witness == Witness::kRan) stall.others.push_back(number);
      if (witness == Witness::kUnsure) stall.unsure = true;
    }
  }
  const bool alone = stall.others.empty();
  if (stall.hosts.size() > 1) {
    stall.stall_class = alone ? v1::STALL_CLASS_ALL_HOSTS : v1::STALL_CLASS_SOME_HOSTS;
    return;
  }
  std::set<uint32_t> qms;
  for (const size_t place : stall.stretches) qms.insert(stretches_[place].qm);
  if (!SiblingRan(stall.hosts.front(), qms, stall)) {
    stall.stall_class = alone ? v1::STALL_CLASS_SINGLE_HOST : v1::STALL_CLASS_ONE_HOST;
  } else {
    stall.stall_class = qms.size() == 1 ? v1::STALL_CLASS_ONE_QM : v1::STALL_CLASS_SOME_QMS;
  }
}

bool Finder::SiblingRan(uint32_t number, const std::set<uint32_t>& stalled, const Stall& stall) const {
  const StallHost& host = hosts_.at(number);
  if (host.left_out.Within(stall.begin_ns, stall.end_ns) > 0) return false;
  for (uint32_t qm = 1; qm <= host.qms; ++qm) {
    if (!stalled.contains(qm) && WasServed(number, qm, stall, 0)) return true;
  }
  const int64_t length_ns = stall.end_ns - stall.begin_ns;
  if (host.between_writes_ns > length_ns / 2 || UnseenNs(host, stall, 0) > length_ns / 2) return false;
  // Those that stalled, and those of which it is not known. All go by one clock.
  std::set<uint32_t> silent = stalled;
  ForEachNear(number, stall, 0, [&](const StalledInterval& own) {
    for (const size_t place : stall.stretches) {
      if (MayBeTogether(stretches_[place], own)) silent.insert(own.qm);
    }
    return true;
  });
  return silent.size() < host.qms;
}

Finder::Witness Finder::Ask(uint32_t number, const StallHost& host, const Stall& stall) const {
  if (host.left_out.Within(stall.begin_ns - stall.error_ns, stall.end_ns + stall.error_ns) > 0) {
    return Witness::kCannotTell;
  }
  const int64_t length_ns = stall.end_ns - stall.begin_ns;
  const int64_t shift_ns = stall.error_ns + error_at_(number, stall.begin_ns);
  const bool idle = host.between_writes_ns > length_ns / 2;
  const bool unseen = UnseenNs(host, stall, 0) > length_ns / 2;
  const bool seen_surely = UnseenNs(host, stall, shift_ns) <= length_ns / 2;
  const Witness stretches = AskStretches(number, stall, false);
  if (!idle && !unseen && seen_surely && stretches == Witness::kRan) return Witness::kRan;
  if (AnyWasServed(number, host, stall)) return AskStretches(number, stall, true);
  if (idle || unseen) return Witness::kCannotTell;
  // Wherever the stall was within the clocks' errors, no more of it than this was not seen.
  return stretches == Witness::kRan ? Witness::kUnsure : stretches;
}

Finder::Witness Finder::AskStretches(uint32_t number, const Stall& stall, bool served) const {
  const auto found = of_hosts_.find(number);
  if (found == of_hosts_.end()) return Witness::kRan;
  Witness witness = Witness::kRan;
  ForEachNear(number, stall, stall.error_ns + found->second.error_ns, [&](const StalledInterval& own) {
    for (const size_t place : stall.stretches) {
      const StalledInterval& stood = stretches_[place];
      if (!MayBeTogether(stood, own)) continue;
      // With clocks that are exact it would be part of the stall, or would not have to do with it, unless it is one of
      // those that never are part of one.
      const bool never = !own.counts || IsPaused(own) || IsRow(own) != IsRow(stood);
      if (never && served) continue;
      const bool seems = IsRow(own) && !IsRow(stood) ? Overlap(stood, own, 0) > 0 : SeemTogether(stood, own);
      witness = never && seems ? Witness::kCannotTell : Witness::kUnsure;
      return false;
    }
    return true;
  });
  return witness;
}

bool Finder::WasServed(uint32_t number, uint32_t qm, const Stall& stall, int64_t shift_ns) const {
  const ServedTime* served = served_of_ ? served_of_(number, qm) : nullptr;
  const int64_t needed_ns = Half(Length(stretches_[stall.stretches.back()]));  // the longest come first
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
  for (uint32_t qm = 1; qm <= host.qms; ++qm) {
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
    const StalledInterval& own = stretches_[host.places[i]];
    if (own.begin_ns > stall.end_ns + shift_ns || !visit(own)) return;
  }
}

}  // namespace

std::vector<Stall> FindStalls(const std::map<uint32_t, StallHost>& hosts, const std::vector<StalledInterval>& stretches,
                              const ClockErrorAt& error_at, const ServedTimeOf& served_of) {
  return Finder(hosts, stretches, error_at, served_of).Find();
}

}  // namespace plimsoll
