// The lines of a watch while it is under way.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "controller/live/live_feed.h"
#include "controller/render/watch_lines.h"

namespace plimsoll {

// Prints the lines of WatchLines as soon as their interval is complete. Records come on the thread that drives the run,
// in the order in which the journal has them.
class WatchView final : public LiveObserver {
 public:
  // `print` takes one line, without its break.
  WatchView(int64_t interval_ns, uint32_t histogram_rows, std::function<void(const std::string& line)> print)
      : lines_(interval_ns, histogram_rows), print_(std::move(print)) {}

  void OnRecord(const v1::JournalRecord& record) override {
    for (const std::string& line : lines_.Take(record)) print_(line);
  }

 private:
  WatchLines lines_;
  const std::function<void(const std::string& line)> print_;
};

}  // namespace plimsoll
