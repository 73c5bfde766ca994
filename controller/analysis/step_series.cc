// The series of a step's report: by second, and where frames are folded by age, by minute.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "controller/analysis/figures.h"
#include "controller/analysis/host_facts.h"
#include "controller/analysis/step_report.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

uint32_t MinutesIn(uint32_t seconds) {
  return (seconds + kSecondsPerMinute - 1) / kSecondsPerMinute;
}

void Reserve(int rows, v1::SeriesReport& series) {
  series.mutable_second()->Reserve(rows);
  for (auto* const column :
       {series.mutable_writes(), series.mutable_bytes(), series.mutable_latency_sum_ns(),
        series.mutable_latency_max_ns(), series.mutable_p50_ns(), series.mutable_p99_ns(), series.mutable_p99_9_ns()}) {
    column->Reserve(rows);
  }
}

}  // namespace

uint32_t StepReporter::RowsFor(const ScopeSums& sums) const {
  const int64_t seconds = (sums.measured_ns + kNsPerSecond - 1) / kNsPerSecond;
  return std::max(static_cast<uint32_t>(std::min(seconds, kMaxSeriesSeconds)), sums.series.EndSecond());
}

uint32_t StepReporter::SecondRowsFor(const StepScope& scope, const ScopeSums& sums) const {
  const uint32_t rows = RowsFor(sums);
  return folded_ && scope.kind != v1::SCOPE_KIND_CLUSTER ? std::min(rows, stats_.folded()->whole_seconds()) : rows;
}

void StepReporter::PlanSeries() {
  const int64_t length_ns = stats_.CoveredNs();
  const auto seconds =
      static_cast<uint64_t>(std::min((length_ns + kNsPerSecond - 1) / kNsPerSecond, kMaxSeriesSeconds) + 1);
  uint64_t qms = 0;
  for (const auto& [number, part] : stats_.hosts()) {
    for (const auto& writer : part.writers()) qms += writer ? 1U : 0U;
  }
  const uint64_t hosts = run_.hosts.size();
  const uint64_t scopes = 2 * hosts;  // as many storages as hosts, at most
  folded_ = stats_.OutlastsWholeSeconds();
  if (folded_) {
    PlanFoldedSeries(seconds, scopes, qms);
  } else {
    const uint64_t cluster_rows = seconds;
    const uint64_t host_rows = scopes * seconds;
    const uint64_t qm_rows = qms * seconds;
    const uint64_t left = run_.series_rows_left;
    series_of_cluster_ = cluster_rows <= left;
    series_of_hosts_ = cluster_rows + host_rows <= left;
    series_of_qms_ = cluster_rows + host_rows + qm_rows <= left;
    run_.series_rows_left -=
        (series_of_cluster_ ? cluster_rows : 0) + (series_of_hosts_ ? host_rows : 0) + (series_of_qms_ ? qm_rows : 0);
  }
  if (!series_of_qms_) {
    const char* missing = !series_of_cluster_ ? "" : !series_of_hosts_ ? " of single hosts and QMs" : " of single QMs";
    run_.notes.Add("series",
                   absl::StrCat(StepName(), ": the per-second series", missing,
                                " are left out: they would have more than ", FormatCount(run_.series_rows), " rows."));
  }
  if (length_ns / kNsPerSecond > kMaxSeriesSeconds) {
    run_.notes.Add("series-end", absl::StrCat(StepName(), ": the per-second series end after ",
                                              FormatCount(static_cast<uint64_t>(kMaxSeriesSeconds)),
                                              " s; all other figures cover the whole step."));
  }
}

