#include "controller/render/mqldt.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/units.h"
#include "controller/render/csv.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

// A step as mqldt sees it.
struct MqldtFigures {
  uint64_t writes = 0;
  uint64_t iops = 0;
  uint64_t bytes = 0;
  uint64_t max_bytes_per_second = 0;
  uint64_t min_bytes_per_second = 0;
  uint64_t avg_bytes_per_second = 0;
  uint64_t max_latency_ns = 0;
  uint64_t max_write = 0;  // its number; 0: not known
  uint64_t min_latency_ns = 0;
  uint64_t min_write = 0;
  uint64_t avg_latency_ns = 0;
  uint64_t slowest_bytes_per_second = 0;
  uint64_t fastest_bytes_per_second = 0;
};

uint64_t Rounded(double value) {
  return std::isfinite(value) && value > 0 ? static_cast<uint64_t>(std::llround(value)) : 0;
}

// Bytes per second if every write took that long; 0 where there was none.
uint64_t BandwidthAt(uint64_t block_size_bytes, uint64_t latency_ns) {
  if (latency_ns == 0) return 0;
  return Rounded(static_cast<double>(block_size_bytes) * static_cast<double>(kNsPerSecond) /
                 static_cast<double>(latency_ns));
}

// `value` of the scope's whole seconds; over the whole step where that was shorter than one.
uint64_t OverSeconds(const v1::ScopeReport& scope, double value) {
  return Rounded(scope.bandwidth().seconds() > 0 ? value : scope.mb_per_second() * kBytesPerMegabyte);
}

uint64_t MostOfSecond(const v1::ScopeReport& scope) {
  return OverSeconds(scope, static_cast<double>(scope.bandwidth().max_bytes_per_second()));
}

uint64_t LeastOfSecond(const v1::ScopeReport& scope) {
  return OverSeconds(scope, static_cast<double>(scope.bandwidth().min_bytes_per_second()));
}

MqldtFigures FiguresOf(const v1::StepReport& step, bool of_single_qms) {
  MqldtFigures figures;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (const v1::ScopeReport& scope :
       OfKind(step.scopes(), of_single_qms ? v1::SCOPE_KIND_QM : v1::SCOPE_KIND_CLUSTER)) {
    figures.max_bytes_per_second = std::max(figures.max_bytes_per_second, MostOfSecond(scope));
    least = std::min(least, LeastOfSecond(scope));
  }
  if (least != std::numeric_limits<uint64_t>::max()) figures.min_bytes_per_second = least;
  const v1::ScopeReport* const cluster = ClusterOf(step);
  if (cluster == nullptr) return figures;
  figures.writes = cluster->writes();
  figures.iops = Rounded(cluster->iops());
  figures.bytes = cluster->bytes();
  figures.avg_bytes_per_second = OverSeconds(*cluster, cluster->bandwidth().avg_bytes_per_second());
  figures.max_latency_ns = cluster->latency().max_ns();
  figures.max_write = cluster->slowest().number();
  figures.min_latency_ns = cluster->latency().min_ns();
  figures.min_write = cluster->fastest_number();
  figures.avg_latency_ns = Rounded(cluster->latency().avg_ns());
  figures.slowest_bytes_per_second = BandwidthAt(step.block_size_bytes(), cluster->latency().max_ns());
  figures.fastest_bytes_per_second = BandwidthAt(step.block_size_bytes(), cluster->latency().min_ns());
  return figures;
}

constexpr absl::string_view kWrites = "Total writes to files";
constexpr absl::string_view kBytes = "Total bytes written to files";
constexpr absl::string_view kMaxOfSecond = "Max bytes/sec written to files (over 1 sec interval)";
constexpr absl::string_view kMinOfSecond = "Min bytes/sec written to files (over 1 sec interval)";
constexpr absl::string_view kAvg = "Avg bytes/sec written to files";
constexpr absl::string_view kMaxOfQmSecond = "Max bytes/sec written to files by a single qm (over 1 sec interval)";
constexpr absl::string_view kMinOfQmSecond = "Min bytes/sec written to files by a single qm (over 1 sec interval)";
constexpr absl::string_view kAvgOfQms = "Avg bytes/sec written to files by all queue managers";
constexpr absl::string_view kMaxLatency = "Max latency of write (ns)";
constexpr absl::string_view kMinLatency = "Min latency of write (ns)";
constexpr absl::string_view kAvgLatency = "Avg latency of write (ns)";
constexpr absl::string_view kSlowest = "Min bytes/sec (slowest write)";
constexpr absl::string_view kFastest = "Max bytes/sec (fastest write)";

// Groups digits as the user's locale does.
class Grouping {
 public:
  std::string operator()(uint64_t value, int width = 0) const {
    std::ostringstream text;
    text.imbue(locale_);
    text << std::setw(width) << value;
    return text.str();
  }

