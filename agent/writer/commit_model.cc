#include "agent/writer/commit_model.h"

#include <cmath>

#include "common/integers.h"

namespace plimsoll {
namespace {

constexpr uint64_t kCommitGolden = 0x9e3779b97f4a7c15;
// Keeps think times independent of the random arrivals, sizes and orders of the same seed.
constexpr uint64_t kCommitSalt = 0x636f6d6d6974;
constexpr double kMicroPerOne = 1e6;

uint64_t CommitKeyOf(const CommitLoad::Key& key) {
  return MixBits(MixBits(MixBits(kCommitSalt ^ key.seed) ^ key.host) ^ key.writer);
}

}  // namespace

uint64_t CommitModel::RecordBytes(uint64_t number, uint64_t message_bytes) {
  const uint64_t put_bytes = kLogPutBytes + message_bytes;
  switch (number) {
    case 0:
      return put_bytes + kLogCommitBytes;
    case 1:
      return kLogGetBytes + put_bytes + kLogCommitBytes;
    default:
      return kLogGetBytes + kLogCommitBytes;
  }
}

CommitModel::CommitModel(const CommitLoad& load, int64_t start_ns)
    : load_(load), start_ns_(start_ns), key_(CommitKeyOf(load.key)), previous_end_ns_(start_ns) {
  for (uint64_t number = 0; number < kCommitsPerTrip; ++number) {
    record_bytes_[number] = RecordBytes(number, load.message_bytes);
  }
  if (load_.pattern != nullptr) {
    appended_writes_.emplace(*load_.pattern, start_ns, load_.load_factor);
    completed_writes_ = appended_writes_;
    return;
  }
  if (load_.rate_per_second > 0) {
    const PoissonArrivals::Key key{load_.key.seed, load_.key.host, load_.key.writer};
    const auto rate_micro = static_cast<uint64_t>(std::llround(load_.rate_per_second * kMicroPerOne));
    appended_arrivals_.emplace(key, rate_micro);
    completed_arrivals_.emplace(key, rate_micro);
    first_commit_ = MixBits(key_) % kCommitsPerTrip;
    return;
  }
  arrivals_.reserve(load_.clients);
  in_buffer_.resize(load_.clients);
  thoughts_.resize(load_.clients);
  commit_of_client_.resize(load_.clients);
  for (uint32_t client = 0; client < load_.clients; ++client) {
    commit_of_client_[client] = static_cast<uint8_t>(MixBits(key_ ^ MixBits(client)) % kCommitsPerTrip);
    // Every other client commits at once, and the others when they have thought: where clients think for much less
    // than a write takes, half of them then wait while the other half's write is under way, as they do in the long run.
    const bool at_once = client % 2 == 0;
    arrivals_.push_back({at_once ? start_ns : start_ns + 1 + ThinkNs(client), client});
    std::push_heap(arrivals_.begin(), arrivals_.end(), IsLater);
  }
}

int64_t CommitModel::ThinkNs(uint32_t client) {
  if (load_.think_ns == 0) return 0;
  const uint64_t drawn = MixBits((key_ ^ MixBits(client + kCommitGolden)) + kCommitGolden * ++thoughts_[client]);
  const double uniform = (static_cast<double>(drawn >> 11U) + 0.5) * 0x1p-53;
  return static_cast<int64_t>(-std::log(uniform) * static_cast<double>(load_.think_ns));
}

void CommitModel::Append() {
  if (appended_writes_) {
    appended_bytes_ += appended_writes_->pages() * kLogPageBytes;
    appended_writes_->Advance();
  } else if (appended_arrivals_) {
    appended_bytes_ += record_bytes_[(first_commit_ + appended_) % kCommitsPerTrip];
  } else {
    std::pop_heap(arrivals_.begin(), arrivals_.end(), IsLater);
    const Arrival arrival = arrivals_.back();
    arrivals_.pop_back();
    appended_bytes_ += BytesOf(arrival.client);
    in_buffer_[appended_ % load_.clients] = arrival;
  }
  ++appended_;
  if (waiting_++ == 0) front_bytes_ = appended_bytes_;
}

CommitModel::Commit CommitModel::Front() {
  const uint64_t number = appended_ - waiting_;
  if (completed_writes_) return {completed_writes_->moment_ns(), 0, completed_writes_->pages() * kLogPageBytes};
  if (completed_arrivals_) {
    return {start_ns_ + completed_arrivals_->At(number), 0, record_bytes_[(first_commit_ + number) % kCommitsPerTrip]};
  }
  const Arrival& arrival = in_buffer_[number % load_.clients];
  return {arrival.at_ns, 0, BytesOf(arrival.client)};
}

void CommitModel::Complete(int64_t end_ns) {
  const uint64_t number = appended_ - waiting_--;
  if (completed_writes_) {
    completed_writes_->Advance();
  } else if (!completed_arrivals_) {
    const uint32_t client = in_buffer_[number % load_.clients].client;
    commit_of_client_[client] = static_cast<uint8_t>((commit_of_client_[client] + 1) % kCommitsPerTrip);
    arrivals_.push_back({end_ns + ThinkNs(client), client});
    std::push_heap(arrivals_.begin(), arrivals_.end(), IsLater);
  }
  if (waiting_ > 0) front_bytes_ += Front().bytes;
}

CommitModel::Write CommitModel::Begin() {
  if (in_copy_) {
    const uint64_t first_page = durable_bytes_ / kLogPageBytes;
    write_ = {first_page, (stop_bytes_ + kLogPageBytes - 1) / kLogPageBytes - first_page, false};
    return write_;
  }
  const bool follows = AnyWaits();
  const int64_t start_ns = NextStart();
  const auto has_arrived = [this, follows, start_ns] {
    if (!IsOpenLoop() && arrivals_.empty()) return false;
    const int64_t at_ns = NextArrivalNs();
    return follows ? at_ns < start_ns : at_ns <= start_ns;
  };
  const uint64_t first_page = durable_bytes_ / kLogPageBytes;
  const uint64_t pages_left = load_.extent_pages - first_page % load_.extent_pages;
  const uint64_t most_bytes = (first_page + std::min(load_.buffer_pages, pages_left)) * kLogPageBytes;
  // What the write has no room for stays outside the buffer: in an open loop, the work between two writes is then
  // bounded by the buffer, not by the backlog of a stall, and places in the stream by what was written.
  const auto has_room = [this, most_bytes] {
    return appended_bytes_ < most_bytes && (waiting_ == 0 || !load_.one_by_one);
  };
  while (has_room() && has_arrived()) Append();

  stop_bytes_ = std::min(appended_bytes_, most_bytes);
  const uint64_t full_bytes = stop_bytes_ / kLogPageBytes * kLogPageBytes;
  if (follows && full_bytes > durable_bytes_) stop_bytes_ = full_bytes;

  in_copy_ = load_.copies_partial_pages && durable_bytes_ % kLogPageBytes != 0;
  if (in_copy_) {
    write_ = {first_page, 1, true};
  } else {
    write_ = {first_page, (stop_bytes_ + kLogPageBytes - 1) / kLogPageBytes - first_page, false};
  }
  return write_;
}

}  // namespace plimsoll
