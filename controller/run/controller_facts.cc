#include "controller/run/controller_facts.h"

#include <optional>
#include <string>
#include <utility>

#include "common/this_program.h"
#include "common/time_status.h"

namespace plimsoll {

v1::ControllerFacts DescribeController() {
  v1::ControllerFacts facts;
  if (!ThisProgramSha256().empty()) facts.set_program_sha256(ThisProgramSha256());
  if (std::string command = ThisCommand(); !command.empty()) facts.set_command(std::move(command));
  if (std::optional<v1::TimeStatus> status = ReadTimeStatus(); status.has_value()) {
    *facts.mutable_time() = *std::move(status);
  }
  return facts;
}

}  // namespace plimsoll
