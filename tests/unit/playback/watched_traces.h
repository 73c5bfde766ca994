// Journals of watches with the moment and the size of each log write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol.h"
#include "common/trace.h"
#include "plimsoll/v1/journal.pb.h"
#include "tests/unit/analysis/journal_builder.h"
#include "tests/unit/analysis/watched_journal.h"

namespace plimsoll::tests {

// Size of a write by its number in the step of its writer, from 1.
using SizeOfWrite = std::function<uint64_t(uint64_t number)>;

// One to nine pages.
inline uint64_t WholePages(uint64_t number) {
  return 4096 * (1 + number % 9);
}

// Gives each write of a journal that AsWatch made of `run` a size, and the frames their traces.
inline void AddSizedTraces(const SimRun& run, const SizeOfWrite& size_of, std::vector<v1::JournalRecord>& records) {
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> bytes;
  for (v1::JournalRecord& record : records) {
    if (record.has_frames()) {
      const uint32_t number = record.frames().host();
      for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
        if (frame.operation() != kMainOperation || frame.first_seq() == 0) continue;
        const SimWriter& writes = run.hosts.at(number).steps.at(0).at(frame.qm() - 1);
        const size_t first = frame.first_seq() - 1;
        const int64_t zero_ns = frame.first_start_ns() - writes.at(first).start_ns;
        std::set<uint64_t> different = {1, 2};
        for (size_t i = 0; i < frame.latency().count(); ++i) different.insert(size_of(first + i + 1));
        const std::vector<uint64_t> sizes(different.begin(), different.end());
        TraceEncoder encoder(sizes);
        uint64_t frame_bytes = 0;
        for (size_t i = 0; i < frame.latency().count(); ++i) {
          const SimWrite& write = writes.at(first + i);
          const uint64_t size = size_of(first + i + 1);
          const auto place = std::lower_bound(sizes.begin(), sizes.end(), size) - sizes.begin();
          encoder.Add(zero_ns + write.start_ns, static_cast<uint64_t>(write.latency_ns), static_cast<uint32_t>(place));
          frame_bytes += size;
        }
        frame.add_trace(encoder.Finish());
        frame.set_bytes(frame_bytes);
        bytes[{number, frame.qm()}] += frame_bytes;
      }
    } else if (record.has_step_done()) {
      const uint32_t number = record.step_done().host();
      for (v1::WriterTotals& totals : *record.mutable_step_done()->mutable_done()->mutable_writers()) {
        if (totals.operation() == kMainOperation) totals.set_bytes(bytes[{number, totals.qm()}]);
      }
    }
  }
}

// Two hosts of an HA pair for two seconds: QM1 and QM2 are active on alpha and write once a millisecond and twice as
// seldom, their standby instances on beta write nothing. The clock of alpha is ahead.
inline SimRun WatchedPair() {
  SimRun run;
  run.duration_ns = 2 * kNsPerSecond;
  SimHost& active = run.hosts.emplace_back();
  active.label = "alpha";
  active.clock_ahead_ns = 100'000 * kNsPerSecond;
  active.steps = {{Steady(run.duration_ns, 700'000, 300'000), Steady(run.duration_ns, 700'000, 1'300'000)}};
  SimHost& standby = run.hosts.emplace_back();
  standby.label = "beta";
  standby.steps = {{{}, {}}};
  return run;
}

inline WatchedRun WatchedTwoQueueManagers() {
  WatchedRun watched;
  watched.watch.add_queue_managers("QM1");
  watched.watch.add_queue_managers("QM2");
  return watched;
}

}  // namespace plimsoll::tests
