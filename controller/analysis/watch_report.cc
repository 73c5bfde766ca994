#include "controller/analysis/watch_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/algorithm.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/analysis/verdict_cause.h"
#include "controller/report/scopes.h"
#include "controller/report/watched.h"

namespace plimsoll {
namespace {

constexpr uint64_t kPageBytes = 4096;
// As `plimsoll run` takes them.
constexpr uint64_t kLargestBlockBytes = uint64_t{64} << 20;
constexpr uint64_t kUsualExtentBytes = uint64_t{16} << 20;
// Sizes, flags and locks that a line names.
constexpr size_t kMostSizesNamed = 6;
constexpr int kMostNamed = 8;

// "1 write", "2 writes".
std::string CountedNoun(uint64_t count, const std::string& noun) {
  return absl::StrCat(FormatCount(count), " ", noun, count == 1 ? "" : "s");
}

std::string ShareText(uint64_t part, uint64_t all) {
  const double percent = all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
  return percent > 0 && percent < 1 ? absl::StrFormat("%.2f %%", percent) : absl::StrFormat("%.0f %%", percent);
}

// How the log was written on all hosts together.
class SeenWriting {
 public:
  void Add(const v1::WatchProfile& profile) {
    for (const std::string& flags : profile.open_flags()) AddOnce(flags, flags_);
    for (const std::string& lock : profile.locks()) AddOnce(lock, locks_);
    for (const std::string& call : profile.calls()) AddCall(call);
    for (const v1::WatchedSize& size : profile.sizes()) sizes_[size.bytes()] += size.writes();
    sequential_ += profile.sequential_writes();
    rewriting_ += profile.rewriting_writes();
    other_ += profile.other_writes();
    unaligned_ += profile.unaligned_writes();
    overlapping_ += profile.overlapping_writes();
    extent_changes_ += profile.extent_changes();
    any_ = true;
  }

  bool any() const { return any_; }

  std::vector<v1::WatchAspect> Aspects(uint64_t writers) const {
    std::vector<v1::WatchAspect> aspects;
    const auto add = [&aspects](const char* what, const std::string& seen, const char* assumed, bool differs) {
      v1::WatchAspect& aspect = aspects.emplace_back();
      aspect.set_aspect(what);
      aspect.set_seen(seen.empty() ? "not seen" : seen);
      aspect.set_assumed(assumed);
      aspect.set_differs(differs);
    };
    const uint64_t writes = sequential_ + rewriting_ + other_;
    const bool usual_flags = std::ranges::all_of(
        flags_, [](const auto& flags) { return HasFlag(flags, "O_DSYNC") && HasFlag(flags, "O_DIRECT"); });
    add("open flags", Named(flags_), "O_RDWR|O_DSYNC|O_DIRECT", !usual_flags);
    add("calls", CallsText(), "one write call for each write, no sync", Syncs("fsync") || Syncs("fdatasync"));
    add("writes outstanding",
        overlapping_ == 0 ? "one at a time"
                          : absl::StrCat(CountedNoun(overlapping_, "write"), " (", ShareText(overlapping_, writes),
                                         ") started while another one was in flight"),
        "one at a time", overlapping_ > 0);
    // The first write of a file follows none in it.
    add("order",
        writes == 0 ? ""
                    : absl::StrCat(ShareText(sequential_, writes), " sequential, ", ShareText(rewriting_, writes),
                                   " over pages already written, ", ShareText(other_, writes), " elsewhere; ",
                                   CountedNoun(extent_changes_, "change"), " of extent"),
        "sequential, each page once", rewriting_ > 0 || other_ > extent_changes_ + writers);
    add("alignment",
        unaligned_ == 0 ? "whole pages of 4 KiB"
                        : absl::StrCat(CountedNoun(unaligned_, "write"), " (", ShareText(unaligned_, writes),
                                       ") not in whole pages of 4 KiB"),
        "whole pages of 4 KiB", unaligned_ > 0);
    add("write sizes", SizesText(), "one size a step (--bsize)", sizes_.size() > 1);
    add("locks", locks_.empty() ? "none" : Named(locks_), "none", !locks_.empty());
    return aspects;
  }

