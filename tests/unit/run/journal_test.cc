#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
#include "controller/journal/results.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

class JournalTest : public ::testing::Test {
 protected:
  // A journal of `records` notes.
  void Write(int records) {
    auto writer = JournalWriter::Create(path_);
    ASSERT_THAT(writer, IsOk());
    for (int i = 0; i < records; ++i) {
      v1::JournalRecord record;
      record.set_time_ns(i);
      record.mutable_note()->set_text(std::string(static_cast<size_t>(i % 50), 'n'));
      ASSERT_THAT((*writer)->Append(record), IsOk());
    }
    ASSERT_THAT((*writer)->Flush(), IsOk());
  }
  absl::StatusOr<JournalEnd> Read() {
    times_.clear();
    return ReadJournal(path_, [this](const v1::JournalRecord& record) { times_.push_back(record.time_ns()); });
  }
  // Returns what was there.
  char Overwrite(std::streamoff offset, char byte) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const char before = static_cast<char>(file.get());
    file.seekp(offset);
    file.put(byte);
    return before;
  }

  tests::TempDirectory directory_;
  std::string path_ = directory_.path() + "/journal";
  std::vector<int64_t> times_;
};

TEST_F(JournalTest, GivesBackEveryRecordInOrder) {
  Write(100);
  const auto end = Read();
  ASSERT_THAT(end, IsOk());
  EXPECT_EQ(end->records, 100U);
  EXPECT_EQ(end->trailing_bytes, 0U);
  ASSERT_EQ(times_.size(), 100U);
  for (size_t i = 0; i < times_.size(); ++i) EXPECT_EQ(times_[i], static_cast<int64_t>(i));
}

// Journals are read on machines of either byte order.
TEST_F(JournalTest, KeepsItsLayout) {
  auto writer = JournalWriter::Create(path_);
  ASSERT_THAT(writer, IsOk());
  v1::JournalRecord record;
  record.set_time_ns(1000);
  record.mutable_note()->set_text("hi");
  ASSERT_THAT((*writer)->Append(record), IsOk());
  ASSERT_THAT((*writer)->Flush(), IsOk());
  const auto bytes = ReadFile(path_, 100);
  ASSERT_THAT(bytes, IsOk());
  EXPECT_EQ(absl::BytesToHexString(*bytes), absl::StrFormat("504c494d4a524e4c"
                                                            "09000000%02x00000024b28c8d"
                                                            "08e80762040a026869",
                                                            kUnnumberedFormat));
}

TEST_F(JournalTest, ReportsWhereEachRecordLiesSoThatPartsCanBeReadAgain) {
  Write(100);
  const auto parts = JournalParts::Open(path_);
  ASSERT_THAT(parts, IsOk());
  int records = 0;
  const auto end = ReadRawJournal(path_, [&](const v1::JournalRecord& record, const RawRecord& raw) {
    EXPECT_EQ(raw.payload, record.SerializeAsString());
    std::string again;
    EXPECT_THAT(parts->Read(raw.offset, raw.payload.size(), again), IsOk());
    EXPECT_EQ(again, raw.payload);
    ++records;
  });
  ASSERT_THAT(end, IsOk());
  EXPECT_EQ(records, 100);
  std::string beyond;
  EXPECT_THAT(parts->Read(end->bytes - 1, 2, beyond), StatusIs(absl::StatusCode::kDataLoss, "shrank"));
  EXPECT_FALSE(JournalParts::Open(path_ + "x").ok());
}

TEST_F(JournalTest, CutAtEveryByteGivesAWholePrefix) {
  Write(20);
  const auto size = std::filesystem::file_size(path_);
  size_t last = 20;
  for (auto cut = size; cut-- > 8;) {
    std::filesystem::resize_file(path_, cut);
    const auto end = Read();
    ASSERT_THAT(end, IsOk()) << "cut at " << cut;
    EXPECT_EQ(end->bytes + end->trailing_bytes, cut);
    EXPECT_LE(times_.size(), last);
    EXPECT_GE(times_.size() + 1, last);
    last = times_.size();
  }
  EXPECT_EQ(last, 0U);
}

