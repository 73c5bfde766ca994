// The per-second part of StepReporter.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "controller/analysis/step_report.h"

namespace plimsoll {

uint32_t StepReporter::RowsFor(const ScopeSums& sums) const {
  const int64_t seconds = (sums.measured_ns + kNsPerSecond - 1) / kNsPerSecond;
  return std::max(static_cast<uint32_t>(std::min(seconds, kMaxSeriesSeconds)), sums.series.EndSecond());
}

void StepReporter::PlanSeries() {
  const StepShape& shape = stats_.shape();
  const auto seconds =
      static_cast<uint64_t>(std::min((shape.duration_ns + kNsPerSecond - 1) / kNsPerSecond, kMaxSeriesSeconds) + 1);
  uint64_t qms = 0;
  for (const auto& [number, part] : stats_.hosts()) {
    for (const auto& writer : part.writers()) qms += writer ? 1U : 0U;
  }
  const uint64_t hosts = run_.hosts.size();
  const uint64_t cluster_rows = seconds;
  const uint64_t host_rows = 2 * hosts * seconds;  // as many storages as hosts, at most
  const uint64_t qm_rows = qms * seconds;
  const uint64_t left = run_.series_rows_left;
  series_of_cluster_ = cluster_rows <= left;
  series_of_hosts_ = cluster_rows + host_rows <= left;
  series_of_qms_ = cluster_rows + host_rows + qm_rows <= left;
  if (!series_of_qms_) {
    const char* missing = !series_of_cluster_ ? "" : !series_of_hosts_ ? " of single hosts and QMs" : " of single QMs";
    run_.notes.Add("series",
                   absl::StrCat(StepName(), ": the per-second series", missing, " are left out: with more than ",
                                FormatCount(run_.series_rows), " rows nobody could read the report."));
  }
  run_.series_rows_left -=
      (series_of_cluster_ ? cluster_rows : 0) + (series_of_hosts_ ? host_rows : 0) + (series_of_qms_ ? qm_rows : 0);
  if (shape.duration_ns / kNsPerSecond > kMaxSeriesSeconds) {
    run_.notes.Add("series-end", absl::StrCat(StepName(), ": the per-second series end after ",
                                              FormatCount(static_cast<uint64_t>(kMaxSeriesSeconds)),
                                              " s; all other figures cover the whole step."));
  }
}

bool StepReporter::AccountsForRows(const Named& name, const ScopeSums& sums) const {
  const uint64_t rows = sums.series.RowCount(RowsFor(sums));
  const uint64_t untold = rows - std::min(rows, sums.series.frames());
  if (untold <= run_.untold_rows_left) {
    run_.untold_rows_left -= untold;
    return true;
  }
  const std::string who = name.qm > 0          ? absl::StrCat(name.host, "/qm", name.qm, ", ")
                          : !name.host.empty() ? absl::StrCat(name.host, ", ")
                                               : "";
  run_.notes.Add("untold", absl::StrCat(who, StepName(), ": the per-second series is left out: no frame covers ",
                                        FormatCount(untold), " of its ", FormatCount(rows), " seconds."));
  return false;
}

void StepReporter::AddSeries(const Named& name, const ScopeSums& sums, const SecondTable* percentiles) {
  const bool cluster = name.kind == v1::SCOPE_KIND_CLUSTER;
  const bool wanted = cluster ? series_of_cluster_ : name.kind == v1::SCOPE_KIND_QM ? series_of_qms_ : series_of_hosts_;
  if (!wanted || !(cluster ? cluster_rows_told_ : AccountsForRows(name, sums))) return;
  v1::SeriesReport& series = *report_.add_series();
  series.set_kind(name.kind);
  series.set_host(name.host);
  series.set_qm(name.qm);
  series.set_storage(name.storage);
  const uint64_t block_size_bytes = stats_.shape().block_size_bytes;
  uint64_t coalesced_seconds = 0;
  const auto add = [&](uint32_t second, const WriteSums& row, const SecondQuantiles& quantiles) {
    series.add_second(second);
    series.add_writes(row.writes);
    series.add_bytes(row.writes * block_size_bytes);
    series.add_latency_sum_ns(row.latency_sum_ns);
    series.add_latency_max_ns(row.latency_max_ns);
    series.add_p50_ns(quantiles.p50_ns);
    series.add_p99_ns(quantiles.p99_ns);
    series.add_p99_9_ns(quantiles.p99_9_ns);
  };
  const auto mark = [&](int64_t length_ns) -> v1::IrregularRow& {
    v1::IrregularRow& irregular = *series.add_irregular();
    irregular.set_row(static_cast<uint32_t>(series.second_size() - 1));
    irregular.set_length_ns(length_ns);
    return irregular;
  };

  const uint32_t rows = RowsFor(sums);
  sums.series.ForEachRow(rows, [&](const SeriesRow& row) {
    const bool wide = row.first != row.last;
    SecondQuantiles quantiles;
    if (!wide && percentiles != nullptr) quantiles = percentiles->Get(row.first, row.sums.latency_max_ns);
    add(row.first, row.sums, quantiles);
    const int64_t end_ns = std::min((int64_t{row.last} + 1) * kNsPerSecond, sums.measured_ns);
    const int64_t length_ns = std::max<int64_t>(end_ns - int64_t{row.first} * kNsPerSecond, 0);
    if (wide || length_ns != kNsPerSecond) mark(length_ns).set_coalesced(wide);
    if (wide) coalesced_seconds += row.last - row.first + 1;
  });
  if (sums.closing.writes > 0) {
    add(rows, sums.closing, SecondQuantiles{});
    mark(sums.closing_length_ns).set_closing(true);
  }
  if (coalesced_seconds > 0 && name.kind == v1::SCOPE_KIND_HOST) {
    run_.notes.Add("coalesced",
                   absl::StrCat(name.host, ", ", StepName(), ": the results came slower than the writers wrote; of ",
                                FormatCount(coalesced_seconds), " seconds only the averages are known."));
  }
}

}  // namespace plimsoll
