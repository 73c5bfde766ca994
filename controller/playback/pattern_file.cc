#include "controller/playback/pattern_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CopyingInputStream;
using google::protobuf::io::CopyingInputStreamAdaptor;

constexpr char kPatternMagic[] = "PLIMPTRN";
constexpr size_t kPatternMagicBytes = sizeof(kPatternMagic) - 1;
// Of the header and of each chunk: an agent takes no larger message.
constexpr uint64_t kMostMessageBytes = uint64_t{256} << 10;
// The entries take 80 MB, in chunks of any size.
constexpr uint64_t kMostPatternFileBytes = uint64_t{128} << 20;
constexpr size_t kLongestPatternName = 256;
constexpr int kWalkedBytes = 64 << 10;

constexpr char kMakeAgain[] = "make it again with `plimsoll plan from-watch`";

// The first bytes of a file, as they are read, with their digest.
class DigestedInput : public CopyingInputStream {
 public:
  DigestedInput(int fd, uint64_t bytes) : fd_(fd), bytes_(bytes) {}

  int Read(void* buffer, int size) override {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(static_cast<uint64_t>(size), bytes_ - at_));
    ssize_t got = 0;
    do {
      got = pread(fd_, buffer, wanted, static_cast<off_t>(at_));
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
      error_ = errno;
      return -1;
    }
    sum_.Add(buffer, static_cast<size_t>(got));
    at_ += static_cast<uint64_t>(got);
    return static_cast<int>(got);
  }

  // Why reading failed; 0: it did not.
  int error() const { return error_; }
  std::string TakeDigest() { return sum_.Take(); }

 private:
  const int fd_;
  const uint64_t bytes_;
  uint64_t at_ = 0;
  int error_ = 0;
  Sha256Sum sum_;
};

absl::Status BadPattern(const std::string& what) {
  return absl::InvalidArgumentError(what);
}

