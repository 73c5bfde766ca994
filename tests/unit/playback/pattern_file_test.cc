#include "controller/playback/pattern_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

using Streams = std::vector<std::vector<PatternEntry>>;

constexpr char kMagic[] = "PLIMPTRN";

// States what the streams hold, in a recording of two seconds.
v1::PatternHeader HeaderOf(const Streams& streams) {
  v1::PatternHeader header;
  header.set_format(1);
  header.set_run_id("7f3a21");
  for (size_t i = 0; i < streams.size(); ++i) {
    v1::PatternStream& stream = *header.add_streams();
    stream.set_host("node1");
    stream.set_queue_manager(absl::StrCat("QM", i + 1));
    stream.set_length_ns(2 * kNsPerSecond);
    for (const PatternEntry& entry : streams[i]) {
      stream.set_entries(stream.entries() + 1);
      stream.set_writes(stream.writes() + entry.count);
      stream.set_paged_bytes(stream.paged_bytes() + uint64_t{entry.count} * entry.pages * kPatternPageBytes);
    }
    stream.set_bytes(stream.paged_bytes());
  }
  return header;
}

std::string Delimited(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream out(&bytes);
  google::protobuf::util::SerializeDelimitedToZeroCopyStream(message, &out);
  return bytes;
}

v1::PatternChunk ChunkOf(uint32_t stream, const std::vector<PatternEntry>& entries) {
  v1::PatternChunk chunk;
  chunk.set_stream(stream);
  for (const PatternEntry& entry : entries) AddEntry(entry, chunk);
  return chunk;
}

