// The recorded writes that a host's writers play, as they arrive from the controller.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/load_pattern.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// The recording of one queue manager. Immutable: the writers that play it share it, step after step.
struct PlayedStream {
  std::shared_ptr<const LoadPattern> pattern;
  // Pages of its largest write.
  uint64_t most_pages = 0;
};

// Checks what a plan with `writers` writers says of the recording whose chunks follow: none, or at least one stream, at
// most as many as writers, a stream for each writer, and at most kMostPatternEntries entries together. Returns
// INVALID_ARGUMENT, naming the stream or the writer, and RESOURCE_EXHAUSTED where there are too many entries.
absl::Status CheckPatternParts(const v1::PatternParts& parts, uint32_t writers);

// Collects the streams of a session, each once, in 8 bytes for each entry. Not thread-safe.
class PatternIntake {
 public:
  // CheckPatternParts accepts `parts`.
  explicit PatternIntake(const v1::PatternParts& parts);

  // Appends a chunk to its stream. Returns INVALID_ARGUMENT if no such stream was announced, if the stream would have
  // more entries than announced, or if the chunk is damaged (ReadChunk); RESOURCE_EXHAUSTED if there is no memory.
  // Nothing is appended then.
  absl::Status Take(const v1::PatternChunk& chunk);

  // Returns the streams when all are complete; the object is empty afterwards. Returns FAILED_PRECONDITION, naming the
  // stream, if entries are missing, and INVALID_ARGUMENT if a stream is not one that can be played (CheckPattern).
  absl::StatusOr<std::vector<PlayedStream>> Finish();

 private:
  struct Stream {
    uint64_t announced = 0;
    LoadPattern pattern;
  };

  std::vector<Stream> streams_;
};

}  // namespace plimsoll