absl::Status CheckStreamName(const std::string& name) {
  if (name.empty() || name.size() > kLongestPatternName || HasControl(name)) {
    return BadPattern(absl::StrCat("a name ", Quoted(name), " that no host or queue manager has"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PatternSums::CheckHeader(const v1::PatternHeader& header) {
  if (header.format() != kPatternFormat) {
    return absl::FailedPreconditionError(absl::StrCat("format ", header.format(), "; this version reads format ",
                                                      kPatternFormat,
                                                      ": use the version of plimsoll that made the file, or "));
  }
  if (!IsRunId(header.run_id())) return BadPattern(absl::StrCat("the run id ", Quoted(header.run_id())));
  if (header.streams().empty() || header.streams_size() > kMostPatternStreams) {
    return BadPattern(absl::StrCat(header.streams_size(), " streams; a pattern has 1 to ", kMostPatternStreams));
  }
  const int64_t length_ns = header.streams(0).length_ns();
  if (length_ns < kLeastPatternNs || length_ns > kLongestPatternNs) {
    return BadPattern(absl::StrCat("a recording of ", FormatDuration(length_ns), "; one takes 1ms to 30d"));
  }
  uint64_t entries_left = kMostPatternEntries;
  for (const v1::PatternStream& stream : header.streams()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckStreamName(stream.host()));
    PLIMSOLL_RETURN_IF_ERROR(CheckStreamName(stream.queue_manager()));
    if (stream.length_ns() != length_ns) return BadPattern("streams of different lengths");
    if (stream.entries() > entries_left) {
      return BadPattern(absl::StrCat("more than ", FormatCount(kMostPatternEntries), " entries"));
    }
    entries_left -= stream.entries();
  }
  return absl::OkStatus();
}

absl::Status PatternSums::CheckStream() const {
  const v1::PatternStream& stated = header_.streams(stream_);
  const auto differs = [this](const std::string& what, uint64_t found, uint64_t expected) {
    return BadPattern(absl::StrCat("stream ", stream_, " has ", FormatCount(found), " ", what, ", and the header has ",
                                   FormatCount(expected)));
  };
  if (entries_ != stated.entries()) return differs("entries", entries_, stated.entries());
  if (writes_ != stated.writes()) return differs("writes", writes_, stated.writes());
  // At most 2.7e15 pages.
  const uint64_t bytes = pages_ * kPatternPageBytes;
  if (bytes != stated.paged_bytes()) return differs("bytes in whole pages", bytes, stated.paged_bytes());
  if (stated.bytes() > bytes) return differs("bytes in whole pages", bytes, stated.bytes());
  if (writes_ == 0) return BadPattern(absl::StrCat("stream ", stream_, " has no write"));
  return absl::OkStatus();
}

absl::Status PatternSums::Add(uint32_t stream, const PatternEntry& entry) {
  const auto number = static_cast<uint32_t>(stream_);
  if (stream != number) {
    PLIMSOLL_RETURN_IF_ERROR(CheckStream());
    if (stream != number + 1 || stream >= static_cast<uint32_t>(header_.streams_size())) {
      return BadPattern(absl::StrCat("stream ", stream, " follows stream ", number, " of ", header_.streams_size()));
    }
    ++stream_;
    entries_ = writes_ = pages_ = gaps_ns_ = 0;
  }
  const v1::PatternStream& stated = header_.streams(stream_);
  if (++entries_ > stated.entries()) {
    return BadPattern(absl::StrCat("stream ", stream_, " has more entries than the ", FormatCount(stated.entries()),
                                   " of its header"));
  }
  writes_ += entry.count;
  pages_ += uint64_t{entry.count} * entry.pages;
  gaps_ns_ += entry.gap_ns;
  if (gaps_ns_ > static_cast<uint64_t>(stated.length_ns())) {
    return BadPattern(absl::StrCat("entry ", entries_ - 1, " of stream ", stream_, " is beyond the recording's end"));
  }
  return absl::OkStatus();
}

absl::Status PatternSums::Finish() const {
  PLIMSOLL_RETURN_IF_ERROR(CheckStream());
  if (stream_ + 1 == header_.streams_size()) return absl::OkStatus();
  return BadPattern(absl::StrCat(stream_ + 1, " streams, and the header has ", header_.streams_size()));
}

absl::Status PatternFile::Damaged(uint64_t byte, const std::string& what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ": damaged at byte ", FormatCount(byte), ": ", what, "; ", kMakeAgain));
}

absl::StatusOr<std::string> PatternFile::Walk(const std::function<absl::Status(v1::PatternHeader)>& take_header,
                                              const std::function<absl::Status(v1::PatternChunk)>& take_chunk) const {
  DigestedInput input(fd_.get(), bytes_);
  CopyingInputStreamAdaptor buffered(&input, kWalkedBytes);
  CodedInputStream in(&buffered);
  const auto failed = [&](uint64_t at, const std::string& what) {
    return input.error() != 0 ? PosixError("read", path_, input.error()) : Damaged(at, what);
  };
  std::string bytes;
  if (!in.ReadString(&bytes, kPatternMagicBytes) || bytes != kPatternMagic) {
    if (input.error() != 0) return PosixError("read", path_, input.error());
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": not a pattern file; `plimsoll plan from-watch` makes one from the results of a watch"));
  }
  bool header_taken = false;
  while (!header_taken || static_cast<uint64_t>(in.CurrentPosition()) < bytes_) {
    const auto at = static_cast<uint64_t>(in.CurrentPosition());
    uint64_t size = 0;
    if (!in.ReadVarint64(&size)) return failed(at, "the file ends");
    if (size > kMostMessageBytes) {
      return failed(at, absl::StrCat("a part of ", FormatCount(size), " bytes; one has at most ",
                                     FormatCount(kMostMessageBytes)));
    }
    if (!in.ReadString(&bytes, static_cast<int>(size))) return failed(at, "the file ends within a part");
    v1::PatternHeader header;
    v1::PatternChunk chunk;
    google::protobuf::Message& message =
        header_taken ? static_cast<google::protobuf::Message&>(chunk) : static_cast<google::protobuf::Message&>(header);
    if (!CheckParseBudget(*message.GetDescriptor(), bytes).ok() || !message.ParseFromString(bytes)) {
      return failed(at, header_taken ? "a part that is not a chunk" : "a part that is not a header");
    }
    absl::Status taken = header_taken ? take_chunk(std::move(chunk)) : take_header(std::move(header));
    if (absl::IsInvalidArgument(taken)) return Damaged(at, std::string(taken.message()));
    PLIMSOLL_RETURN_IF_ERROR(taken);
    header_taken = true;
  }
  return input.TakeDigest();
}

