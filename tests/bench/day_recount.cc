#include "tests/bench/day_recount.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/histogram.h"
#include "common/units.h"

namespace plimsoll::tests {
namespace {

constexpr size_t kMostShown = 50;
constexpr std::array<double, 5> kPercents = {50, 90, 99, 99.9, 99.99};
constexpr int64_t kLongestRowS = 86'400;

using ScopeKey = std::tuple<v1::ScopeKind, std::string, uint32_t>;

class Differences {
 public:
  template <typename A, typename B>
  void Expect(const std::string& what, A reported, B counted) {
    if (reported == counted) return;
    Add(absl::StrCat(what, " is ", reported, " in the report, ", counted, " by the fleet's own count"));
  }
  void Add(std::string text) {
    if (++count_ <= kMostShown) texts_.push_back(std::move(text));
  }
  std::vector<std::string> Texts() && {
    if (count_ > kMostShown) texts_.push_back(absl::StrCat("and ", count_ - kMostShown, " more"));
    return std::move(texts_);
  }

 private:
  std::vector<std::string> texts_;
  uint64_t count_ = 0;
};

// A day of 1,600 writers adds up to less than 2^63 ns.
struct TimeSums {
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;

  void Add(const TimeSums& other) {
    count += other.count;
    sum_ns += other.sum_ns;
    min_ns = std::min(min_ns, other.min_ns);
    max_ns = std::max(max_ns, other.max_ns);
  }
  void Add(uint64_t time_ns) { Add({1, time_ns, time_ns, time_ns}); }
};

uint64_t ServiceNs(const DayWrite& write) {
  return static_cast<uint64_t>(write.latency_ns);
}
uint64_t ResponseNs(const DayWrite& write) {
  return write.response_ns();
}
using TimeOf = uint64_t (*)(const DayWrite&);
constexpr std::array<TimeOf, 2> kTimes = {ServiceNs, ResponseNs};

// Every value of the usual seconds, in order, with the second that it is of.
using SortedValues = std::vector<std::pair<uint64_t, uint32_t>>;

// Times of one kind, in a scope. The usual seconds are counted, and the values of the others kept.
struct DayTimes {
  std::vector<uint64_t> usual;
  std::vector<uint64_t> other;
  TimeSums sums;

  void Merge(const DayTimes& more) {
    usual.resize(std::max(usual.size(), more.usual.size()));
    for (size_t i = 0; i < more.usual.size(); ++i) usual[i] += more.usual[i];
    other.insert(other.end(), more.other.begin(), more.other.end());
    sums.Add(more.sums);
  }
};

// The values at the ranks, which rise.
std::vector<uint64_t> ValuesAt(const SortedValues& values, DayTimes times, const std::vector<uint64_t>& ranks) {
  std::ranges::sort(times.other);
  std::vector<uint64_t> found;
  uint64_t passed = 0;
  size_t other = 0;
  const auto pass = [&](uint64_t value, uint64_t count) {
    passed += count;
    while (found.size() < ranks.size() && passed >= ranks[found.size()]) found.push_back(value);
  };
  for (const auto& [value, second] : values) {
    if (found.size() == ranks.size()) return found;
    while (other < times.other.size() && times.other[other] <= value) pass(times.other[other++], 1);
    pass(value, second < times.usual.size() ? times.usual[second] : 0);
  }
  while (other < times.other.size()) pass(times.other[other++], 1);
  found.resize(ranks.size());
  return found;
}

// What a scope completed, for each kind of time.
using DayScope = std::array<DayTimes, 2>;
// By second, for each kind of time.
using DaySeconds = std::vector<std::array<TimeSums, 2>>;

std::string NameOfScope(const ScopeKey& key) {
  const auto& [kind, host, qm] = key;
  if (kind == v1::SCOPE_KIND_CLUSTER) return "the cluster";
  if (kind == v1::SCOPE_KIND_STORAGE) return "the storage";
  return qm == 0 ? host : absl::StrCat(host, "/qm", qm);
}

class DayRecount {
 public:
  DayRecount(const DayFleet& fleet, const v1::StepReport& step) : fleet_(fleet), load_(fleet.load()), step_(step) {
    for (size_t kind = 0; kind < kTimes.size(); ++kind) {
      for (const UsualSecond& second : load_.usual_seconds()) {
        TimeSums& sums = usual_sums_[kind].emplace_back();
        const auto number = static_cast<uint32_t>(usual_sums_[kind].size() - 1);
        for (const DayWrite& write : second.writes) {
          sums.Add(kTimes[kind](write));
          sorted_[kind].emplace_back(kTimes[kind](write), number);
        }
      }
      std::ranges::sort(sorted_[kind]);
    }
    for (const v1::ScopeReport& scope : step.scopes()) scopes_[{scope.kind(), scope.host(), scope.qm()}] = &scope;
    for (const v1::SeriesReport& series : step.series()) {
      series_[0].emplace(ScopeKey{series.kind(), series.host(), series.qm()}, &series);
    }
    for (const v1::SeriesReport& series : step.response().series()) {
      series_[1].emplace(ScopeKey{series.kind(), series.host(), series.qm()}, &series);
    }
    for (const v1::SeriesReport& series : step.minutes()) {
      minutes_[0].emplace(ScopeKey{series.kind(), series.host(), series.qm()}, &series);
    }
    for (const v1::SeriesReport& series : step.response().minutes()) {
      minutes_[1].emplace(ScopeKey{series.kind(), series.host(), series.qm()}, &series);
    }
  }