 private:
  // That of the environment; the classic one where the system does not have it.
  static std::locale OfUser() {
    try {
      return {std::locale::classic(), "", std::locale::numeric};
    } catch (const std::runtime_error&) {
      return std::locale::classic();
    }
  }

  const std::locale locale_ = OfUser();
};

}  // namespace

std::string RenderMqldtOptions(const MqldtOptions& options) {
  std::string text = absl::StrCat("Options (specified or defaulted to)\n", std::string(85, '='), "\n");
  const auto add = [&text](absl::string_view name, absl::string_view option, const auto& value) {
    absl::StrAppendFormat(&text, "%-27s %-22s : %s\n", name, absl::StrCat("(--", option, ")"), absl::StrCat(value));
  };
  add("Write blocksize", "bsize", options.block_sizes);
  add("Directory to write to", "dir", options.dir);
  add("Test file prefix", "filePrefix", options.file_prefix);
  add("Number of files to write to", "numFiles", options.num_files);
  add("Size of test files", "fileSize", options.file_size_bytes);
  add("Test duration", "duration", options.duration_s);
  if (options.delay_us > 0) add("Delay (microsec)", "delay", options.delay_us);
  if (options.alignment_bytes) add("Record alignment", "alignment", *options.alignment_bytes);
  if (options.background_threads > 0) add("Background Threads", "backgroundThreads", options.background_threads);
  if (options.qm > 1) add("Queue Managers", "qm", options.qm);
  if (!options.csv_file.empty()) add("CSV File", "csvFile", options.csv_file);
  return text + "\n";
}

std::string RenderMqldtStep(const v1::StepReport& step, uint32_t qm) {
  const bool several = qm > 1;
  const MqldtFigures figures = FiguresOf(step, several);
  const Grouping number;
  std::string text;
  const auto total = [&](absl::string_view name, uint64_t value) {
    absl::StrAppendFormat(&text, "%-*s : %s\n", several ? 67 : 52, name, number(value, 15));
  };
  total(kWrites, figures.writes);
  total("IOPS", figures.iops);
  total(kBytes, figures.bytes);
  total(several ? kMaxOfQmSecond : kMaxOfSecond, figures.max_bytes_per_second);
  total(several ? kMinOfQmSecond : kMinOfSecond, figures.min_bytes_per_second);
  total(several ? kAvgOfQms : kAvg, figures.avg_bytes_per_second);
  text += "\n";
  const auto latency = [&](absl::string_view name, uint64_t value, uint64_t write) {
    absl::StrAppendFormat(&text, "%-30s : %s%s\n", name, number(value, 15),
                          write == 0 ? "" : absl::StrCat(" (#", number(write), ")"));
  };
  latency(kMaxLatency, figures.max_latency_ns, figures.max_write);
  latency(kSlowest, figures.slowest_bytes_per_second, 0);
  latency(kMinLatency, figures.min_latency_ns, figures.min_write);
  latency(kFastest, figures.fastest_bytes_per_second, 0);
  latency(kAvgLatency, figures.avg_latency_ns, 0);
  return text + "\n";
}

std::string RenderMqldtCsv(const v1::Report& report, uint32_t qm) {
  const bool several = qm > 1;
  struct Row {
    const v1::StepReport& step;
    MqldtFigures figures;
  };
  CsvTable<Row> table;
  const auto add = [&table](absl::string_view name, uint64_t MqldtFigures::* figure) {
    table.Column(std::string(name), [figure](const Row& row) { return CsvCell(row.figures.*figure); });
  };
  table.Column("Blocksize", [](const Row& row) { return CsvCell(row.step.block_size_bytes()); });
  add(kWrites, &MqldtFigures::writes);
  add(kBytes, &MqldtFigures::bytes);
  add(several ? kMaxOfQmSecond : kMaxOfSecond, &MqldtFigures::max_bytes_per_second);
  add(several ? kMinOfQmSecond : kMinOfSecond, &MqldtFigures::min_bytes_per_second);
  add(several ? kAvgOfQms : kAvg, &MqldtFigures::avg_bytes_per_second);
  add(kMaxLatency, &MqldtFigures::max_latency_ns);
  add(kMinLatency, &MqldtFigures::min_latency_ns);
  add(kAvgLatency, &MqldtFigures::avg_latency_ns);
  add(kSlowest, &MqldtFigures::slowest_bytes_per_second);
  add(kFastest, &MqldtFigures::fastest_bytes_per_second);
  std::string csv = several ? absl::StrCat("Running MQLDT over ", qm, " Queue Managers\n") : "";
  csv += table.Heading();
  for (const v1::StepReport& step : report.steps()) csv += table.Line({step, FiguresOf(step, several)});
  return absl::StrReplaceAll(csv, {{"\r\n", "\n"}});
}

}  // namespace plimsoll
