#include "agent/server/refusals.h"

#include "absl/strings/str_cat.h"

namespace plimsoll {
namespace {

constexpr char kOthers[] = "other peers";
constexpr char kVarious[] = "various reasons";
constexpr size_t kMaxTextBytes = 400;

}  // namespace

std::string PlainText(const std::string& text) {
  std::string plain;
  for (const char c : text.substr(0, kMaxTextBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      plain.push_back(c);
    } else {
      absl::StrAppend(&plain, "\\x", absl::Hex(byte, absl::kZeroPad2));
    }
  }
  return plain;
}

bool Refusals::TakeLine(MonotonicNs now) {
  if (now - period_start_ >= kPeriodNs) {
    period_start_ = now;
    lines_ = 0;
  }
  if (lines_ >= kLinesPerPeriod) return false;
  ++lines_;
  return true;
}

void Refusals::Forget(MonotonicNs now) {
  for (auto each = sums_.begin(); each != sums_.end();) {
    const bool old = each->second.unreported == 0 && now - each->second.last_reported >= kPeriodNs;
    each = old ? sums_.erase(each) : std::next(each);
  }
}

void Refusals::Add(const std::string& who, const std::string& name, const std::string& reason) {
  MutexLock lock(mutex_);
  const MonotonicNs now = clock_.Now();
  auto found = sums_.find({who, reason});
  if (found == sums_.end()) {
    if (sums_.size() >= kMaxPairs) Forget(now);
    if (sums_.size() >= kMaxPairs) {
      // One more than kMaxPairs, once.
      ++sums_[{kOthers, kVarious}].unreported;
      return;
    }
    Sum& sum = sums_[{who, reason}];
    sum.last_reported = now;
    if (TakeLine(now)) {
      print_(absl::StrCat("refused ", name, ": ", reason));
    } else {
      sum.unreported = 1;
    }
    return;
  }
  ++found->second.unreported;
}

void Refusals::Tick() {
  MutexLock lock(mutex_);
  const MonotonicNs now = clock_.Now();
  for (auto& [pair, sum] : sums_) {
    if (sum.unreported == 0 || now - sum.last_reported < kPeriodNs) continue;
    if (!TakeLine(now)) break;
    print_(absl::StrCat("refused ", pair.first, " ", sum.unreported,
                        sum.unreported == 1 ? " more time: " : " more times: ", pair.second));
    sum.unreported = 0;
    sum.last_reported = now;
  }
  Forget(now);
}

}  // namespace plimsoll
