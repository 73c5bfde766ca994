// Tells a gRPC client that it may not come in, without gRPC: so little is heard and said that nothing can be used up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/clock.h"
#include "common/unique_fd.h"

namespace plimsoll {

// One connection. Greets with HTTP/2's first frame, waits for the first call, answers it with PERMISSION_DENIED and one
// sentence, and then only waits for the other side to close. Holds some hundred bytes, whatever comes.
class SpokenRefusal {
 public:
  // `sentence` is plain ASCII without '%'. `now` begins the time after which Over is true in any case.
  SpokenRefusal(UniqueFd socket, std::string sentence, MonotonicNs now);

  int descriptor() const { return socket_.get(); }
  // Reads what is there and goes on. False: it is over.
  bool Hear();
  // Whether it took too long.
  bool Over(MonotonicNs now) const;

 private:
  // Takes a byte of the client's; returns false when the connection is no good.
  bool Take(unsigned char byte);
  bool Send(const std::string& bytes);

  UniqueFd socket_;
  const std::string sentence_;
  const MonotonicNs since_;
  size_t heard_ = 0;
  // Bytes to pass over: the client's preface, then each frame's payload.
  size_t skip_;
  std::array<unsigned char, 9> header_{};
  size_t have_ = 0;
  bool answered_ = false;
};

}  // namespace plimsoll