  std::vector<std::string> Run() && {
    DayScope cluster;
    DaySeconds cluster_seconds(static_cast<size_t>(load_.size().length_s));
    for (uint32_t host = 0; host < load_.size().hosts; ++host) CountHost(host, cluster, cluster_seconds);
    Check({v1::SCOPE_KIND_CLUSTER, "", 0}, cluster, cluster_seconds);
    Check({v1::SCOPE_KIND_STORAGE, "", 0}, cluster, cluster_seconds);
    CheckStalls();
    return std::move(differences_).Texts();
  }

 private:
  std::string LabelOf(uint32_t host) const {
    const std::string& address = fleet_.addresses()[host];
    return address.substr(0, address.find(':'));
  }

  void CountHost(uint32_t host, DayScope& cluster, DaySeconds& cluster_seconds) {
    DayScope all;
    DaySeconds all_seconds(cluster_seconds.size());
    for (uint32_t qm = 1; qm <= load_.size().queue_managers; ++qm) {
      DayScope own;
      DaySeconds own_seconds(cluster_seconds.size());
      CountWriter(host, qm, own, own_seconds);
      const ScopeKey key{v1::SCOPE_KIND_QM, LabelOf(host), qm};
      CheckSent(host, qm, own);
      Check(key, own, own_seconds);
      Merge(own, own_seconds, all, all_seconds);
    }
    Check({v1::SCOPE_KIND_HOST, LabelOf(host), 0}, all, all_seconds);
    Merge(all, all_seconds, cluster, cluster_seconds);
  }

  static void Merge(const DayScope& from, const DaySeconds& from_seconds, DayScope& to, DaySeconds& to_seconds) {
    for (size_t kind = 0; kind < kTimes.size(); ++kind) to[kind].Merge(from[kind]);
    for (size_t second = 0; second < from_seconds.size(); ++second) {
      for (size_t kind = 0; kind < kTimes.size(); ++kind) to_seconds[second][kind].Add(from_seconds[second][kind]);
    }
  }

  // Goes through the writer's seconds again, as far as their frames were sent.
  void CountWriter(uint32_t host, uint32_t qm, DayScope& own, DaySeconds& seconds) const {
    DayWriter writer(load_, host, qm, fleet_.StallsOf(host, qm));
    for (DayTimes& times : own) times.usual.resize(load_.usual_seconds().size());
    for (int64_t second = 0; second < fleet_.hosts()[host].sent_s; ++second) {
      writer.Advance();
      for (size_t kind = 0; kind < kTimes.size(); ++kind) {
        TimeSums& sums = seconds[static_cast<size_t>(second)][kind];
        if (writer.usual()) {
          ++own[kind].usual[*writer.usual()];
          sums = usual_sums_[kind][*writer.usual()];
        } else {
          for (const DayWrite& write : writer.writes()) {
            sums.Add(kTimes[kind](write));
            own[kind].other.push_back(kTimes[kind](write));
          }
        }
        own[kind].sums.Add(sums);
      }
    }
  }

