// Any bytes on the stream of `plimsoll-agent --stdio` are taken or refused, in whatever pieces they come, at either
// end.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/link/stdio_link.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

// The first byte chooses the end and the length of the pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<plimsoll::UniqueFd> taken;
  auto link = std::make_unique<plimsoll::StdioLink>();
  if ((data[0] & 1U) != 0) {
    link = std::make_unique<plimsoll::StdioLink>(
        [&taken](plimsoll::UniqueFd socket) { taken.push_back(std::move(socket)); });
  }
  const size_t piece = 1 + data[0] / 2;
  std::string_view left(reinterpret_cast<const char*>(data) + 1, size - 1);
  while (!left.empty() && link->wants_to_receive()) {
    const std::string_view part = left.substr(0, piece);
    const auto took = link->Receive(part);
    Check(!took.ok() || *took <= part.size());
    Check(link->connections() <= plimsoll::StdioLink::kMaxConnections);
    if (!took.ok() || *took < part.size()) {
      Check(link->state() == plimsoll::StdioLink::State::kEnded);
      break;
    }
    std::vector<pollfd> waits;
    link->AddWaits(waits);
    if (poll(waits.data(), waits.size(), 0) > 0) link->Serve(waits);
    left.remove_prefix(part.size());
  }
  link.reset();
  // What it gave away has lost its other end.
  for (const plimsoll::UniqueFd& socket : taken) {
    pollfd wait{socket.get(), 0, 0};
    Check(poll(&wait, 1, 0) == 1 && (wait.revents & POLLHUP) != 0);
  }
  return 0;
}