  // Options of `plimsoll run` that write in this way; empty where no write was seen.
  std::string Options() const {
    const std::string sizes = SizeOptions();
    if (sizes.empty()) return "";
    return absl::StrCat(" --sync ", SyncWord(), " --direct ", DirectWord(), sizes);
  }

 private:
  static void AddOnce(const std::string& text, std::vector<std::string>& list) {
    if (std::ranges::find(list, text) == list.end()) list.push_back(text);
  }

  static bool HasFlag(const std::string& flags, const std::string& flag) {
    const std::vector<std::string> all = absl::StrSplit(flags, '|');
    return std::ranges::find(all, flag) != all.end();
  }

  // "pwrite64 12345".
  void AddCall(const std::string& call) {
    const size_t blank = call.rfind(' ');
    const std::string name = call.substr(0, blank);
    uint64_t count = 0;
    if (blank != std::string::npos && !absl::SimpleAtoi(call.substr(blank + 1), &count)) count = 0;
    calls_[name] += count;
  }

  bool Syncs(const std::string& name) const {
    const auto found = calls_.find(name);
    return found != calls_.end() && found->second > 0;
  }

  static std::string Named(const std::vector<std::string>& list) {
    const auto shown = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(list.size()), kMostNamed);
    return absl::StrCat(absl::StrJoin(list.begin(), list.begin() + shown, "; "),
                        static_cast<std::ptrdiff_t>(list.size()) > shown
                            ? absl::StrCat(" and ", list.size() - static_cast<size_t>(shown), " more")
                            : "");
  }

  std::string CallsText() const {
    return absl::StrJoin(calls_, ", ", [](std::string* out, const auto& call) {
      absl::StrAppend(out, call.first, " ", FormatCount(call.second));
    });
  }

  // The most frequent first.
  std::vector<std::pair<uint64_t, uint64_t>> BySize() const {
    std::vector<std::pair<uint64_t, uint64_t>> sizes(sizes_.begin(), sizes_.end());
    StableSort(sizes, [](const auto& a, const auto& b) { return a.second > b.second; });
    return sizes;
  }

  std::string SizesText() const {
    uint64_t writes = 0;
    for (const auto& [bytes, count] : sizes_) writes += count;
    std::vector<std::string> parts;
    for (const auto& [bytes, count] : BySize()) {
      if (parts.size() == kMostSizesNamed) {
        parts.push_back(absl::StrCat(sizes_.size() - kMostSizesNamed, " more, up to ",
                                     FormatSizeForPeople(sizes_.rbegin()->first)));
        break;
      }
      parts.push_back(absl::StrCat(FormatSizeForPeople(bytes), " ", ShareText(count, writes)));
    }
    return absl::StrJoin(parts, ", ");
  }

  std::string SyncWord() const {
    const auto all_have = [this](const char* flag) {
      return !flags_.empty() && std::ranges::all_of(flags_, [flag](const auto& one) { return HasFlag(one, flag); });
    };
    if (all_have("O_SYNC")) return "sync";
    if (all_have("O_DSYNC")) return "dsync";
    return Syncs("fdatasync") ? "fdatasync" : Syncs("fsync") ? "fsync" : "none";
  }

  std::string DirectWord() const {
    const auto direct = std::ranges::count_if(flags_, [](const auto& one) { return HasFlag(one, "O_DIRECT"); });
    return direct == 0 ? "off" : direct == static_cast<std::ptrdiff_t>(flags_.size()) ? "on" : "auto";
  }