absl::StatusOr<PatternFile> PatternFile::Open(const std::string& path, const std::string& sha256) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, OpenRegularFile(path));
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return PosixError("fstat", path, errno);
  const auto bytes = static_cast<uint64_t>(info.st_size);
  if (bytes > kMostPatternFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", FormatCount(bytes),
                                                   " bytes; a pattern file has at most ",
                                                   FormatCount(kMostPatternFileBytes), ": name another file"));
  }
  PatternFile file(path, std::move(fd), bytes);

  // The digest comes first, so that nothing is read from another file than the plan's.
  DigestedInput whole(file.fd_.get(), bytes);
  std::vector<char> buffer(kWalkedBytes);
  int got = 0;
  do {
    got = whole.Read(buffer.data(), kWalkedBytes);
  } while (got > 0);
  if (whole.error() != 0) return PosixError("read", path, whole.error());
  file.sha256_ = whole.TakeDigest();
  if (!sha256.empty() && absl::AsciiStrToLower(sha256) != file.sha256_) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": its SHA-256 is ", file.sha256_, ", and the plan's (pattern_sha256) is ", SanitizeForTerminal(sha256),
        ": this is another file, or it was changed; make plan and file again with `plimsoll plan "
        "from-watch`, or remove pattern_sha256 from the plan to play this file"));
  }

  std::optional<PatternSums> sums;
  std::vector<PatternEntry> entries;
  const absl::StatusOr<std::string> digest = file.Walk(
      [&](v1::PatternHeader header) -> absl::Status {
        absl::Status good = PatternSums::CheckHeader(header);
        if (absl::IsFailedPrecondition(good)) {
          return absl::FailedPreconditionError(absl::StrCat(path, ": ", std::string(good.message()), kMakeAgain));
        }
        PLIMSOLL_RETURN_IF_ERROR(good);
        file.header_ = std::move(header);
        sums.emplace(file.header_);
        return absl::OkStatus();
      },
      [&](const v1::PatternChunk& chunk) -> absl::Status {
        entries.clear();
        PLIMSOLL_RETURN_IF_ERROR(ReadChunk(chunk, entries));
        for (const PatternEntry& entry : entries) PLIMSOLL_RETURN_IF_ERROR(sums->Add(chunk.stream(), entry));
        return absl::OkStatus();
      });
  PLIMSOLL_RETURN_IF_ERROR(digest.status());
  if (const absl::Status complete = sums->Finish(); !complete.ok()) {
    return file.Damaged(bytes, std::string(complete.message()));
  }
  if (*digest != file.sha256_) return absl::DataLossError(path + " changed while it was read; start again");
  return file;
}

absl::Status PatternFile::Read(const std::set<uint32_t>& streams,
                               const std::function<absl::Status(v1::PatternChunk)>& take) const {
  absl::Status given;
  const absl::StatusOr<std::string> digest = Walk([](const v1::PatternHeader& /*header*/) { return absl::OkStatus(); },
                                                  [&](v1::PatternChunk chunk) {
                                                    if (given.ok() && streams.contains(chunk.stream()))
                                                      given = take(std::move(chunk));
                                                    // Any other code than INVALID_ARGUMENT ends the walk without a
                                                    // message of its own.
                                                    return given.ok() ? absl::OkStatus() : absl::CancelledError();
                                                  });
  PLIMSOLL_RETURN_IF_ERROR(given);
  if (digest.ok() && *digest == sha256_) return absl::OkStatus();
  if (absl::IsInvalidArgument(digest.status()) || digest.ok()) {
    return absl::DataLossError(absl::StrCat(path_, " changed after it was opened; ", kMakeAgain));
  }
  return digest.status();
}

absl::StatusOr<PatternFileWriter> PatternFileWriter::Create(FileWriter file, const v1::PatternHeader& header) {
  PLIMSOLL_RETURN_IF_ERROR(PatternSums::CheckHeader(header));
  PatternFileWriter writer(std::move(file), header);
  PLIMSOLL_RETURN_IF_ERROR(writer.Write(kPatternMagic));
  PLIMSOLL_RETURN_IF_ERROR(writer.WriteMessage(header));
  return writer;
}

absl::Status PatternFileWriter::Write(const std::string& bytes) {
  sum_.Add(bytes.data(), bytes.size());
  return file_.Write(bytes);
}

absl::Status PatternFileWriter::WriteMessage(const google::protobuf::MessageLite& message) {
  if (message.ByteSizeLong() > kMostMessageBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a part of ", FormatCount(message.ByteSizeLong()),
                                                   " bytes; a pattern file has at most ",
                                                   FormatCount(kMostMessageBytes), " in a part"));
  }
  std::string bytes;
  google::protobuf::io::StringOutputStream out(&bytes);
  google::protobuf::util::SerializeDelimitedToZeroCopyStream(message, &out);
  return Write(bytes);
}

absl::Status PatternFileWriter::WriteChunk() {
  if (chunk_.gap_ns().empty()) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(WriteMessage(chunk_));
  chunk_.Clear();
  return absl::OkStatus();
}

absl::Status PatternFileWriter::Add(uint32_t stream, const PatternEntry& entry) {
  PLIMSOLL_RETURN_IF_ERROR(sums_.Add(stream, entry));
  if (chunk_.stream() != stream || chunk_.gap_ns_size() == kMostChunkEntries) {
    PLIMSOLL_RETURN_IF_ERROR(WriteChunk());
    chunk_.set_stream(stream);
  }
  AddEntry(entry, chunk_);
  return absl::OkStatus();
}

absl::StatusOr<std::string> PatternFileWriter::Finish() {
  PLIMSOLL_RETURN_IF_ERROR(WriteChunk());
  PLIMSOLL_RETURN_IF_ERROR(sums_.Finish());
  PLIMSOLL_RETURN_IF_ERROR(file_.Finish());
  return sum_.Take();
}

}  // namespace plimsoll
