// Whatever bytes come as qm.ini and as amqsrua's output: no crash, errors on one line each with the file's name; and
// what reads becomes a plan that reads back and holds these values, whatever the texts and their files' names hold.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "controller/mq/mq_files.h"
#include "controller/mq/mq_plan.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_yaml.h"

namespace plimsoll {
namespace {

// Between the parts of an input: qm.ini, amqsrua's output, and the name of both files.
constexpr char kPart[] = "\n====\n";
constexpr size_t kMostLines = 21;

void Require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

void CheckErrors(const absl::Status& status, const std::string& file) {
  const std::string message(status.message());
  const std::vector<std::string> lines = absl::StrSplit(message, '\n');
  Require(lines.size() <= kMostLines, "more errors than are reported at once", message);
  for (const std::string& line : lines)
    Require(absl::StartsWith(line, file + ":"), "an error without its file", message);
}

void TryFiles(const std::string& ini, const std::string& amqsrua, const std::string& name) {
  const auto log = ReadQmIni(ini, "qm.ini");
  AmqsruaReader reader("log.txt");
  reader.Feed(amqsrua);
  const auto recording = reader.Finish();
  if (!log.ok()) CheckErrors(log.status(), "qm.ini");
  if (!recording.ok()) CheckErrors(recording.status(), "log.txt");
  if (!log.ok()) return;
  QmLog named = *log;
  named.file = name;
  std::vector<LogRecording> recordings;
  if (recording.ok()) {
    Require(recording->busiest.WritesPerSecond() > 0, "a busiest interval without a write", amqsrua);
    recordings.push_back(*recording);
    recordings.back().file = name;
  }
  const auto made = MakeMqPlan({named}, recordings);
  if (!made.ok()) {
    // Not what is wrong with the plan, but with which file.
    return Require(absl::StartsWith(std::string(made.status().message()), name + ":"), "an error without its file",
                   std::string(made.status().message()));
  }
  auto plan = ReadPlan(made->yaml, "plan.yaml");
  Require(plan.ok(), "the plan does not read back", made->yaml);
  Require(plan->workload().dir() == named.path, "another directory", made->yaml);
  if (named.path.empty()) plan->mutable_workload()->set_dir("/given/to/run");
  Require(PlanProblems(*plan).empty(), "the plan cannot be run", made->yaml);
  Require(plan->workload().qm() == 1 && plan->workload().num_files() == named.primary_files && plan->hosts().empty() &&
              plan->criteria().empty(),
          "the plan holds something else", made->yaml);
  Require(recordings.empty() == !plan->workload().has_rate_per_second(),
          "a rate without a load, or the other way round", made->yaml);
  if (recordings.empty()) return;
  MqLoad sweep;
  sweep.sweep = true;
  const auto swept = MakeMqPlan({named}, recordings, {"/given", {}}, sweep);
  if (!swept.ok()) {
    return Require(absl::StartsWith(std::string(swept.status().message()), name + ":"), "an error without its file",
                   std::string(swept.status().message()));
  }
  const auto points = ReadPlan(swept->yaml, "plan.yaml");
  Require(points.ok() && PlanProblems(*points).empty(), "the sweep cannot be run", swept->yaml);
  Require(points->mq_log().write_size_bytes_size() > 0, "a sweep without a point", swept->yaml);
}

}  // namespace
}  // namespace plimsoll

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(plimsoll::kPart, 2));
  parts.resize(3);
  // The first part's last line has lost its end, which the second one's needs.
  plimsoll::TryFiles(parts[0], parts[1] + "\n", parts[2]);
  return 0;
}