void StepReporter::PlanFoldedSeries(uint64_t seconds, uint64_t scopes, uint64_t qms) {
  const uint64_t whole_seconds = stats_.folded()->whole_seconds();
  report_.set_whole_seconds(static_cast<uint32_t>(whole_seconds));
  const uint64_t minutes = seconds / kSecondsPerMinute + 2;
  uint64_t& left = run_.series_rows_left;
  // In the order of what is missed most.
  const auto take = [&left](uint64_t rows) {
    if (rows > left) return false;
    left -= rows;
    return true;
  };
  series_of_cluster_ = take(seconds + minutes);
  minutes_of_hosts_ = series_of_cluster_ && take(scopes * minutes);
  minutes_of_qms_ = minutes_of_hosts_ && take(qms * minutes);
  series_of_hosts_ = minutes_of_hosts_ && take(scopes * whole_seconds);
  series_of_qms_ =
      minutes_of_qms_ && series_of_hosts_ && stats_.folded()->keeps_writer_seconds() && take(qms * whole_seconds);
  run_.notes.Add("minutes",
                 absl::StrCat(StepName(), ": from second ", FormatCount(whole_seconds),
                              " on, percentiles are those of minutes, not of seconds, and series of single hosts and "
                              "QMs have a row a minute."));
  if (minutes_of_qms_) return;
  const char* missing = !series_of_cluster_ ? "" : !minutes_of_hosts_ ? " of single hosts and QMs" : " of single QMs";
  run_.notes.Add("minutes-left-out",
                 absl::StrCat(StepName(), ": the per-minute series", missing,
                              " are left out: they would have more than ", FormatCount(run_.series_rows), " rows."));
}

bool StepReporter::AccountsForRows(const Named& name, const ScopeSums& sums) const {
  const uint64_t rows = sums.series.RowCount(RowsFor(sums));
  const uint64_t unreported = rows - std::min(rows, sums.series.frames());
  if (unreported <= run_.unreported_rows_left) {
    run_.unreported_rows_left -= unreported;
    return true;
  }
  const std::string place = FormatPlace(0, name.host, name.qm, 0, name.queue_manager);
  const std::string who = place.empty() ? "" : absl::StrCat(place, ", ");
  run_.notes.Add("unreported", absl::StrCat(who, StepName(), ": the per-second series is left out: no frame covers ",
                                            FormatCount(unreported), " of its ", FormatCount(rows), " seconds."));
  return false;
}

void StepReporter::AddSeries(const Named& name, const ScopeSums& sums, const StepScope& scope) {
  const bool cluster = name.kind == v1::SCOPE_KIND_CLUSTER;
  const bool minutes = folded_ && HasMinutes(name.kind);
  if (!HasSeries(name.kind) && !minutes) return;
  if (!(cluster ? cluster_rows_reported_ : AccountsForRows(name, sums))) return;
  for (const TimeKind kind : TimeKindsOf(stats_.shape().rated)) {
    const bool response = kind == TimeKind::kResponse;
    if (HasSeries(name.kind)) {
      AddSeriesOf(kind, name, sums, scope,
                  response ? *report_.mutable_response()->mutable_series() : *report_.mutable_series());
    }
    if (minutes) {
      AddMinutesOf(kind, name, sums, scope,
                   response ? *report_.mutable_response()->mutable_minutes() : *report_.mutable_minutes());
    }
  }
}

void StepReporter::AddOperationSeries(const Named& name, const ScopeSums& sums, const StepScope& scope,
                                      v1::OperationReport& operation) {
  const auto add = [&](uint64_t rows, bool minutes) {
    if (rows > run_.operation_rows_left) return;
    run_.operation_rows_left -= rows;
    if (minutes) {
      AddMinutesOf(TimeKind::kService, name, sums, scope, *operation.mutable_minutes());
    } else {
      AddSeriesOf(TimeKind::kService, name, sums, scope, *operation.mutable_series());
    }
  };
  // A row has at least one frame, as that of a write has.
  const uint64_t rows = sums.series.RowCount(RowsFor(sums)) + 1;
  if (rows > sums.series.frames() + 1) return;
  if (folded_ && HasMinutes(scope.kind)) add(MinutesIn(RowsFor(sums)) + 1, /*minutes=*/true);
  const uint64_t in_report = folded_ ? std::min<uint64_t>(rows, SecondRowsFor(scope, sums)) : rows;
  if (HasSeries(scope.kind)) add(in_report, /*minutes=*/false);
}