  // What the agent sent must be what it went through.
  void CheckSent(uint32_t host, uint32_t qm, const DayScope& own) {
    const std::vector<v1::WriterTotals>& totals = fleet_.hosts()[host].totals;
    const std::string name = absl::StrCat("the totals of ", LabelOf(host), "/qm", qm);
    if (totals.size() < qm) return differences_.Add(name + " were not sent");
    const v1::WriterTotals& sent = totals[qm - 1];
    differences_.Expect(name + ", writes", sent.writes(), own[0].sums.count);
    differences_.Expect(name + ", sum", sent.latency_sum_ns(), own[0].sums.sum_ns);
    differences_.Expect(name + ", maximum", sent.latency_max_ns(), own[0].sums.max_ns);
  }

  void Check(const ScopeKey& key, const DayScope& counted, const DaySeconds& seconds) {
    for (size_t kind = 0; kind < kTimes.size(); ++kind) {
      if (const auto found = series_[kind].find(key); found != series_[kind].end()) {
        CheckSeries(key, kind, *found->second, kNsPerSecond, seconds);
      }
      if (const auto found = minutes_[kind].find(key); found != minutes_[kind].end()) {
        CheckSeries(key, kind, *found->second, 60 * kNsPerSecond, seconds);
      }
    }
    const auto found = scopes_.find(key);
    if (found == scopes_.end()) return differences_.Add(NameOfScope(key) + " is not in the report");
    const v1::ScopeReport& scope = *found->second;
    const std::string name = NameOfScope(key);
    differences_.Expect(name + ", writes", scope.writes(), counted[0].sums.count);
    differences_.Expect(name + ", bytes", scope.bytes(), counted[0].sums.count * DayLoad::kBlockBytes);
    CheckLatency(name, 0, counted[0], scope.latency());
    CheckLatency(name + ", response", 1, counted[1], scope.rate().response());
  }

  void CheckLatency(const std::string& name, size_t kind, const DayTimes& counted, const v1::LatencyReport& report) {
    const TimeSums& sums = counted.sums;
    differences_.Expect(name + ", count", report.count(), sums.count);
    if (sums.count == 0) return;
    if (report.has_sum_ns()) differences_.Expect(name + ", sum", report.sum_ns(), sums.sum_ns);
    differences_.Expect(name + ", minimum", report.min_ns(), sums.min_ns);
    differences_.Expect(name + ", maximum", report.max_ns(), sums.max_ns);
    std::vector<uint64_t> ranks;
    for (const double percent : kPercents) ranks.push_back(PercentileRank(sums.count, percent));
    const std::vector<uint64_t> exact = ValuesAt(sorted_[kind], counted, ranks);
    const std::array<uint64_t, kPercents.size()> reported = {report.p50_ns(), report.p90_ns(), report.p99_ns(),
                                                             report.p99_9_ns(), report.p99_99_ns()};
    for (size_t i = 0; i < kPercents.size(); ++i) {
      if (reported[i] >= exact[i] && reported[i] - exact[i] <= exact[i] / 1000 + 1) continue;
      differences_.Add(absl::StrCat(name, ", p", kPercents[i], " is ", reported[i], " ns in the report, ", exact[i],
                                    " by the fleet's own count"));
    }
  }

  // `row_ns`: length of a row that is not irregular.
  void CheckSeries(const ScopeKey& key, size_t kind, const v1::SeriesReport& series, int64_t row_ns,
                   const DaySeconds& seconds) {
    const std::string name = absl::StrCat(NameOfScope(key), kind == 0 ? "" : ", response", ", row of second ");
    std::map<uint32_t, const v1::IrregularRow*> irregular;
    for (const v1::IrregularRow& row : series.irregular()) irregular[row.row()] = &row;
    for (int i = 0; i < series.second_size(); ++i) {
      const auto special = irregular.find(static_cast<uint32_t>(i));
      int64_t length_ns = row_ns;
      if (special != irregular.end()) {
        if (special->second->closing()) continue;
        length_ns = special->second->length_ns();
      }
      const auto first = static_cast<size_t>(series.second(i));
      const int64_t length_s = std::clamp<int64_t>((length_ns + kNsPerSecond - 1) / kNsPerSecond, 1, kLongestRowS);
      TimeSums sums;
      for (size_t second = first; second < std::min(first + static_cast<size_t>(length_s), seconds.size()); ++second) {
        sums.Add(seconds[second][kind]);
      }
      const auto row = [&](const char* what) { return absl::StrCat(name, first, ", ", what); };
      if (series.writes(i) != sums.count) differences_.Expect(row("writes"), series.writes(i), sums.count);
      if (i < series.latency_sum_ns_size() && series.latency_sum_ns(i) != sums.sum_ns) {
        differences_.Expect(row("sum"), series.latency_sum_ns(i), sums.sum_ns);
      }
      if (series.latency_max_ns(i) != sums.max_ns) {
        differences_.Expect(row("maximum"), series.latency_max_ns(i), sums.max_ns);
      }
    }
  }

