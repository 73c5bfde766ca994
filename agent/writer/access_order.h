// The places of a step's operations, and the pauses between them. Only for steps that do not write sequentially and
// without a pause, as a log is written.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/writer/log_files.h"
#include "common/block_access.h"

namespace plimsoll {

// The pause after each operation: a percentage of the mean latency of the operations of its kind so far. Not
// thread-safe.
class MeanPause {
 public:
  // `percent` 0: no pause.
  explicit MeanPause(double percent) : share_(percent / 100) {}

  // Takes the latency of the next operation, and returns the pause after it in nanoseconds.
  int64_t After(bool is_read, uint64_t latency_ns) {
    if (share_ <= 0) return 0;
    Sum& sum = is_read ? reads_ : writes_;
    sum.latency_ns += static_cast<double>(latency_ns);
    ++sum.operations;
    return static_cast<int64_t>(sum.latency_ns / static_cast<double>(sum.operations) * share_);
  }

 private:
  struct Sum {
    double latency_ns = 0;
    uint64_t operations = 0;
  };

  double share_;
  Sum writes_;
  Sum reads_;
};

// The places of a step's operations, in their order. Not thread-safe.
class OperationPlaces {
 public:
  // `layout` and `first_block` are those of ExtentWalk. `access` must outlive the object; null for a log. In a random
  // order all blocks have the layout's size.
  OperationPlaces(const ExtentLayout& layout, uint64_t first_block, const Access* access)
      : layout_(layout),
        walk_(layout, first_block),
        access_(access != nullptr && access->random() ? access : nullptr) {}

  // Place of the next operation, which has `bytes`.
  BlockPlace Take(uint64_t bytes) { return access_ == nullptr ? walk_.Take(bytes) : TakeRandom(); }

  // Returns how often the walk has returned to the first extent. Always 0 in a random order.
  uint64_t laps() const { return walk_.laps(); }

 private:
  [[gnu::noinline]] BlockPlace TakeRandom() {
    if (!order_ || at_ == order_->count()) {
      order_ = access_->OrderOf(passes_++, layout_.blocks_per_lap());
      at_ = 0;
    }
    return layout_.PlaceOf(order_->At(at_++));
  }

  ExtentLayout layout_;
  ExtentWalk walk_;
  const Access* access_;
  std::optional<RandomOrder> order_;
  uint64_t at_ = 0;
  uint64_t passes_ = 0;
};

}  // namespace plimsoll
