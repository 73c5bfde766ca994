#include "agent/writer/pattern_intake.h"

#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/integers.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

absl::Status InStream(size_t stream, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("stream ", stream, ": ", std::string(status.message())));
}

}  // namespace

absl::Status CheckPatternParts(const v1::PatternParts& parts, uint32_t writers) {
  const int streams = parts.entries_size();
  if (parts.length_ns_size() != streams) {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern has the entries of ", streams, " streams and the lengths of ", parts.length_ns_size()));
  }
  if (streams == 0 || static_cast<uint32_t>(streams) > writers) {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern has ", streams, " streams for ", writers, " writers: it needs one, and at most as many"));
  }
  if (static_cast<uint32_t>(parts.stream_of_writer_size()) != writers) {
    return absl::InvalidArgumentError(absl::StrCat("pattern names the streams of ", parts.stream_of_writer_size(),
                                                   " writers; the host has ", writers));
  }
  for (int i = 0; i < parts.stream_of_writer_size(); ++i) {
    if (parts.stream_of_writer(i) < static_cast<uint32_t>(streams)) continue;
    return absl::InvalidArgumentError(absl::StrCat("pattern names stream ", parts.stream_of_writer(i), " for writer ",
                                                   i + 1, "; there are ", streams, ", from 0"));
  }
  uint64_t entries = 0;
  for (const uint64_t of_stream : parts.entries()) entries = SaturatingAdd(entries, of_stream);
  if (entries <= kMostPatternEntries) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("pattern has ", FormatCount(entries), " entries; an agent takes at most ",
                   FormatCount(kMostPatternEntries), ": make it anew with plimsoll plan from-watch"));
}

PatternIntake::PatternIntake(const v1::PatternParts& parts) {
  for (int i = 0; i < parts.entries_size(); ++i) {
    streams_.push_back({parts.entries(i), LoadPattern{{}, parts.length_ns(i)}});
  }
}

absl::Status PatternIntake::Take(const v1::PatternChunk& chunk) {
  if (streams_.empty()) return absl::InvalidArgumentError("the plan plays no recording: it takes no recorded writes");
  if (chunk.stream() >= streams_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("recorded writes of stream ", chunk.stream(), "; the plan has ", streams_.size(), ", from 0"));
  }
  Stream& stream = streams_[chunk.stream()];
  std::vector<PatternEntry>& entries = stream.pattern.entries;
  const auto more = static_cast<uint64_t>(chunk.gap_ns_size());
  if (more > stream.announced - entries.size()) {
    return absl::InvalidArgumentError(absl::StrCat("stream ", chunk.stream(), " of the recording has more than its ",
                                                   FormatCount(stream.announced), " entries"));
  }
  try {
    // At once, so that growing takes no second copy.
    entries.reserve(stream.announced);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for the ", FormatCount(stream.announced), " entries of stream ", chunk.stream()));
  }
  return InStream(chunk.stream(), ReadChunk(chunk, entries));
}

absl::StatusOr<std::vector<PlayedStream>> PatternIntake::Finish() {
  for (size_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = streams_[i];
    if (stream.pattern.entries.size() < stream.announced) {
      return absl::FailedPreconditionError(
          absl::StrCat("stream ", i, " of the recording has ", FormatCount(stream.pattern.entries.size()), " of its ",
                       FormatCount(stream.announced), " entries: all must arrive before Fill"));
    }
    PLIMSOLL_RETURN_IF_ERROR(InStream(i, CheckPattern(stream.pattern)));
  }
  std::vector<PlayedStream> played;
  for (Stream& stream : std::exchange(streams_, {})) {
    const uint64_t most_pages = MostPages(stream.pattern);
    played.push_back({std::make_shared<const LoadPattern>(std::move(stream.pattern)), most_pages});
  }
  return played;
}

}  // namespace plimsoll
