// A day of a fleet that is not there, what it costs the controller, and whether its report is right:
// docs/performance.md.
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "tests/bench/day_run.h"
#include "tests/temp_directory.h"

extern char** environ;

namespace plimsoll::tests {
namespace {

// `plimsoll report DIR`, in a process of its own: this program with that word in front.
constexpr char kReportWord[] = "report-again";
constexpr std::array<const char*, 4> kReportFiles = {"report.txt", "report.json", "report.csv", "timeline.csv"};

struct ReportAgain {
  bool ran = false;
  double machine_s = 0;
  uint64_t peak_bytes = 0;
  // Files that it made otherwise.
  std::vector<std::string> changed;
};

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ReportAgain RunReportAgain(const std::string& results) {
  std::vector<std::string> before;
  for (const char* name : kReportFiles) before.push_back(Content(absl::StrCat(results, "/", name)));
  ReportAgain again;
  const auto begin = std::chrono::steady_clock::now();
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> words = {program, kReportWord, results};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) return again;
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) return again;
  // The verdict decides about codes up to 3; 2 is an error.
  again.ran = WIFEXITED(status) && WEXITSTATUS(status) <= 3 && WEXITSTATUS(status) != 2;
  again.machine_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  again.peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) << 10U;
  for (size_t i = 0; i < kReportFiles.size(); ++i) {
    if (Content(absl::StrCat(results, "/", kReportFiles[i])) != before[i]) again.changed.emplace_back(kReportFiles[i]);
  }
  return again;
}

int Report(const std::string& results) {
  // What it prints is of no interest here.
  std::ofstream out("/dev/null");
  CLI::App app("The report of a day", "plimsoll");
  CommandLine line{{out, std::cerr}};
  AddReportCommand(app, line);
  return ParseAndRun(app, {"report", results}, line);
}

void PrintRow(const std::string& what, const std::string& measured, const std::string& budget, bool within) {
  std::printf("%-58s  %-34s  %-22s  %s\n", what.c_str(), measured.c_str(), budget.c_str(), within ? "within" : "over");
}

std::string SizeText(uint64_t bytes) {
  return absl::StrCat(FormatSizeForPeople(bytes), " (", FormatCount(bytes), ")");
}