// More than one chunk, with pauses; and a few writes.
Streams TwoStreams() {
  Streams streams(2);
  for (int i = 0; i < kMostChunkEntries + 100; ++i) {
    const auto gap_ns = static_cast<uint32_t>(50'000 + i % 7);
    streams[0].push_back(i % 100 == 99 ? PatternEntry{gap_ns, 0, 0}
                                       : PatternEntry{gap_ns, static_cast<uint16_t>(1 + i % 9), 1});
  }
  streams[1] = {{1, 1, 1}, {1'000'000'000, 4096, 3}, {7, 2, 7}};
  return streams;
}

Streams SmallStreams() {
  return {{{1'000'000, 2, 1}, {500'000, 0, 0}, {300'000, 1, 4}}, {{1, 512, 1}, {90'000, 3, 2}}};
}

class PatternFileTest : public ::testing::Test {
 protected:
  std::string path() const { return directory_.Sub("pattern.plimsoll"); }

  absl::StatusOr<std::string> TryWrite(const v1::PatternHeader& header, const Streams& streams) {
    absl::StatusOr<FileWriter> file = FileWriter::ToPath(path());
    EXPECT_THAT(file, IsOk());
    absl::StatusOr<PatternFileWriter> writer = PatternFileWriter::Create(*std::move(file), header);
    if (!writer.ok()) return writer.status();
    for (uint32_t stream = 0; stream < streams.size(); ++stream) {
      for (const PatternEntry& entry : streams[stream]) {
        if (absl::Status added = writer->Add(stream, entry); !added.ok()) return added;
      }
    }
    return writer->Finish();
  }
  std::string Write(const Streams& streams) {
    const absl::StatusOr<std::string> sha256 = TryWrite(HeaderOf(streams), streams);
    EXPECT_THAT(sha256, IsOk());
    return sha256.value_or("");
  }
  std::string Bytes() const {
    std::ifstream in(path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    return bytes.str();
  }
  void SetBytes(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  // What Open says of a file of this header and these chunks.
  absl::Status OpenMade(const v1::PatternHeader& header, const std::vector<v1::PatternChunk>& chunks) {
    std::string bytes = kMagic + Delimited(header);
    for (const v1::PatternChunk& chunk : chunks) bytes += Delimited(chunk);
    SetBytes(bytes);
    return PatternFile::Open(path()).status();
  }
  // The entries of some streams, by stream.
  static std::map<uint32_t, std::vector<PatternEntry>> ReadEntries(const PatternFile& file,
                                                                   const std::set<uint32_t>& streams) {
    std::map<uint32_t, std::vector<PatternEntry>> entries;
    EXPECT_THAT(file.Read(streams,
                          [&](const v1::PatternChunk& chunk) {
                            EXPECT_LE(chunk.gap_ns_size(), kMostChunkEntries);
                            return ReadChunk(chunk, entries[chunk.stream()]);
                          }),
                IsOk());
    return entries;
  }

  tests::TempDirectory directory_;
};

TEST_F(PatternFileTest, WhatWasWrittenIsReadAgainStreamByStream) {
  const Streams streams = TwoStreams();
  const std::string sha256 = Write(streams);
  EXPECT_EQ(sha256, Sha256(Bytes()));
  for (const std::string& expected : {std::string(), sha256, absl::AsciiStrToUpper(sha256)}) {
    const absl::StatusOr<PatternFile> file = PatternFile::Open(path(), expected);
    ASSERT_THAT(file, IsOk());
    EXPECT_EQ(file->sha256(), sha256);
    EXPECT_EQ(file->path(), path());
    EXPECT_EQ(file->header().SerializeAsString(), HeaderOf(streams).SerializeAsString());
    EXPECT_THAT(ReadEntries(*file, {0, 1}), ElementsAre(Pair(0, streams[0]), Pair(1, streams[1])));
    EXPECT_THAT(ReadEntries(*file, {1}), ElementsAre(Pair(1, streams[1])));
    EXPECT_THAT(ReadEntries(*file, {0}), ElementsAre(Pair(0, streams[0])));
    EXPECT_THAT(ReadEntries(*file, {}), IsEmpty());
  }
}

TEST_F(PatternFileTest, AnErrorOfTheReaderEndsReadingAndIsReturned) {
  Write(TwoStreams());
  const absl::StatusOr<PatternFile> file = PatternFile::Open(path());
  ASSERT_THAT(file, IsOk());
  int taken = 0;
  const auto take = [&taken](const v1::PatternChunk& /*chunk*/) {
    ++taken;
    return absl::InvalidArgumentError("the host does not take it");
  };
  EXPECT_THAT(file->Read({0, 1}, take), StatusIs(absl::StatusCode::kInvalidArgument, "the host does not take it"));
  EXPECT_EQ(taken, 1);
}

TEST_F(PatternFileTest, AFileThatIsCutOffAtAnyByteIsRefusedByItsName) {
  const std::string sha256 = Write(SmallStreams());
  const std::string whole = Bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    SetBytes(whole.substr(0, size));
    EXPECT_THAT(PatternFile::Open(path()), StatusIs(absl::StatusCode::kInvalidArgument, path())) << size;
    EXPECT_THAT(PatternFile::Open(path(), sha256), StatusIs(absl::StatusCode::kInvalidArgument, "SHA-256")) << size;
  }
  SetBytes(whole + "x");
  EXPECT_THAT(PatternFile::Open(path()), StatusIs(absl::StatusCode::kInvalidArgument, "damaged at byte"));
}

TEST_F(PatternFileTest, AChangedBitIsRefusedByTheDigestAndNeverGivesOtherSums) {
  const Streams streams = SmallStreams();
  const std::string sha256 = Write(streams);
  const std::string whole = Bytes();
  const v1::PatternHeader header = HeaderOf(streams);
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    SetBytes(changed);
    EXPECT_THAT(PatternFile::Open(path(), sha256),
                StatusIs(absl::StatusCode::kInvalidArgument, "this is another file, or it was changed"));
    const absl::StatusOr<PatternFile> file = PatternFile::Open(path());
    if (!file.ok()) {
      EXPECT_THAT(std::string(file.status().message()), HasSubstr(path())) << bit;
      continue;
    }
    // A name, a gap or the like was changed: header and entries still agree.
    for (const auto& [stream, entries] : ReadEntries(*file, {0, 1})) {
      uint64_t writes = 0;
      for (const PatternEntry& entry : entries) writes += entry.count;
      EXPECT_EQ(writes, file->header().streams(static_cast<int>(stream)).writes()) << bit;
      EXPECT_EQ(entries.size(), file->header().streams(static_cast<int>(stream)).entries()) << bit;
    }
  }
}

TEST_F(PatternFileTest, AnotherFileIsRefusedWithBothDigestsAndTheWayOut) {
  const std::string mine = Write(SmallStreams());
  const std::string other = Write(TwoStreams());
  const absl::Status refused = PatternFile::Open(path(), mine).status();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kInvalidArgument, absl::StrCat(path(), ": its SHA-256 is ", other)));
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr(mine), HasSubstr("remove pattern_sha256 from the plan")));
}

TEST_F(PatternFileTest, WhatIsNoPatternFileIsRefusedByItsName) {
  SetBytes("PLIMJRNL and more");
  EXPECT_THAT(PatternFile::Open(path()),
              StatusIs(absl::StatusCode::kInvalidArgument, "not a pattern file; `plimsoll plan from-watch` makes one"));
  SetBytes("");
  EXPECT_THAT(PatternFile::Open(path()), StatusIs(absl::StatusCode::kInvalidArgument, "not a pattern file"));
  EXPECT_THAT(PatternFile::Open(directory_.path()), StatusIs(absl::StatusCode::kInvalidArgument, "is a directory"));
  EXPECT_THAT(PatternFile::Open(directory_.Sub("none")), StatusIs(absl::StatusCode::kNotFound, "none"));
  // Nothing writes to the pipe: it is refused without waiting.
  ASSERT_EQ(mkfifo(directory_.Sub("pipe").c_str(), 0600), 0);
  EXPECT_THAT(PatternFile::Open(directory_.Sub("pipe")),
              StatusIs(absl::StatusCode::kInvalidArgument, "is not a regular file"));
  // Sparse: it is refused by its size.
  SetBytes(kMagic);
  ASSERT_EQ(truncate(path().c_str(), off_t{1} << 40), 0);
  EXPECT_THAT(PatternFile::Open(path()), StatusIs(absl::StatusCode::kInvalidArgument, "a pattern file has at most"));
}

TEST_F(PatternFileTest, LengthsThatReachBeyondTheFileOrTheLimitAreRefusedUnread) {
  const std::string header = Delimited(HeaderOf(SmallStreams()));
  const std::string too_long = "\x81\x80\x10";                                     // 262,145
  const std::string wraps("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);         // 2^64 - 1
  const std::string wraps_to_one("\x81\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10);  // 2^63 + 1
  const std::string endless(20, '\xff');
  for (const std::string& length : {too_long, wraps, wraps_to_one}) {
    SetBytes(kMagic + length + std::string(300'000, 'x'));
    EXPECT_THAT(PatternFile::Open(path()), StatusIs(absl::StatusCode::kInvalidArgument, "one has at most 262,144"));
    SetBytes(kMagic + header + length + std::string(300'000, 'x'));
    EXPECT_THAT(PatternFile::Open(path()), StatusIs(absl::StatusCode::kInvalidArgument, "one has at most 262,144"));
  }
  SetBytes(kMagic + endless);
  EXPECT_THAT(PatternFile::Open(path()), StatusIs(absl::StatusCode::kInvalidArgument, "damaged at byte 8"));
  SetBytes(kMagic + header + "\x7f" + "short");
  EXPECT_THAT(PatternFile::Open(path()), StatusIs(absl::StatusCode::kInvalidArgument, "ends within a part"));
}

TEST_F(PatternFileTest, AHeaderThatNoPatternHasIsRefused) {
  const v1::PatternHeader good = HeaderOf(SmallStreams());
  const auto refused = [&](const std::function<void(v1::PatternHeader&)>& change, const std::string& why) {
    v1::PatternHeader header = good;
    change(header);
    EXPECT_THAT(OpenMade(header, {}), StatusIs(absl::StatusCode::kInvalidArgument, why));
    EXPECT_THAT(TryWrite(header, {}), StatusIs(absl::StatusCode::kInvalidArgument, why));
  };
  refused([](auto& header) { header.clear_streams(); }, "0 streams");
  refused([](auto& header) { header.set_run_id("../x"); }, "the run id '../x'");
  refused(
      [&](auto& header) {
        for (int i = 0; i < kMostPatternStreams; ++i) *header.add_streams() = good.streams(0);
      },
      "1026 streams");
  refused([](auto& header) { header.mutable_streams(1)->set_length_ns(kNsPerSecond); }, "different lengths");
  for (const int64_t length_ns : {int64_t{0}, int64_t{-1}, kLongestPatternNs + 1, INT64_MIN}) {
    refused(
        [length_ns](auto& header) {
          for (auto& stream : *header.mutable_streams()) stream.set_length_ns(length_ns);
        },
        "one takes 1ms to 30d");
  }
  refused([](auto& header) { header.mutable_streams(1)->set_entries(UINT64_MAX); }, "more than 10,000,000 entries");
  refused([](auto& header) { header.mutable_streams(1)->set_entries(kMostPatternEntries); }, "more than 10,000,000");
  refused([](auto& header) { header.mutable_streams(0)->set_host(""); }, "no host or queue manager has");
  refused([](auto& header) { header.mutable_streams(0)->set_queue_manager("QM\x1b[2J"); },
          "no host or queue manager has");
  refused([](auto& header) { header.mutable_streams(0)->set_queue_manager(std::string(257, 'Q')); },
          "no host or queue manager has");
}

TEST_F(PatternFileTest, AnotherFormatNamesTheVersionThatIsNeeded) {
  v1::PatternHeader header = HeaderOf(SmallStreams());
  header.set_format(2);
  const absl::Status refused = OpenMade(header, {});
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition, absl::StrCat(path(), ": format 2")));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("use the version of plimsoll that made the file"));
}

TEST_F(PatternFileTest, ChunksThatContradictTheHeaderAreRefused) {
  const Streams streams = SmallStreams();
  const v1::PatternHeader header = HeaderOf(streams);
  const v1::PatternChunk first = ChunkOf(0, streams[0]);
  const v1::PatternChunk second = ChunkOf(1, streams[1]);
  EXPECT_THAT(OpenMade(header, {first, second}), IsOk());
  const auto refused = [&](const std::vector<v1::PatternChunk>& chunks, const std::string& why) {
    EXPECT_THAT(OpenMade(header, chunks), StatusIs(absl::StatusCode::kInvalidArgument, why));
  };
  refused({}, "stream 0 has 0 entries");
  refused({first}, "1 streams, and the header has 2");
  refused({second}, "stream 0 has 0 entries");
  refused({second, first}, "stream 0 has 0 entries");
  refused({first, second, first}, "stream 0 follows stream 1");
  refused({first, first, second}, "stream 0 has more entries than the 3");
  refused({first, second, ChunkOf(2, streams[1])}, "stream 2 follows stream 1 of 2");
  refused({first, ChunkOf(UINT32_MAX, streams[1])}, "follows stream 0");
  refused({first, v1::PatternChunk(), second}, "needs 1 to 16384");
  v1::PatternChunk uneven = first;
  uneven.add_gap_ns(1);
  refused({uneven, second}, "needs as many of both");
  std::vector<PatternEntry> entries = streams[1];
  entries[0].pages = 511;
  refused({first, ChunkOf(1, entries)}, "bytes in whole pages");
  entries = streams[1];
  entries[1].count = 1;
  refused({first, ChunkOf(1, entries)}, "stream 1 has 2 writes, and the header has 3");
  entries = streams[1];
  entries[1].gap_ns = static_cast<uint32_t>(2 * kNsPerSecond);
  refused({first, ChunkOf(1, entries)}, "beyond the recording's end");
  entries[1].pages = 4097;
  refused({first, ChunkOf(1, entries)}, "a write has at most 4096");
}

TEST_F(PatternFileTest, AStreamOfPausesAloneIsRefused) {
  const Streams streams = {{{1'000, 0, 0}}};
  EXPECT_THAT(OpenMade(HeaderOf(streams), {ChunkOf(0, streams[0])}),
              StatusIs(absl::StatusCode::kInvalidArgument, "stream 0 has no write"));
}

TEST_F(PatternFileTest, AnotherFileOfTheSameNameIsNotReadAndAChangedOneIsReported) {
  const Streams streams = SmallStreams();
  Write(streams);
  const absl::StatusOr<PatternFile> file = PatternFile::Open(path());
  ASSERT_THAT(file, IsOk());
  fs::rename(path(), directory_.Sub("moved"));
  SetBytes("another one");
  EXPECT_THAT(ReadEntries(*file, {0}), ElementsAre(Pair(0, streams[0])));
  // What is appended is not read; what is changed in place is.
  std::ofstream(directory_.Sub("moved"), std::ios::app | std::ios::binary) << "more";
  EXPECT_THAT(ReadEntries(*file, {0}), ElementsAre(Pair(0, streams[0])));
  const auto size = static_cast<std::streamoff>(fs::file_size(directory_.Sub("moved")));
  std::fstream changed(directory_.Sub("moved"), std::ios::in | std::ios::out | std::ios::binary);
  changed.seekp(size - 6);
  changed << "!";
  changed.close();
  EXPECT_THAT(file->Read({0}, [](const v1::PatternChunk& /*chunk*/) { return absl::OkStatus(); }),
              StatusIs(absl::StatusCode::kDataLoss, "changed after it was opened"));
  fs::resize_file(directory_.Sub("moved"), 20);
  EXPECT_THAT(file->Read({0}, [](const v1::PatternChunk& /*chunk*/) { return absl::OkStatus(); }),
              StatusIs(absl::StatusCode::kDataLoss, "changed after it was opened"));
}

TEST_F(PatternFileTest, NothingAppearsUnlessAllIsWrittenThatTheHeaderStates) {
  const Streams streams = SmallStreams();
  Streams fewer = streams;
  fewer[1].pop_back();
  EXPECT_THAT(TryWrite(HeaderOf(streams), fewer),
              StatusIs(absl::StatusCode::kInvalidArgument, "stream 1 has 1 entries"));
  Streams more = streams;
  more[0].push_back({1, 1, 1});
  EXPECT_THAT(TryWrite(HeaderOf(streams), more), StatusIs(absl::StatusCode::kInvalidArgument, "more entries"));
  EXPECT_TRUE(fs::is_empty(directory_.path()));
  // An older file stays until the new one is complete.
  const std::string sha256 = Write(streams);
  EXPECT_THAT(TryWrite(HeaderOf(streams), fewer), Not(IsOk()));
  EXPECT_EQ(Sha256(Bytes()), sha256);
}

}  // namespace
}  // namespace plimsoll
