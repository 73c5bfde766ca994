// --metrics and --metrics-file: a run, while it is under way and at its end, for Prometheus.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "controller/app/console.h"
#include "controller/app/runs.h"
#include "controller/metrics/live_metrics.h"
#include "controller/metrics/metrics_server.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

struct MetricsFlags {
  // Options of `command`, which must not outlive the object.
  void AddTo(CLI::App& command);

  // Call before anything is made: listens where --metrics says, which it prints, and takes an earlier verdict out of
  // the file of --metrics-file. No thread is started yet. INVALID_ARGUMENT "--metrics: ...".
  absl::Status Open(Console& console);

  enum class Of { kRun, kPart };
  // Starts to answer, on a thread of its own. Nothing happens without --metrics, or the second time.
  void Serve(Of of);
  // Makes a run, or a part of an acceptance, show itself; it is served from then on.
  void Show(Of of, PlanRun& how);
  // The end of an acceptance of which parts were shown. `text`: for the file.
  absl::Status ShowEnd(v1::Outcome outcome, const std::string& text) const;

  // ADDRESS:PORT and FILE are empty unless given.
  std::string address;
  std::string file;

 private:
  // Null without --metrics; the view is there from Serve on.
  std::shared_ptr<MetricsServer> server_;
  std::shared_ptr<LiveMetrics> view_;
};

}  // namespace plimsoll
