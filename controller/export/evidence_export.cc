// The evidence that a storage vendor is given: facts of the run, its slowest writes and its stalls, each with when and
// where it was, and what the kernel counted around it.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/export/evidence_rows.h"
#include "controller/export/formats.h"
#include "controller/export/shown_commands.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

// Value of an option of a mount, "clientaddr" of "rw,hard,clientaddr=10.0.0.11"; empty: it is not among them.
std::string MountOption(const std::string& options, const std::string& name) {
  for (const absl::string_view option : absl::StrSplit(options, ',')) {
    absl::string_view value = option;
    if (absl::ConsumePrefix(&value, name) && absl::ConsumePrefix(&value, "=")) return std::string(value);
  }
  return "";
}

// What a row needs to be printed.
struct RowContext {
  const RunIndex& index;
  const EvidenceRow& row;
  const IndexedWriter& writer;
  const v1::HostReport& host;
  const v1::MountReport& mount;
};

std::string KnownCell(uint64_t number) {
  return number == 0 ? std::string() : CsvCell(number);
}

std::string UtcOf(const RunIndex& index, int64_t timeline_ns) {
  return FormatMoment(index.timeline().ToUtc(timeline_ns));
}

// By how much a counter rose; nothing if it went back.
std::optional<uint64_t> RiseOf(uint64_t before, uint64_t after) {
  return after < before ? std::nullopt : std::optional(after - before);
}

std::string RiseCell(uint64_t before, uint64_t after) {
  const std::optional<uint64_t> rise = RiseOf(before, after);
  return rise.has_value() ? CsvCell(*rise) : std::string();
}

// The average of a time over operations; empty if there was none.
std::string AverageCell(std::pair<uint64_t, uint64_t> time_ms, std::pair<uint64_t, uint64_t> operations) {
  const std::optional<uint64_t> time = RiseOf(time_ms.first, time_ms.second);
  const std::optional<uint64_t> count = RiseOf(operations.first, operations.second);
  if (!time.has_value() || count.value_or(0) == 0) return "";
  return CsvCell(static_cast<double>(*time) / static_cast<double>(*count));
}

using EvidenceTable = CsvTable<RowContext>;

void AddOperationColumns(EvidenceTable& table) {
  const auto is_stall = [](const RowContext& at) { return at.row.kind == EvidenceRow::Kind::kStall; };
  table.Column("kind", [](const RowContext& at) {
    return std::string(at.row.kind == EvidenceRow::Kind::kWrite  ? "write"
                       : at.row.kind == EvidenceRow::Kind::kRead ? "read"
                                                                 : "stall");
  });
  table.Column("step", [](const RowContext& at) { return CsvCell(uint64_t{at.row.step} + 1); });
  table.Column("utc", [](const RowContext& at) { return UtcOf(at.index, at.row.start_ns); });
  table.Column("error_ns",
               [](const RowContext& at) { return at.row.error_ns < 0 ? std::string() : CsvCell(at.row.error_ns); });
  table.Column("utc_error_ns", [](const RowContext& at) {
    const v1::TimeStatus& time = at.index.run().controller().time();
    if (at.row.error_ns < 0 || !time.synchronized()) return std::string();
    return CsvCell(static_cast<uint64_t>(at.row.error_ns) + time.max_error_ns());
  });
  table.Column("host", [](const RowContext& at) { return CsvCell(at.host.label()); });
  table.Column("client_address",
               [](const RowContext& at) { return CsvCell(MountOption(at.mount.mount_options(), "clientaddr")); });
  table.Column("server_address",
               [](const RowContext& at) { return CsvCell(MountOption(at.mount.mount_options(), "addr")); });
  table.Column("qm", [](const RowContext& at) { return CsvCell(uint64_t{at.writer.qm}); });
  table.Column("queue_manager", [](const RowContext& at) {
    const auto& placed = at.host.queue_managers();
    return at.writer.qm > static_cast<uint32_t>(placed.size())
               ? std::string()
               : CsvCell(placed.at(static_cast<int>(at.writer.qm) - 1).name());
  });
  table.Column("seq", [](const RowContext& at) { return KnownCell(at.row.seq); });
  table.Column("file", [](const RowContext& at) { return CsvCell(at.row.file); });
  table.Column("offset", [](const RowContext& at) {
    return at.row.offset.has_value() ? CsvCell(*at.row.offset) : std::string();
  });
  table.Column("bytes", [](const RowContext& at) { return KnownCell(at.row.bytes); });
  table.Column("latency_ns", [](const RowContext& at) { return CsvCell(at.row.length_ns); });
  table.Column("stall", [is_stall](const RowContext& at) {
    return is_stall(at) ? CsvCell(uint64_t{at.row.stall_number}) : std::string();
  });
  table.Column("stall_class", [is_stall](const RowContext& at) {
    return is_stall(at) ? EnumName(*v1::StallClass_descriptor(), at.row.stall->stall_class()) : std::string();
  });
  table.Column("stall_writes", [is_stall](const RowContext& at) {
    return is_stall(at) ? KnownCell(at.row.stalled->writes()) : std::string();
  });
  table.Column("unaffected_hosts", [is_stall](const RowContext& at) {
    return is_stall(at) ? CsvCell(absl::StrJoin(at.row.stall->others(), " ")) : std::string();
  });
}

