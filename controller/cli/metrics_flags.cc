#include "controller/cli/metrics_flags.h"

#include <ostream>
#include <utility>

#include "common/posix.h"
#include "common/text.h"
#include "controller/cli/command.h"
#include "controller/cli/outputs.h"
#include "controller/journal/results.h"
#include "controller/render/prometheus_text.h"

namespace plimsoll {

void MetricsFlags::AddTo(CLI::App& command) {
  AddValue(
      command, "--metrics", "PORT", address,
      "Serve the run's figures to Prometheus at /metrics of this port, on loopback, or of ADDRESS:PORT (0: any free "
      "port)");
  AddOutputFile(
      command, "--metrics-file", file,
      "Also write the verdict and each step's figures in Prometheus' text format, for node_exporter's textfile "
      "collector");
}

absl::Status MetricsFlags::Open(Console& console) {
  if (!address.empty()) {
    absl::StatusOr<std::unique_ptr<MetricsServer>> server = MetricsServer::Listen(address);
    if (!server.ok()) return WithContext("--metrics", server.status());
    server_ = *std::move(server);
    console.err << "plimsoll: metrics are at " << SanitizeForTerminal(server_->url()) << std::endl;
  }
  return file.empty() ? absl::OkStatus() : WriteFile(file, RenderUnfinishedMetrics());
}

void MetricsFlags::Serve(Of of) {
  if (server_ == nullptr || view_ != nullptr) return;
  view_ = std::make_shared<LiveMetrics>(of == Of::kPart);
  server_->Serve([view = view_] { return RenderMetrics(view->Snapshot()); });
}

void MetricsFlags::Show(Of of, PlanRun& how) {
  if (of == Of::kRun) how.metrics_file = file;
  Serve(of);
  if (view_ != nullptr) how.views.push_back(view_);
}

absl::Status MetricsFlags::ShowEnd(v1::Outcome outcome, const std::string& text) const {
  if (view_ != nullptr) view_->SetOutcome(outcome);
  return file.empty() ? absl::OkStatus() : WriteFile(file, text);
}

}  // namespace plimsoll
