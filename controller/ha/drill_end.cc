// The end of a drill: instances end in order, logs are scanned, files go.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "controller/ha/drill.h"

namespace plimsoll {
namespace {

constexpr int kLastProbes = 8;

}  // namespace

void Drill::EndAll() {
  const auto end = [this](Instance* QueueManager::* which) {
    for (const QueueManager& qm : queue_managers_) {
      if (qm.*which != nullptr && !(qm.*which)->ended) End(*(qm.*which));
    }
    const auto over = [this, which] {
      return std::all_of(queue_managers_.begin(), queue_managers_.end(), [&](const QueueManager& qm) {
        return qm.*which == nullptr || (qm.*which)->ended || !IsThere((qm.*which)->host);
      });
    };
    // Not AwaitFor: it would not wait once the drill must end.
    driver_.PumpFor(kEndLimitNs, over);
  };
  if (left()) return;
  options_.say("ending the instances");
  // The standby ones first, or they would take over.
  end(&QueueManager::standby);
  if (!left()) end(&QueueManager::active);
  if (left()) return;
  // Whatever is still there goes now.
  for (auto& host : fleet_.hosts()) {
    v1::HaCommand order;
    order.mutable_finish();
    Order(host->index, std::move(order));
  }
  driver_.PumpFor(kEndLimitNs, [this] {
    return std::all_of(instances_.begin(), instances_.end(),
                       [this](const auto& one) { return one.second.ended || !IsThere(one.second.host); });
  });
}

void Drill::ScanAll() {
  options_.say("scanning the logs");
  scanning_ = true;
  std::vector<Instance*> scans;
  for (const QueueManager& qm : queue_managers_) {
    const Instance* last = qm.active;
    if (last == nullptr) continue;
    // The other host's caches know nothing of the last writes.
    const size_t other = Partner(qm, last->host);
    const size_t host = IsThere(other) ? other : last->host;
    if (!IsThere(host)) continue;
    const uint32_t number = static_cast<uint32_t>(instances_.size()) + 1;
    Instance& scan = instances_[number];
    scan.number = number;
    scan.qm = qm.number;
    scan.host = host;
    scans.push_back(&scan);
    v1::HaCommand order;
    order.mutable_scan()->set_instance(number);
    order.mutable_scan()->set_qm(qm.number);
    Order(host, std::move(order));
  }
  driver_.PumpUntil([&] {
    return driver_.interrupted() || std::all_of(scans.begin(), scans.end(), [this](const Instance* scan) {
             return scan->ended || !IsThere(scan->host);
           });
  });
  scanning_ = false;
}

void Drill::ReleaseAll() {
  // Nobody waits for a host any more that is not back by now.
  away_.clear();
  for (auto& host : fleet_.hosts()) {
    if (host->lost() || host->phase == Host::Phase::kGone || host->phase == Host::Phase::kKnown) continue;
    if (host->phase == Host::Phase::kFilling) {
      v1::ControllerMessage stop;
      stop.mutable_stop()->set_reason("timed out");
      host->client->Send(std::move(stop));
    }
    host->phase = Host::Phase::kReleasing;
    SessionDriver::Probe(*host, kLastProbes);
    v1::ControllerMessage message;
    message.mutable_release()->set_keep_files(options_.plan.keep_files());
    host->client->Send(std::move(message));
  }
  options_.progress->Releasing();
  driver_.PumpUntil([this] {
    return std::all_of(fleet_.hosts().begin(), fleet_.hosts().end(), [](const auto& host) {
      return host->lost() || host->phase == Host::Phase::kGone || host->phase == Host::Phase::kKnown;
    });
  });
  driver_.Close();
  options_.progress->StepEnds();
}

void Drill::AppendEnd() {
  v1::JournalRecord record;
  v1::RunEnd& end = *record.mutable_run_end();
  end.set_cut_short(driver_.interrupted() ? "interrupted" : cut_short_);
  for (auto& host : fleet_.hosts()) {
    if (host->released.has_value() && !host->released->left_behind().empty()) {
      end.add_left_behind(absl::StrCat(host->label, ": ", host->released->left_behind()));
    }
  }
  log_.Append(std::move(record));
  log_.Flush();
}

std::vector<size_t> Drill::AbsentHosts() const {
  std::vector<size_t> absent;
  for (const auto& host : options_.fleet->hosts()) {
    if (host->lost()) absent.push_back(host->index);
  }
  return absent;
}

}  // namespace plimsoll
