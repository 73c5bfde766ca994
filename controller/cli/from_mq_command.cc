#include "controller/cli/from_mq_command.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "controller/mq/amqsrua.h"
#include "controller/mq/mq_plan.h"
#include "controller/mq/qm_ini.h"
#include "controller/plan/yaml_tree.h"
#include "controller/run/results.h"

namespace plimsoll {
namespace {

constexpr size_t kMostIniBytes = size_t{1} << 20U;
// Some 9 MB a day.
constexpr size_t kMostAmqsruaBytes = size_t{512} << 20U;

struct FromMqFlags {
  std::vector<std::string> qm_ini;
  std::vector<std::string> amqsrua;
  std::string out;
};

// What `read` makes of each file; reports everything that is wrong in all of them.
template <typename Read>
auto ReadEach(const std::vector<std::string>& paths, size_t most_bytes, const Read& read, CommandLine& line,
              bool& good) {
  std::vector<typename decltype(read("", ""))::value_type> each;
  for (const std::string& path : paths) {
    const absl::StatusOr<std::string> text = ReadTextFile(path, most_bytes);
    if (!text.ok()) {
      PrintError(line, text.status(), Exit::kWrong);
      good = false;
      continue;
    }
    auto made = read(*text, path);
    if (made.ok()) {
      each.push_back(*std::move(made));
    } else {
      PrintErrors(line, made.status(), Exit::kWrong);
      good = false;
    }
  }
  return each;
}

int FromMqMain(const FromMqFlags& flags, CommandLine& line) {
  bool good = true;
  const std::vector<QmLog> logs = ReadEach(flags.qm_ini, kMostIniBytes, ReadQmIni, line, good);
  const std::vector<LogRecording> recordings = ReadEach(flags.amqsrua, kMostAmqsruaBytes, ReadAmqsrua, line, good);
  if (!good) return static_cast<int>(Exit::kWrong);
  const absl::StatusOr<MqPlan> plan = MakeMqPlan(logs, recordings);
  if (!plan.ok()) return PrintErrors(line, plan.status(), Exit::kWrong);
  for (const std::string& note : plan->notes) line.err << "note: " << SanitizeForTerminal(note) << '\n';
  if (flags.out.empty()) {
    line.out << plan->yaml << std::flush;
    if (!line.out) return PrintError(line, "standard output could not be written", Exit::kWrong);
    return static_cast<int>(Exit::kOk);
  }
  if (const absl::Status written = WriteFile(flags.out, plan->yaml); !written.ok()) {
    return PrintError(line, written, Exit::kWrong);
  }
  line.out << SanitizeForTerminal(absl::StrCat(flags.out, ": ", plan->brief)) << '\n';
  return static_cast<int>(Exit::kOk);
}

}  // namespace

void AddFromMqCommand(CLI::App& plan, CommandLine& line) {
  CLI::App* command = plan.add_subcommand("from-mq", "Make a plan from qm.ini and what amqsrua printed");
  auto flags = std::make_shared<FromMqFlags>();
  command->add_option("--qm-ini", flags->qm_ini, "qm.ini of each queue manager; several may be given")
      ->type_name("FILE")
      ->required();
  command
      ->add_option(
          "--amqsrua", flags->amqsrua,
          WrapHelp("What `amqsrua -m QM -c DISK -t Log` printed under load: its busiest interval gives block size and "
                   "rate; several may be given"))
      ->type_name("FILE");
  command->add_option("--out", flags->out, "Write the plan to this file instead of standard output")->type_name("FILE");
  command->footer(
      "The plan's comments say where each value is from, and what is not known (docs/from-mq.md).\n"
      "Example:\n  plimsoll plan from-mq --qm-ini /var/mqm/qmgrs/QM1/qm.ini --amqsrua log.txt > plan.yaml");
  command->callback([&line, flags] { line.action = [&line, flags] { return FromMqMain(*flags, line); }; });
}

}  // namespace plimsoll