TEST_F(JournalTest, NamesTheRecordThatIsDamaged) {
  Write(20);
  Overwrite(static_cast<std::streamoff>(std::filesystem::file_size(path_)) - 1, '!');
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kDataLoss, "record 20"));
  EXPECT_EQ(times_.size(), 19U) << "what comes before the damage is still given";
}

TEST_F(JournalTest, SeesDamageInAnyByteOfAHeader) {
  Write(1);
  for (std::streamoff byte = 8; byte < 20; ++byte) {
    const char before = Overwrite(byte, '!');
    const auto end = Read();
    // A longer record looks like one that was cut off.
    EXPECT_TRUE(!end.ok() || end->trailing_bytes > 0) << "byte " << byte;
    EXPECT_TRUE(times_.empty()) << "byte " << byte;
    Overwrite(byte, before);
  }
}

TEST_F(JournalTest, RefusesANewerFormat) {
  Write(1);
  Overwrite(12, static_cast<char>(kJournalFormat + 1));
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kFailedPrecondition, "newer"));
}

TEST_F(JournalTest, ReadsTheFormatsBefore) {
  Write(1);
  Overwrite(12, 1);
  EXPECT_THAT(Read(), IsOk());
  EXPECT_EQ(times_.size(), 1U);
}

TEST_F(JournalTest, RefusesAFileThatIsNoJournal) {
  std::ofstream(path_) << "hello, this is a text";
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kInvalidArgument, "not a journal"));
}

TEST_F(JournalTest, NeverOverwritesAJournal) {
  Write(1);
  EXPECT_THAT(JournalWriter::Create(path_), StatusIs(absl::StatusCode::kAlreadyExists, path_));
}

// Under a load that never lets the journal's thread rest: the rest of what the controller received within the last
// second is at most this.
TEST_F(JournalTest, NoMoreThanAQuarterMebibyteWaitsToBeWritten) {
  auto writer = JournalWriter::Create(path_);
  ASSERT_THAT(writer, IsOk());
  v1::JournalRecord record;
  record.mutable_note()->set_text(std::string(10'000, 'n'));
  for (uint64_t appended = 1; appended <= 200; ++appended) {
    ASSERT_THAT((*writer)->Append(record), IsOk());
    ASSERT_LT(appended * 10'000, std::filesystem::file_size(path_) + (256 << 10));
  }
}

TEST_F(JournalTest, ARecordThatWouldTakeTooMuchMemoryIsDamageAndIsNotParsed) {
  // Messages that follow one another are one message: four million empty directories in 36 MB.
  v1::JournalRecord one;
  one.mutable_host_joined()->mutable_description()->add_directories();
  const std::string bytes = one.SerializeAsString();
  std::string payload;
  for (int i = 0; i < 4'000'000; ++i) payload += bytes;
  std::ofstream file(path_, std::ios::binary);
  file << "PLIMJRNL";
  for (int shift = 0; shift < 32; shift += 8) file.put(static_cast<char>((payload.size() >> shift) & 0xff));
  file.put(static_cast<char>(kJournalFormat));
  file << std::string(3, '\0') << std::string(4, '\0') << payload;
  file.close();
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kDataLoss, "record 1 at byte 8 is damaged: "));
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kDataLoss, "would take more than 512 MiB"));
  EXPECT_TRUE(times_.empty());
}

TEST_F(JournalTest, KeepsWhatFitsWhenItCannotGrow) {
  auto writer = JournalWriter::Create(path_);
  ASSERT_THAT(writer, IsOk());
  const tests::FileSizeLimit limit(4096);
  v1::JournalRecord record;
  record.mutable_note()->set_text(std::string(10'000, 'n'));
  ASSERT_THAT((*writer)->Append(record), IsOk());
  EXPECT_FALSE((*writer)->Flush().ok());
  EXPECT_THAT((*writer)->Append(record), StatusIs((*writer)->Flush().code(), path_));
  const auto end = Read();
  ASSERT_THAT(end, IsOk()) << "what fits is a journal that was cut off";
  EXPECT_GT(end->trailing_bytes, 0U);
}

}  // namespace
}  // namespace plimsoll
