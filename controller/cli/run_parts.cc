#include "controller/cli/run_parts.h"

#include <signal.h>

#include "absl/strings/str_join.h"

namespace plimsoll {

std::string PartEnd::ErrorText() const {
  return errors.empty() ? "nothing was measured" : absl::StrJoin(errors, "; ");
}

bool IsInterruptPending() {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
         sigismember(&pending, SIGHUP) == 1;
}

}  // namespace plimsoll
