#include "controller/analysis/clock_check.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/algorithm.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// How a clock left the pace: at another speed, by a single step, or to and fro.
enum class PaceError { kSpeed, kStep, kUnsteady };

PaceError KindOfError(const ClockChange& change) {
  const int64_t sum_ns = change.gained_ns + change.lost_ns;
  // Between probes that are far apart a clock at the wrong speed changes by much, too, but not at once.
  const double usual_ns = static_cast<double>(sum_ns) / static_cast<double>(std::max<int64_t>(change.length_ns, 1)) *
                          static_cast<double>(change.largest_within_ns);
  if (change.largest_ns >= sum_ns / 2 && static_cast<double>(change.largest_ns) > 2 * usual_ns) return PaceError::kStep;
  return std::abs(change.gained_ns - change.lost_ns) >= sum_ns / 2 ? PaceError::kSpeed : PaceError::kUnsteady;
}

// "runs at 0.50x", "runs 600 ppm faster than".
std::string SpeedText(double ppm) {
  constexpr double kLeastForFactorPpm = 10'000;
  if (std::abs(ppm) >= kLeastForFactorPpm) return absl::StrFormat("runs at %.2fx", 1 + ppm / 1e6);
  return absl::StrFormat("runs %.0f ppm %s than", std::abs(ppm), ppm < 0 ? "slower" : "faster");
}

std::string WhatIsWrong(const ClockChange& change) {
  switch (KindOfError(change)) {
    case PaceError::kSpeed:
      return absl::StrCat(SpeedText(PacePpm(change)), " the controller's");
    case PaceError::kStep:
      return absl::StrFormat("stepped by %+.3f s", static_cast<double>(change.gained_ns - change.lost_ns) / 1e9);
    case PaceError::kUnsteady:
      break;
  }
  return "is not steady";
}

std::string WhatIsWrongOfController(const ClockChange& change, const std::string& hosts) {
  switch (KindOfError(change)) {
    case PaceError::kSpeed:
      return absl::StrCat(SpeedText((1 / (1 + std::max(PacePpm(change), -999'999.0) / 1e6) - 1) * 1e6), " that of ",
                          hosts);
    case PaceError::kStep:
      return absl::StrFormat("stepped by %+.3f s against that of %s",
                             static_cast<double>(change.lost_ns - change.gained_ns) / 1e9, hosts);
    case PaceError::kUnsteady:
      break;
  }
  return absl::StrCat("is not steady against that of ", hosts);
}

bool AreAlike(const ClockChange& a, const ClockChange& b) {
  constexpr double kShare = 0.1;
  constexpr double kLeastPpm = 200;
  return KindOfError(a) == KindOfError(b) &&
         std::abs(PacePpm(a) - PacePpm(b)) <= std::max(kLeastPpm, kShare * std::abs(PacePpm(a)));
}

}  // namespace

bool IsWrongPace(const ClockChange& change) {
  return change.gained_ns + change.lost_ns > change.allowed_ns;
}

bool IsUnseen(int64_t unseen_ns, int64_t length_ns) {
  // The last probe before the end of a step is a probing period old, and its answer may be late.
  constexpr int64_t kShare = 10;
  return unseen_ns > kNsPerSecond + length_ns / kShare;
}

double PacePpm(const ClockChange& change) {
  return change.length_ns <= 0 ? 0 : static_cast<double>(change.net_ns) / static_cast<double>(change.length_ns) * 1e6;
}

std::vector<std::string> WrongClocks(const std::vector<HostClockChange>& hosts) {
  std::vector<const HostClockChange*> wrong;
  for (const HostClockChange& host : hosts) {
    if (IsWrongPace(host.change)) wrong.push_back(&host);
  }
  std::vector<std::string> what;
  if (2 * wrong.size() > hosts.size() && wrong.size() > 1) {
    std::vector<const HostClockChange*> by_pace = wrong;
    StableSort(by_pace, [](const HostClockChange* a, const HostClockChange* b) {
      return PacePpm(a->change) < PacePpm(b->change);
    });
    const ClockChange& usual = by_pace[by_pace.size() / 2]->change;
    const auto is_alike = [&usual](const HostClockChange* host) { return AreAlike(usual, host->change); };
    const auto alike = static_cast<size_t>(std::count_if(wrong.begin(), wrong.end(), is_alike));
    if (2 * alike > hosts.size() && alike > 1) {
      const std::string all = alike == hosts.size() ? absl::StrCat("all ", alike, " hosts")
                                                    : absl::StrCat(alike, " of ", hosts.size(), " hosts");
      what.push_back(absl::StrCat("the controller's clock ", WhatIsWrongOfController(usual, all)));
      std::erase_if(wrong, is_alike);
    }
  }
  for (const HostClockChange* host : wrong) {
    what.push_back(absl::StrCat(host->label, "'s clock ", WhatIsWrong(host->change)));
  }
  return what;
}

std::map<uint32_t, HostClockChange> ClocksOfDrill(const Timeline& timeline, const HostTable& hosts, int64_t from_ns,
                                                  int64_t to_ns) {
  std::map<uint32_t, HostClockChange> changes;
  for (const auto& [number, facts] : hosts) {
    const ClockChange change = timeline.ChangeOver(number, from_ns, to_ns, [](int64_t, int64_t) { return int64_t{0}; });
    const bool mostly = change.off_pace > change.intervals / 2;
    changes[number] = {facts.label(), mostly ? change : ClockChange()};
  }
  return changes;
}

std::string PaceFigures(const ClockChange& change, double max_slew_ppm) {
  const auto seconds = [](int64_t ns) { return absl::StrFormat("%.3f s", static_cast<double>(ns) / 1e9); };
  const std::string gained = change.gained_ns > 0 ? absl::StrCat("gained ", seconds(change.gained_ns)) : "";
  const std::string lost = change.lost_ns > 0 ? absl::StrCat("lost ", seconds(change.lost_ns)) : "";
  return absl::StrCat("its clock ", gained, gained.empty() || lost.empty() ? "" : " and ", lost, " in ",
                      seconds(change.length_ns), "; --max-slew (", absl::StrFormat("%g", max_slew_ppm), " ppm) allows ",
                      seconds(change.allowed_ns));
}

}  // namespace plimsoll