// A column that is empty unless samples of the host cover the row.
void AddCounterColumn(const std::string& name, const std::function<std::string(const CounterWindow&)>& cell,
                      EvidenceTable& table) {
  table.Column(name,
               [cell](const RowContext& at) { return at.row.counters.closed ? cell(at.row.counters) : std::string(); });
}

void AddNfsColumns(const std::string& name, const v1::NfsOperation& (*get)(const v1::NfsCounters&),
                   EvidenceTable& table) {
  const auto add = [&](const std::string& figure, auto cell) {
    AddCounterColumn(
        absl::StrCat("nfs_", name, "_", figure),
        [get, cell](const CounterWindow& window) {
          return window.after.has_nfs() ? cell(get(window.before.nfs()), get(window.after.nfs())) : std::string();
        },
        table);
  };
  const auto average = [](uint64_t (v1::NfsOperation::*time_ms)() const) {
    return [time_ms](const v1::NfsOperation& before, const v1::NfsOperation& after) {
      return AverageCell({(before.*time_ms)(), (after.*time_ms)()}, {before.operations(), after.operations()});
    };
  };
  add("ops", [](const v1::NfsOperation& before, const v1::NfsOperation& after) {
    return RiseCell(before.operations(), after.operations());
  });
  add("retransmissions", [](const v1::NfsOperation& before, const v1::NfsOperation& after) {
    const std::optional<uint64_t> sent = RiseOf(before.transmissions(), after.transmissions());
    const std::optional<uint64_t> done = RiseOf(before.operations(), after.operations());
    if (!sent.has_value() || !done.has_value()) return std::string();
    return CsvCell(*sent - std::min(*sent, *done));
  });
  add("timeouts", [](const v1::NfsOperation& before, const v1::NfsOperation& after) {
    return RiseCell(before.timeouts(), after.timeouts());
  });
  add("queue_ms", average(&v1::NfsOperation::queue_ms));
  add("round_trip_ms", average(&v1::NfsOperation::round_trip_ms));
  add("execute_ms", average(&v1::NfsOperation::execute_ms));
}

void AddDiskColumns(EvidenceTable& table) {
  const auto add = [&table](const std::string& name, auto cell) {
    AddCounterColumn(
        name,
        [cell](const CounterWindow& window) {
          return window.after.has_disk() ? cell(window, window.before.disk(), window.after.disk()) : std::string();
        },
        table);
  };
  using Disk = v1::DiskCounters;
  add("disk", [](const CounterWindow&, const Disk&, const Disk& after) { return CsvCell(after.device()); });
  add("disk_writes", [](const CounterWindow&, const Disk& before, const Disk& after) {
    return RiseCell(before.writes(), after.writes());
  });
  add("disk_write_ms", [](const CounterWindow&, const Disk& before, const Disk& after) {
    return AverageCell({before.write_time_ms(), after.write_time_ms()}, {before.writes(), after.writes()});
  });
  add("disk_flushes", [](const CounterWindow&, const Disk& before, const Disk& after) {
    return RiseCell(before.flushes(), after.flushes());
  });
  add("disk_flush_ms", [](const CounterWindow&, const Disk& before, const Disk& after) {
    return AverageCell({before.flush_time_ms(), after.flush_time_ms()}, {before.flushes(), after.flushes()});
  });
  add("disk_busy_percent", [](const CounterWindow& window, const Disk& before, const Disk& after) {
    const std::optional<uint64_t> busy_ms = RiseOf(before.busy_ms(), after.busy_ms());
    const int64_t length_ns = window.end_ns - window.begin_ns;
    if (!busy_ms.has_value() || length_ns <= 0) return std::string();
    return CsvCell(100.0 * static_cast<double>(*busy_ms) * kNsPerMs / static_cast<double>(length_ns));
  });
}

