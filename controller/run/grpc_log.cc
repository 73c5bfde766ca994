#include "controller/run/grpc_log.h"

#include <grpc/support/log.h>

#include <cstdio>
#include <cstdlib>

#include "absl/strings/match.h"

namespace plimsoll {

void SilenceGrpc() {
  static const bool once = [] {
    if (std::getenv("GRPC_VERBOSITY") != nullptr) return false;
    gpr_set_log_function([](gpr_log_func_args* remark) {
      if (absl::StrContains(remark->message, "assertion failed")) {
        std::fprintf(stderr, "plimsoll: gRPC ended the program: %s:%d: %s\n", remark->file, remark->line,
                     remark->message);
      }
    });
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace plimsoll