  // Only of a day that went to its end: what is open at another end may count or not.
  void CheckStalls() {
    uint64_t expected = 0;
    for (const DayStall& stall : load_.stalls()) {
      bool any = false;
      for (uint32_t host = 0; host < load_.size().hosts; ++host) {
        const bool lost = load_.lost_host() == host;
        const int64_t sent_s = fleet_.hosts()[host].sent_s;
        if (!lost && sent_s < load_.size().length_s) return;
        if (!stall.Affects(host, stall.qm.value_or(1))) continue;
        const int64_t begin_s = stall.begin_ns / kNsPerSecond;
        if (begin_s + 10 < sent_s) {
          any = true;
        } else if (begin_s - 10 < sent_s && stall.host) {
          return;
        }
      }
      if (any) ++expected;
    }
    differences_.Expect("the number of stalls", step_.stalls().count(), expected);
  }

  const DayFleet& fleet_;
  const DayLoad& load_;
  const v1::StepReport& step_;
  std::array<std::vector<TimeSums>, 2> usual_sums_;
  std::array<SortedValues, 2> sorted_;
  std::map<ScopeKey, const v1::ScopeReport*> scopes_;
  std::array<std::map<ScopeKey, const v1::SeriesReport*>, 2> series_;
  std::array<std::map<ScopeKey, const v1::SeriesReport*>, 2> minutes_;
  Differences differences_;
};

// `row_s`: length of a row that is not irregular.
int64_t EndOf(const v1::SeriesReport& series, int64_t row_s) {
  if (series.second().empty()) return 0;
  const int last = series.second_size() - 1;
  int64_t end_s = int64_t{series.second(last)} + row_s;
  for (const v1::IrregularRow& row : series.irregular()) {
    if (row.row() != static_cast<uint32_t>(last)) continue;
    if (row.closing()) return series.second(last);
    end_s = int64_t{series.second(last)} + (row.length_ns() + kNsPerSecond - 1) / kNsPerSecond;
  }
  return end_s;
}

}  // namespace

std::vector<std::string> RecountDay(const DayFleet& fleet, const v1::Report& report) {
  if (report.steps_size() != 1) return {absl::StrCat("the report has ", report.steps_size(), " steps")};
  return DayRecount(fleet, report.steps(0)).Run();
}

DayColumns ColumnsOf(const v1::Report& report) {
  DayColumns columns;
  for (const v1::StepReport& step : report.steps()) {
    const bool minutes = step.has_whole_seconds();
    const int64_t row_s = minutes ? 60 : 1;
    for (const v1::SeriesReport& series : minutes ? step.minutes() : step.series()) {
      if (series.kind() == v1::SCOPE_KIND_QM) {
        ++columns.qm_series;
        columns.qm_until_s = std::max(columns.qm_until_s, EndOf(series, row_s));
      } else if (series.kind() == v1::SCOPE_KIND_HOST) {
        ++columns.host_series;
        columns.host_until_s = std::max(columns.host_until_s, EndOf(series, row_s));
      }
    }
    for (const v1::HostLoadReport& load : step.load()) {
      if (load.offset_ns().empty()) continue;
      const int64_t until_s = load.offset_ns(load.offset_ns_size() - 1) / kNsPerSecond;
      columns.load_until_s = columns.load_hosts == 0 ? until_s : std::min(columns.load_until_s, until_s);
      ++columns.load_hosts;
    }
  }
  return columns;
}

}  // namespace plimsoll::tests
