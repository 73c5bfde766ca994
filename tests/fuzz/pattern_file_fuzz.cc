// Whatever bytes are a pattern file: refused with an error on one line that names the file, or read as what its header
// states, and written again to a file that reads the same. No write is invented.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/load_pattern.h"
#include "controller/journal/results.h"
#include "controller/playback/pattern_file.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/temp_directory.h"

namespace plimsoll::fuzz {
namespace {

using StreamEntries = std::map<uint32_t, std::vector<PatternEntry>>;

StreamEntries ReadStreams(const PatternFile& file, const std::set<uint32_t>& streams) {
  StreamEntries entries;
  const absl::Status read = file.Read(streams, [&](const v1::PatternChunk& chunk) {
    Require(streams.contains(chunk.stream()), "a stream that was not asked for");
    return ReadChunk(chunk, entries[chunk.stream()]);
  });
  Require(read.ok(), "a file that was checked cannot be read", [&] { return read.ToString(); });
  return entries;
}

void CheckAgainstHeader(const v1::PatternHeader& header, const StreamEntries& all) {
  Require(all.size() == static_cast<size_t>(header.streams_size()), "another number of streams");
  for (const auto& [number, entries] : all) {
    const v1::PatternStream& stream = header.streams(static_cast<int>(number));
    uint64_t writes = 0;
    uint64_t bytes = 0;
    for (const PatternEntry& entry : entries) {
      writes += entry.count;
      bytes += uint64_t{entry.count} * entry.pages * kPatternPageBytes;
    }
    Require(entries.size() == stream.entries() && writes == stream.writes() && bytes == stream.paged_bytes(),
            "other writes than the header states");
    const absl::Status playable = CheckPattern({entries, stream.length_ns()});
    Require(playable.ok(), "an agent would refuse it", [&] { return playable.ToString(); });
  }
}

void CheckWrittenAgain(const std::string& path, const v1::PatternHeader& header, const StreamEntries& all) {
  absl::StatusOr<FileWriter> file = FileWriter::ToPath(path);
  Require(file.ok(), "no file to write to");
  absl::StatusOr<PatternFileWriter> writer = PatternFileWriter::Create(*std::move(file), header);
  Require(writer.ok(), "a header that was read cannot be written");
  for (const auto& [stream, entries] : all) {
    for (const PatternEntry& entry : entries) Require(writer->Add(stream, entry).ok(), "an entry cannot be written");
  }
  const absl::StatusOr<std::string> sha256 = writer->Finish();
  Require(sha256.ok(), "what was read cannot be written");
  const absl::StatusOr<PatternFile> again = PatternFile::Open(path, *sha256);
  Require(again.ok(), "what was written cannot be read", [&] { return again.status().ToString(); });
  std::set<uint32_t> streams;
  for (const auto& [stream, entries] : all) streams.insert(stream);
  Require(ReadStreams(*again, streams) == all, "another pattern after it was written again");
}

void TryFile(const std::string& bytes) {
  static const tests::TempDirectory directory;
  const std::string path = directory.Sub("pattern.plimsoll");
  std::ofstream(path, std::ios::binary) << bytes;
  Require(!PatternFile::Open(path, std::string(64, '0')).ok(), "another digest is taken");
  const absl::StatusOr<PatternFile> file = PatternFile::Open(path);
  if (!file.ok()) {
    std::string message(file.status().message());
    Require(message.find(path) != std::string::npos, "an error without its file", [&] { return message; });
    Require(message.find('\n') == std::string::npos, "an error on several lines", [&] { return message; });
    return;
  }
  std::set<uint32_t> streams;
  for (int stream = 0; stream < file->header().streams_size(); ++stream) streams.insert(static_cast<uint32_t>(stream));
  const StreamEntries all = ReadStreams(*file, streams);
  CheckAgainstHeader(file->header(), all);
  StreamEntries last = ReadStreams(*file, {*streams.rbegin()});
  Require(last.size() == 1 && last.begin()->second == all.rbegin()->second, "a stream alone is another one");
  CheckWrittenAgain(directory.Sub("again"), file->header(), all);
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::fuzz::Silence();
  plimsoll::fuzz::TryFile(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