// The rows of docs/performance.md. Budgets are those of a whole day of 200 hosts with 8 queue managers; a journal's
// is for each second of a writer.
void PrintRows(const DaySize& size, const DayResult& result, const ReportAgain& again) {
  constexpr uint64_t kMostMemory = uint64_t{1} << 30;
  constexpr uint64_t kMostPage = 10'000'000;
  constexpr double kJournalPerSecond = 29;
  const double per_second =
      static_cast<double>(result.journal_bytes) / static_cast<double>(std::max<uint64_t>(result.writer_seconds, 1));
  uint64_t peak = 0;
  for (const DayHour& hour : result.hours) peak = std::max(peak, hour.peak_bytes);
  std::printf("%s hosts x %u queue managers, %s of %s played, %u writes/s each, %s frames, seed %llu\n",
              FormatCount(size.hosts).c_str(), size.queue_managers,
              FormatReadableDuration(result.played_s * kNsPerSecond).c_str(),
              FormatReadableDuration(size.length_s * kNsPerSecond).c_str(), size.rate,
              FormatCount(result.writer_seconds).c_str(), static_cast<unsigned long long>(size.seed));
  if (!result.trouble.empty()) std::printf("ENDED EARLY: %s\n", result.trouble.c_str());
  PrintRow("journal", SizeText(result.journal_bytes), "4,000,000,000 B a day", result.journal_bytes <= 4'000'000'000);
  PrintRow("journal, bytes a writer-second", absl::StrFormat("%.1f", per_second), "29",
           per_second <= kJournalPerSecond);
  PrintRow("memory while measuring, peak (the fleet itself: " + FormatSizeForPeople(result.before_bytes) + ")",
           SizeText(peak), "1 GiB", peak <= kMostMemory);
  for (const DayHour& hour : result.hours) {
    PrintRow(absl::StrCat("  hour ", hour.hour, ": peak, at its end ", FormatSizeForPeople(hour.resident_bytes)),
             SizeText(hour.peak_bytes), "flat from hour 2",
             hour.hour < 3 || hour.peak_bytes <= result.hours[1].peak_bytes + (16U << 20U));
  }
  PrintRow("memory until the outputs were written, peak", SizeText(result.outputs_peak_bytes), "1 GiB",
           result.outputs_peak_bytes <= kMostMemory);
  const DayColumns& columns = result.columns;
  const auto columns_text = [](uint64_t count, uint64_t all, int64_t until_s) {
    return absl::StrCat(FormatCount(count), " of ", FormatCount(all), ", until ",
                        FormatReadableDuration(until_s * kNsPerSecond));
  };
  PrintRow("series of queue managers", columns_text(columns.qm_series, size.writers(), columns.qm_until_s), "whole day",
           columns.qm_series == size.writers() && columns.qm_until_s >= size.length_s);
  PrintRow("series of hosts", columns_text(columns.host_series, size.hosts, columns.host_until_s), "whole day",
           columns.host_series == size.hosts && columns.host_until_s >= size.length_s);
  const int64_t least_load_s = size.hosts < 2 ? size.length_s : size.length_s * 6 / 10;
  PrintRow("load columns (of the shortest)", columns_text(columns.load_hosts, size.hosts, columns.load_until_s),
           "whole day or loss", columns.load_hosts == size.hosts && columns.load_until_s >= least_load_s - 3);
  PrintRow("outputs at the end", absl::StrFormat("%.1f s", result.outputs_s), "60 s", result.outputs_s <= 60);
  PrintRow("`report` again", again.ran ? absl::StrFormat("%.1f s", again.machine_s) : "failed", "10 min",
           again.ran && again.machine_s <= 600);
  PrintRow("`report` again, peak memory", SizeText(again.peak_bytes), "1 GiB", again.peak_bytes <= kMostMemory);
  PrintRow("report.html", SizeText(result.page_bytes), "10,000,000 B", result.page_bytes <= kMostPage);
  PrintRow("the machine's time for the run", absl::StrFormat("%.1f s", result.machine_s), "30 min",
           result.machine_s <= 1'800);
}

int Main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == kReportWord) return Report(argv[2]);
  DaySize size;
  double hours = 24;
  std::string machine = "30m";
  std::string memory = "6g";
  std::string free = "8g";
  std::string directory;
  CLI::App app("Plays a day of a simulated fleet, and recomputes its report from the fleet's own counts", "day_bench");
  app.add_option("--hosts", size.hosts, "Hosts; the last one is lost after three fifths of the day")
      ->capture_default_str();
  app.add_option("--queue-managers", size.queue_managers, "Queue managers of each host")->capture_default_str();
  app.add_option("--hours", hours, "Length of the day")->capture_default_str();
  app.add_option("--rate", size.rate, "Writes per second of each queue manager")->capture_default_str();
  app.add_option("--seed", size.seed, "Seed of the day")->capture_default_str();
  app.add_option("--place", directory, "Directory in which the results are made and kept; not given: a temporary one");
  app.add_option("--most-time", machine, "End the day early when it takes longer")->capture_default_str();
  app.add_option("--most-memory", memory, "End the day early when the process has more")->capture_default_str();
  app.add_option("--least-free", free, "End the day early when the file system has less")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto most_ns = ParseDuration(machine);
  const auto most_bytes = ParseSize(memory);
  const auto least_bytes = ParseSize(free);
  for (const absl::Status& status : {most_ns.status(), most_bytes.status(), least_bytes.status()}) {
    if (status.ok()) continue;
    std::cerr << "day_bench: " << std::string(status.message()) << std::endl;
    return 2;
  }
  size.length_s = static_cast<int64_t>(hours * 3'600 + 0.5);
  if (size.length_s < DayLoad::kShortestS || size.hosts == 0 || size.queue_managers == 0 || size.rate == 0 ||
      size.rate > DayLoad::kHighestRate) {
    std::cerr << "day_bench: a day has 0.034 hours or more, hosts, queue managers, and a rate from 1 to "
              << DayLoad::kHighestRate << std::endl;
    return 2;
  }
  const TempDirectory temporary;
  const std::string out = absl::StrCat(directory.empty() ? temporary.path() : directory, "/day");
  const DayResult result = PlayDay(size, {*most_ns, *most_bytes, *least_bytes}, out, /*progress=*/true);
  if (result.report.steps_size() == 0) {
    std::cerr << "day_bench: " << result.trouble << std::endl;
    return 1;
  }
  const ReportAgain again = RunReportAgain(out);
  PrintRows(size, result, again);
  for (const std::string& name : again.changed) std::printf("DIFFERENT: `report` makes another %s\n", name.c_str());
  for (const std::string& difference : result.differences) std::printf("DIFFERENT: %s\n", difference.c_str());
  const bool right = result.differences.empty() && again.changed.empty() && again.ran;
  std::printf("%s\n", right ? "The report is that of the fleet's own counts." : "The report is not that of the fleet.");
  return right ? 0 : 1;
}

}  // namespace
}  // namespace plimsoll::tests

int main(int argc, char** argv) {
  return plimsoll::tests::Main(argc, argv);
}