EvidenceTable MakeEvidenceTable(const RunIndex& index) {
  EvidenceTable table;
  AddOperationColumns(table);
  table.Column("counters_from_utc", [](const RowContext& at) {
    return at.row.counters.closed ? UtcOf(at.index, at.row.counters.begin_ns) : std::string();
  });
  table.Column("counters_to_utc", [](const RowContext& at) {
    return at.row.counters.closed ? UtcOf(at.index, at.row.counters.end_ns) : std::string();
  });
  AddNfsColumns("write", [](const v1::NfsCounters& nfs) -> const v1::NfsOperation& { return nfs.write(); }, table);
  AddNfsColumns("commit", [](const v1::NfsCounters& nfs) -> const v1::NfsOperation& { return nfs.commit(); }, table);
  if (index.HasReads()) {
    AddNfsColumns("read", [](const v1::NfsCounters& nfs) -> const v1::NfsOperation& { return nfs.read(); }, table);
  }
  AddDiskColumns(table);
  AddCounterColumn(
      "cpu_wait_ms",
      [](const CounterWindow& window) {
        const auto wait_ns = RiseOf(window.before.writer_cpu_wait_ns(), window.after.writer_cpu_wait_ns());
        return wait_ns.has_value() ? CsvCell(static_cast<double>(*wait_ns) / kNsPerMs) : std::string();
      },
      table);
  AddCounterColumn(
      "scheduling_delay_max_ms",
      [](const CounterWindow& window) { return CsvCell(static_cast<double>(window.recorder_late_max_ns) / kNsPerMs); },
      table);
  return table;
}