void StepReporter::AddSeriesOf(TimeKind kind, const Named& name, const ScopeSums& sums, const StepScope& scope,
                               AllSeries& all) {
  const SeriesSpan span{kNsPerSecond, SecondRowsFor(scope, sums), RowsFor(sums)};
  const SecondSeries& series = kind == TimeKind::kResponse ? sums.response_series : sums.series;
  AddRows(kind, span, series, PercentilesOf(scope, kind), name, sums, all);
  if (!folded_) NoteCoalesced(kind, name, sums);
}

void StepReporter::AddMinutesOf(TimeKind kind, const Named& name, const ScopeSums& sums, const StepScope& scope,
                                AllSeries& all) {
  const uint32_t seconds = RowsFor(sums);
  const SeriesSpan span{kSecondsPerMinute * kNsPerSecond, MinutesIn(seconds), seconds};
  const SecondSeries& series = kind == TimeKind::kResponse ? sums.response_series : sums.series;
  AddRows(kind, span, series.ByMinute(), MinutePercentilesOf(scope, kind), name, sums, all);
  NoteCoalesced(kind, name, sums);
}

void StepReporter::NoteCoalesced(TimeKind kind, const Named& name, const ScopeSums& sums) {
  if (name.kind != v1::SCOPE_KIND_HOST || kind == TimeKind::kResponse) return;
  uint64_t coalesced_seconds = 0;
  if (folded_) {
    coalesced_seconds = sums.series.Extremes(RowsFor(sums)).averaged_seconds;
  } else {
    sums.series.ForEachRow(RowsFor(sums), [&coalesced_seconds](const SeriesRow& row) {
      if (row.first != row.last) coalesced_seconds += row.last - row.first + 1;
    });
  }
  if (coalesced_seconds == 0) return;
  run_.notes.Add("coalesced",
                 absl::StrCat(name.host, ", ", StepName(), ": the results came slower than the writers wrote; of ",
                              FormatCount(coalesced_seconds), " seconds only the averages are known."));
}