  // " --bsize 4k", or of several sizes " --bsize-mix 4k=70,64k=30": whole pages, whole percentages.
  std::string SizeOptions() const {
    std::map<uint64_t, uint64_t> blocks;
    uint64_t writes = 0;
    for (const auto& [bytes, count] : sizes_) {
      const uint64_t pages = std::max<uint64_t>((std::min(bytes, kLargestBlockBytes) + kPageBytes - 1) / kPageBytes, 1);
      blocks[pages * kPageBytes] += count;
      writes += count;
    }
    if (writes == 0) return "";
    std::vector<std::pair<uint64_t, uint64_t>> most(blocks.begin(), blocks.end());
    StableSort(most, [](const auto& a, const auto& b) { return a.second > b.second; });
    most.resize(std::min<size_t>(most.size(), kMostMixedSizes));
    uint64_t kept = 0;
    for (const auto& [bytes, count] : most) kept += count;
    struct Share {
      uint64_t bytes = 0;
      uint64_t percent = 0;
      double rest = 0;
    };
    std::vector<Share> shares;
    uint64_t given = 0;
    for (const auto& [bytes, count] : most) {
      const double percent = 100 * static_cast<double>(count) / static_cast<double>(kept);
      shares.push_back({bytes, static_cast<uint64_t>(percent), percent - std::floor(percent)});
      given += shares.back().percent;
    }
    StableSort(shares, [](const Share& a, const Share& b) { return a.rest > b.rest; });
    for (size_t i = 0; given < 100; i = (i + 1) % shares.size(), ++given) ++shares[i].percent;
    std::erase_if(shares, [](const Share& share) { return share.percent == 0; });
    std::ranges::sort(shares, {}, &Share::bytes);
    const uint64_t largest = shares.back().bytes;
    const std::string extents =
        largest > kUsualExtentBytes ? absl::StrCat(" --file-size ", FormatSize(kLargestBlockBytes)) : "";
    if (shares.size() == 1) return absl::StrCat(" --bsize ", FormatSize(largest), extents);
    return absl::StrCat(" --bsize-mix ",
                        absl::StrJoin(shares, ",",
                                      [](std::string* out, const Share& share) {
                                        absl::StrAppend(out, FormatSize(share.bytes), "=", share.percent);
                                      }),
                        extents);
  }

  bool any_ = false;
  std::vector<std::string> flags_;
  std::vector<std::string> locks_;
  std::map<std::string, uint64_t> calls_;
  std::map<uint64_t, uint64_t> sizes_;
  uint64_t sequential_ = 0;
  uint64_t rewriting_ = 0;
  uint64_t other_ = 0;
  uint64_t unaligned_ = 0;
  uint64_t overlapping_ = 0;
  uint64_t extent_changes_ = 0;
};

// The command line that writes as the log was seen to be written, with as many queue managers a host; "" if not known.
std::string SimulationOf(const v1::Report& report, const SeenWriting& seen) {
  const std::string options = seen.Options();
  if (options.empty() || report.steps().empty()) return "";
  const v1::ScopeReport* const cluster = ClusterOf(report.steps(0));
  const auto writers = static_cast<double>(std::max<uint32_t>(report.run().queue_managers(), 1));
  if (cluster == nullptr || cluster->iops() <= 0) return "";
  const double rate = cluster->iops() / writers;
  // A program that was watched to its end may have been watched for up to a day.
  const int64_t seconds = std::max<int64_t>((report.steps(0).measured_ns() + kNsPerSecond - 1) / kNsPerSecond, 1);
  const int managers = std::max(report.plan().watch().queue_managers_size(), 1);
  return absl::StrCat("plimsoll run --dir DIR", managers > 1 ? absl::StrCat(" --qm ", managers) : "", options,
                      " --rate ",
                      rate < 10 ? absl::StrFormat("%.3g", std::max(rate, 0.001)) : absl::StrFormat("%.0f", rate),
                      " --arrival poisson --duration ", FormatDuration(seconds * kNsPerSecond));
}

}  // namespace

namespace {

// "a write", "MQPUT".
std::string OpenText(const v1::OpenOperation& open, const v1::WatchPlan& watch) {
  const uint32_t writes = WatchesLog(watch) ? 1 : 0;
  if (open.operation() < writes) return "a write";
  const uint32_t call = open.operation() - writes;
  if (call >= static_cast<uint32_t>(watch.calls_size())) return "a call";
  return CallName(watch.calls(static_cast<int>(call)));
}

}  // namespace