// The lines above the table, each after "# ".
class Head {
 public:
  void Add(const std::string& name, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&text_, "# ", name, ": ", SanitizeForTerminal(value), "\r\n");
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string HostFactsText(const v1::HostReport& host) {
  const v1::ClockReport& clock = host.clock();
  std::vector<std::string> facts = {absl::StrCat("agent at ", host.address()),
                                    absl::StrCat("plimsoll-agent ", host.version())};
  if (host.has_node()) facts.push_back(absl::StrCat("node ", host.node()));
  if (host.has_program_sha256()) facts.push_back(absl::StrCat("SHA-256 ", host.program_sha256()));
  facts.push_back(host.kernel());
  facts.push_back(clock.probes() == 0 ? "no clock probe was answered"
                                      : absl::StrCat("moments within \u00b1", FormatShortTime(clock.error_ns()),
                                                     " of the controller's clock"));
  facts.push_back(clock.time_synchronized() ? absl::StrCat("own clock synchronised, maximum error ",
                                                           FormatShortTime(static_cast<int64_t>(clock.time_error_ns())))
                                            : "own clock not synchronised");
  return absl::StrJoin(facts, "; ");
}

std::string MountFactsText(const v1::MountReport& mount) {
  return absl::StrCat(mount.directory(), " is ", mount.fs_type(), " from ",
                      mount.remote().empty() ? mount.fs_source() : mount.remote(), ", mounted on ", mount.mount_point(),
                      " with ", mount.mount_options());
}

uint64_t UntracedIn(const RunIndex& index, const WriteFilter& filter) {
  uint64_t untraced = 0;
  for (const auto& [step, counts] : index.untraced()) {
    if (!filter.step || *filter.step == step) untraced += counts.measured;
  }
  return untraced;
}

void AddStepLines(const RunIndex& index, const WriteFilter& filter, Head& head) {
  for (const v1::StepReport& step : index.report().steps()) {
    if (step.number() == 0 || (filter.step && *filter.step != step.number() - 1)) continue;
    const v1::StallsReport& stalls = step.stalls();
    const auto shown = static_cast<uint64_t>(stalls.stalls_size());
    head.Add(absl::StrCat("step ", step.number()),
             absl::StrCat(FormatBlockSize(step.block_size_bytes()), " from ", FormatMoment(step.start()), " for ",
                          FormatShortTime(step.measured_ns()), "; ", Counted(stalls.count(), "stall"),
                          shown < stalls.count() ? absl::StrCat(", the ", shown, " longest below") : ""));
  }
}

std::string HeadOf(const RunIndex& index, const WriteFilter& filter, size_t slowest, uint64_t operations) {
  const v1::Report& report = index.report();
  const v1::RunReport& run = report.run();
  Head head;
  head.Add("Plimsoll evidence",
           "format 1; slowest operations and stalls, and what the hosts' kernels counted around them");
  head.Add("run", run.id());
  head.Add("name", run.name());
  head.Add("change", report.plan().change());
  head.Add("operator", report.plan().operator_());
  head.Add("began", FormatMoment(run.begin()));
  head.Add("ended", FormatMoment(run.end()));
  head.Add("verdict", OutcomeText(report.verdict()));
  head.Add("controller", run.controller().has_program_sha256() ? ProgramText(run.controller(), run.version())
                                                               : absl::StrCat("plimsoll ", run.version()));
  head.Add("command", WithoutArgumentsOfCommands(run.controller().command()));
  head.Add("utc", run.controller().has_time()
                      ? UtcErrorText(run.controller())
                      : "how far UTC times are off is not known. Measured latencies do not depend on it.");
  for (const v1::HostReport& host : report.hosts()) {
    head.Add(absl::StrCat("host ", host.label()), HostFactsText(host));
    for (const v1::MountReport& mount : MountsOf(host)) {
      if (!mount.fs_type().empty()) head.Add(absl::StrCat("storage of ", host.label()), MountFactsText(mount));
    }
  }
  AddStepLines(index, filter, head);
  const uint64_t untraced = UntracedIn(index, filter);
  head.Add("slowest",
           absl::StrCat("the ", operations, " slowest ", index.OperationsText(), " (at most ", slowest, ")",
                        untraced == 0 ? std::string()
                                      : absl::StrCat("; ", FormatCount(untraced),
                                                     " have no trace: of these, the slowest of each interval and the "
                                                     "ten slowest of each queue manager and step")));
  JsonWriter plan(/*compact=*/true);
  WriteJson(WithoutArgumentsOfCommands(report.plan()), plan);
  head.Add("plan", plan.Take());
  return head.text();
}

}  // namespace

absl::StatusOr<uint64_t> ExportEvidence(const RunIndex& index, const WriteFilter& filter, size_t slowest,
                                        WriteStream& writes, Output& output) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<EvidenceRow> rows, CollectEvidence(index, filter, writes, slowest));
  PLIMSOLL_RETURN_IF_ERROR(AddCounters(index, rows));
  const auto operations = static_cast<uint64_t>(
      std::ranges::count_if(rows, [](const EvidenceRow& row) { return row.kind != EvidenceRow::Kind::kStall; }));
  PLIMSOLL_RETURN_IF_ERROR(output.Append(HeadOf(index, filter, slowest, operations)));
  const EvidenceTable table = MakeEvidenceTable(index);
  PLIMSOLL_RETURN_IF_ERROR(output.Append(table.Heading()));
  const v1::HostReport unknown;
  for (const EvidenceRow& row : rows) {
    const IndexedWriter& writer = index.writers()[row.writer];
    const auto host = std::ranges::find(index.report().hosts(), writer.host, &v1::HostReport::number);
    const v1::HostReport& known = host == index.report().hosts().end() ? unknown : *host;
    PLIMSOLL_RETURN_IF_ERROR(output.Append(table.Line({index, row, writer, known, MountOfWriter(known, writer.qm)})));
  }
  return rows.size();
}

}  // namespace plimsoll