void StepReporter::AddRows(TimeKind kind, const SeriesSpan& span, const SecondSeries& rows,
                           const SecondTable* percentiles, const Named& name, const ScopeSums& sums, AllSeries& all) {
  v1::SeriesReport& series = *all.Add();
  series.set_kind(name.kind);
  series.set_host(name.host);
  series.set_qm(name.qm);
  series.set_storage(name.storage);
  if (folded_) Reserve(static_cast<int>(span.rows) + 1, series);
  bool sums_known = true;
  const auto add = [&](uint32_t second, const WriteSums& row, const SecondQuantiles& quantiles) {
    series.add_second(second);
    series.add_writes(row.writes);
    series.add_bytes(row.bytes);
    series.add_latency_sum_ns(row.latency_sum_ns);
    sums_known = sums_known && row.latency_sum_ns <= static_cast<uint64_t>(INT64_MAX);
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

  rows.ForEachRow(span.rows, [&](const SeriesRow& row) {
    const bool wide = row.first != row.last;
    SecondQuantiles quantiles;
    if (!wide && percentiles != nullptr) quantiles = percentiles->Get(row.first, row.sums.latency_max_ns);
    const int64_t begin_ns = int64_t{row.first} * span.row_ns;
    add(static_cast<uint32_t>(begin_ns / kNsPerSecond), row.sums, quantiles);
    const int64_t end_ns = std::min((int64_t{row.last} + 1) * span.row_ns, sums.measured_ns);
    const int64_t length_ns = std::max<int64_t>(end_ns - begin_ns, 0);
    if (wide || length_ns != span.row_ns) mark(length_ns).set_coalesced(wide);
  });
  const bool to_end = int64_t{span.rows} * span.row_ns >= int64_t{span.end_second} * kNsPerSecond;
  if (sums.closing.writes > 0 && to_end) {
    add(span.end_second, kind == TimeKind::kResponse ? sums.response_closing : sums.closing, SecondQuantiles{});
    mark(sums.closing_length_ns).set_closing(true);
  }
  if (!sums_known) series.clear_latency_sum_ns();
}

const SecondTable* StepReporter::PercentilesOf(const StepScope& scope, TimeKind kind) const {
  if (scope.operation != kMainOperation) return nullptr;
  switch (scope.kind) {
    case v1::SCOPE_KIND_QM:
      return &scope.part->percentiles(kind).qm(scope.qm);
    case v1::SCOPE_KIND_HOST:
      return &scope.part->percentiles(kind).host();
    case v1::SCOPE_KIND_STORAGE:
      return StoragePercentiles(scope.storage, stats_.percentiles(kind),
                                [kind](const HostStep& part) { return &part.percentiles(kind).host(); });
    default:
      return &stats_.percentiles(kind).cluster();
  }
}

const SecondTable* StepReporter::MinutePercentilesOf(const StepScope& scope, TimeKind kind) const {
  if (scope.operation != kMainOperation) return nullptr;
  const StepPercentiles& minutes = stats_.folded()->minutes(kind);
  switch (scope.kind) {
    case v1::SCOPE_KIND_QM:
      return &scope.part->folded()->minutes(kind).qm(scope.qm);
    case v1::SCOPE_KIND_HOST:
      return &scope.part->folded()->minutes(kind).host();
    case v1::SCOPE_KIND_STORAGE:
      return StoragePercentiles(scope.storage, minutes,
                                [kind](const HostStep& part) { return &part.folded()->minutes(kind).host(); });
    default:
      return &minutes.cluster();
  }
}

const SecondTable* StepReporter::StoragePercentiles(
    uint32_t storage, const StepPercentiles& all,
    const std::function<const SecondTable*(const HostStep& part)>& of_host) const {
  std::set<uint32_t> members;
  for (const auto& [number, facts] : run_.hosts) {
    if (facts.storage == storage && stats_.hosts().contains(number)) members.insert(number);
  }
  if (members.size() == 1) return of_host(stats_.hosts().at(*members.begin()));
  if (members.size() == stats_.hosts().size()) return &all.cluster();
  return all.Storage(members);
}

void StepReporter::AddSeconds(const ScopeSums& cluster) {
  if (folded_) return AddMinuteDistributions(cluster);
  const bool too_long = stats_.shape().one_pass && cluster.measured_ns > kMaxDistributionSeconds * kNsPerSecond;
  if (!stats_.percentiles().keeps_seconds() || too_long) {
    run_.notes.Add("seconds", absl::StrCat(StepName(),
                                           ": how the latencies of each second are distributed is left out: "
                                           "a step is longer than ",
                                           FormatCount(static_cast<uint64_t>(kMaxDistributionSeconds)),
                                           " s, or all steps together than ",
                                           FormatCount(static_cast<uint64_t>(kDistributionSeconds)), " s."));
    return;
  }
  if (!series_of_cluster_ || !cluster_rows_reported_) return;
  for (const TimeKind kind : TimeKindsOf(stats_.shape().rated)) {
    AppendDistributions(
        stats_.percentiles(kind), cluster.series, RowsFor(cluster), /*row_seconds=*/1,
        kind == TimeKind::kService ? *report_.mutable_seconds() : *report_.mutable_response()->mutable_seconds());
  }
}

void StepReporter::AddMinuteDistributions(const ScopeSums& cluster) {
  if (!series_of_cluster_ || !cluster_rows_reported_) return;
  const SecondSeries minutes = cluster.series.ByMinute();
  for (const TimeKind kind : TimeKindsOf(stats_.shape().rated)) {
    AppendDistributions(stats_.folded()->minutes(kind), minutes, MinutesIn(RowsFor(cluster)), kSecondsPerMinute,
                        kind == TimeKind::kService ? *report_.mutable_minute_distributions()
                                                   : *report_.mutable_response()->mutable_minute_distributions());
  }
}

void StepReporter::AppendDistributions(const StepPercentiles& percentiles, const SecondSeries& series, uint32_t rows,
                                       uint32_t row_seconds, v1::SecondDistributionsReport& report) {
  const SecondTable& table = percentiles.cluster();
  series.ForEachRow(rows, [&](const SeriesRow& row) {
    const bool known = table.closed(row.first) || row.sums.writes == 0;
    if (row.first != row.last || !known || table.spoilt(row.first)) return;
    percentiles.seconds().Append(row.first, report, row_seconds);
  });
}

}  // namespace plimsoll
