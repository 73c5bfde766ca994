#include "controller/run/pattern_sender.h"

#include <map>
#include <utility>

namespace plimsoll {
namespace {

// A host that plays a stream, and the number that the stream has there.
struct StreamPlayer {
  size_t host = 0;
  uint32_t stream = 0;
};

}  // namespace

absl::Status SendPattern(const PatternSource& source, Fleet& fleet, SessionDriver& driver,
                         const std::function<bool()>& give_up) {
  std::set<uint32_t> streams;
  std::map<uint32_t, std::vector<StreamPlayer>> players;
  for (size_t host = 0; host < source.streams.size(); ++host) {
    for (uint32_t number = 0; number < source.streams[host].size(); ++number) {
      const uint32_t stream = source.streams[host][number];
      streams.insert(stream);
      players[stream].push_back({host, number});
    }
  }
  return source.read(streams, [&](const v1::PatternChunk& chunk) -> absl::Status {
    for (const StreamPlayer& player : players[chunk.stream()]) {
      Host& host = fleet.host(player.host);
      const bool stayed = driver.PumpUntil([&] { return give_up() || driver.HasRoomFor(host); });
      if (!stayed || give_up()) return absl::CancelledError("the recording was not sent to the end");
      v1::PatternChunk own = chunk;
      own.set_stream(player.stream);
      driver.SendChunk(host, std::move(own));
    }
    return absl::OkStatus();
  });
}

}  // namespace plimsoll