std::vector<std::string> WatchDoubts(const HostFacts& facts) {
  std::vector<std::string> doubts;
  if (!facts.watched) return doubts;
  const v1::WatchDone& done = *facts.watched;
  const auto add = [&](const std::string& text) { doubts.push_back(absl::StrCat(facts.label(), ": ", text)); };
  if (done.lost_records() > 0) {
    add(absl::StrCat("the kernel dropped ", CountedNoun(done.lost_records(), "record"),
                     " before the agent could read them; counts are lower bounds."));
  }
  if (done.unpaired_calls() > 0) {
    add(absl::StrCat("of ", CountedNoun(done.unpaired_calls(), "call"),
                     " only the begin or the end was seen; counts are lower bounds."));
  }
  if (done.unknown_file_writes() > 0) {
    add(absl::StrCat(CountedNoun(done.unknown_file_writes(), "write"),
                     " went to files that could not be identified and may be writes of the log; counts are lower "
                     "bounds."));
  }
  if (done.async_submissions() > 0) {
    add(absl::StrCat("the watched processes submitted I/O ", CountedNoun(done.async_submissions(), "time"),
                     " with io_submit or io_uring_enter, which is not measured; counts are lower bounds."));
  }
  if (done.self_submitting_processes() > 0) {
    const bool one = done.self_submitting_processes() == 1;
    add(absl::StrCat(
        one ? "for a watched process" : absl::StrCat("for ", done.self_submitting_processes(), " watched processes"),
        ", a thread of the kernel submits I/O (io_uring with IORING_SETUP_SQPOLL), which is not measured; "
        "counts are lower bounds."));
  }
  for (const std::string& late : done.found_late()) {
    add(absl::StrCat(late, ": what it did before is missing; counts are lower bounds."));
  }
  if (!done.detached().empty()) {
    add(absl::StrCat("the agent detached before the end: ", Sentence(done.detached())));
  }
  return doubts;
}

void TakeWatchDone(const v1::WatchDone& done, const v1::TestPlan& plan, HostFacts& facts, NoteBook& reasons,
                   NoteBook& notes) {
  facts.watched = done;
  NoteBook& book = plan.criteria().empty() ? notes : reasons;
  for (const std::string& doubt : WatchDoubts(facts)) book.Add(kBoundsReason, doubt);
  for (const std::string& ended : done.ended_processes()) {
    notes.Add("ended", absl::StrCat(facts.label(), ": ", Sentence(ended)));
  }
  if (done.idle_end()) {
    notes.Add("idle", absl::StrCat(facts.label(), ": nothing completed for ",
                                   FormatLength(plan.watch().until_idle_ns()), ", which ended the watch."));
  }
  for (const v1::OpenOperation& open : done.open()) {
    notes.Add("open", absl::StrFormat("%s: at the end %s had been in flight for %s, longer than any that completed; "
                                      "the figures do not include it.",
                                      facts.WriterName(open.qm()), OpenText(open, plan.watch()),
                                      FormatLength(std::max<int64_t>(open.age_ns(), 0) / kNsPerMs * kNsPerMs)));
  }
  if (done.failed_writes() == 0 && done.short_writes() == 0) return;
  notes.Add("failed", absl::StrCat(facts.label(), ": ", FormatCount(done.failed_writes()), " writes failed, and ",
                                   FormatCount(done.short_writes()), " wrote less than the program requested."));
}

v1::WatchReport MakeWatchReport(const v1::Report& report, const HostTable& hosts) {
  v1::WatchReport watch;
  SeenWriting seen;
  uint64_t writers = 0;
  for (const auto& [number, facts] : hosts) {
    v1::WatchHostReport& host = *watch.add_hosts();
    host.set_host(facts.label());
    if (facts.prepared) {
      const v1::WatchPrepared& prepared = facts.prepared->watch();
      *host.mutable_writers() = prepared.writers();
      host.set_write_overhead_ns(prepared.write_overhead_ns());
      host.set_call_overhead_ns(prepared.call_overhead_ns());
    }
    writers += facts.qms();
    if (!facts.watched) continue;
    *host.mutable_counts() = *facts.watched;
    for (std::string& doubt : WatchDoubts(facts)) host.add_doubts(std::move(doubt));
    watch.set_bounds(watch.bounds() || host.doubts_size() > 0);
    if (report.plan().watch().profile() && facts.watched->has_profile()) seen.Add(facts.watched->profile());
  }
  if (!seen.any()) return watch;
  for (v1::WatchAspect& aspect : seen.Aspects(writers)) *watch.add_aspects() = std::move(aspect);
  if (std::string command = SimulationOf(report, seen); !command.empty()) watch.set_simulation(std::move(command));
  return watch;
}

}  // namespace plimsoll
