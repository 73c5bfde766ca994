#include "controller/analysis/step_percentiles.h"

#include <algorithm>

namespace plimsoll {
namespace {

// Histograms that the cluster, and all storages together, keep open: 50 KiB each.
constexpr size_t kOpenSeconds = 256;
// Hosts cross a second's end at nearly the same moment.
constexpr size_t kFewestOpenSeconds = 4;

}  // namespace

StepPercentiles::StepPercentiles(bool keep_seconds)
    : keeps_seconds_(keep_seconds), cluster_(kOpenSeconds, keep_seconds ? &seconds_ : nullptr) {}

void StepPercentiles::Expect(const std::map<uint32_t, uint32_t>& storage_of_host) {
  std::map<uint32_t, std::set<uint32_t>> hosts_of_storage;
  for (const auto& [host, storage] : storage_of_host) {
    passed_.Expect(host);
    if (storage != 0) hosts_of_storage[storage].insert(host);
  }
  if (storages_set_) return;
  storages_set_ = true;
  std::erase_if(hosts_of_storage, [&storage_of_host](const auto& storage) {
    return storage.second.size() < 2 || storage.second.size() == storage_of_host.size();
  });
  const size_t open_seconds = std::max(kFewestOpenSeconds, kOpenSeconds / std::max<size_t>(hosts_of_storage.size(), 1));
  for (auto& [storage, hosts] : hosts_of_storage) {
    storages_.push_back({std::move(hosts), std::make_unique<MergedPercentiles>(open_seconds)});
  }
}

PercentileSinks StepPercentiles::SinksOf(uint32_t host) {
  const auto shared = std::find_if(storages_.begin(), storages_.end(),
                                   [host](const Shared& storage) { return storage.hosts.contains(host); });
  return {shared == storages_.end() ? nullptr : shared->merged.get(), &cluster_, &host_scratch_, &qm_scratch_};
}

void StepPercentiles::Pass(uint32_t host, uint32_t second) {
  const int64_t before = passed_.lowest();
  passed_.Pass(host, second);
  if (passed_.lowest() > before) ClosePassed();
}

void StepPercentiles::Leave(uint32_t host) {
  passed_.Leave(host);
  ClosePassed();
}

void StepPercentiles::ClosePassed() {
  // Nobody is left: what hosts still hand on comes before the end.
  if (passed_.empty()) return;
  const auto second = static_cast<uint32_t>(std::min<int64_t>(passed_.lowest(), UINT32_MAX));
  cluster_.CloseBelow(second);
  for (const Shared& storage : storages_) storage.merged->CloseBelow(second);
}

void StepPercentiles::Finish() {
  cluster_.Finish();
  for (const Shared& storage : storages_) storage.merged->Finish();
}

const SecondTable* StepPercentiles::Storage(const std::set<uint32_t>& hosts) const {
  for (const Shared& storage : storages_) {
    if (storage.hosts == hosts) return &storage.merged->table();
  }
  return nullptr;
}

}  // namespace plimsoll
