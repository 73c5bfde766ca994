#include "agent/writer/log_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

// Files that hold nothing but what was asked of them. Descriptors are those of /dev/null.
class FakeFileOps final : public FileOps {
 public:
  struct Written {
    std::string name;
    uint64_t offset_bytes;
    uint64_t size_bytes;
    bool direct;
  };

  bool refuse_direct_at_open = false;
  bool refuse_direct_at_write = false;
  bool forget_dsync = false;
  uint32_t align_bytes = 0;
  // What is left on the disk.
  uint64_t free_bytes = UINT64_MAX;
  int error_when_full = ENOSPC;
  std::vector<Written> written;
  std::vector<std::pair<std::string, int>> created;
  int syncs = 0;

  absl::StatusOr<UniqueFd> Create(const std::string& relative, int flags) override {
    if ((flags & O_DIRECT) != 0 && refuse_direct_at_open)
      return absl::InvalidArgumentError("openat2 x: no direct (22)");
    created.emplace_back(relative, flags);
    const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    files_[fd] = {relative, forget_dsync ? flags & ~O_DSYNC : flags};
    return UniqueFd(fd);
  }
  std::string PathOf(const std::string& relative) const override { return "/run/" + relative; }
  int64_t Write(int fd, uint64_t offset_bytes, const std::byte* /*data*/, size_t size_bytes) override {
    const bool direct = (files_[fd].flags & O_DIRECT) != 0;
    if (direct && refuse_direct_at_write) return -EINVAL;
    if (free_bytes == 0) return -error_when_full;
    const uint64_t done = std::min<uint64_t>(free_bytes, size_bytes);
    if (free_bytes != UINT64_MAX) free_bytes -= done;
    written.push_back({files_[fd].name, offset_bytes, done, direct});
    return static_cast<int64_t>(done);
  }
  int Sync(int /*fd*/) override {
    ++syncs;
    return 0;
  }
  int GetFlags(int fd) override { return files_[fd].flags; }
  int SetFlags(int fd, int flags) override {
    files_[fd].flags = flags;
    return 0;
  }
  uint32_t DirectAlignBytes(int /*fd*/) override { return align_bytes; }
  absl::StatusOr<Space> MeasureSpace() override { return space; }

  // What the file system says of itself: nothing, as some do.
  Space space;

 private:
  struct File {
    std::string name;
    int flags = 0;
  };
  std::map<int, File> files_;
};

constexpr uint64_t kMiB = uint64_t{1} << 20U;

class LogFilesTest : public ::testing::Test {
 protected:
  absl::Status Prepare() {
    std::vector<uint64_t> sizes = options_.block_bytes;
    for (const uint64_t size : LogFiles::ChunkSizes(options_)) sizes.push_back(size);
    BlockSource source({{}, 0, options_.qm}, sizes);
    files_ = std::make_unique<LogFiles>(options_, ops_);
    return files_->Prepare(source, [this] { return before_; }, [this](uint64_t bytes) { reported_bytes_ += bytes; });
  }

  FakeFileOps ops_;
  v1::LogWorkload workload_ = [] {
    v1::LogWorkload workload;
    workload.set_file_prefix("S");
    workload.set_file_size_bytes(2 * kMiB + 8192);
    workload.set_num_files(2);
    workload.set_sync(v1::SYNC_MODE_DSYNC);
    workload.set_direct(v1::DIRECT_MODE_AUTO);
    return workload;
  }();
  LogFilesOptions options_{.qm = 3, .workload = workload_, .block_bytes = {4096}};
  std::unique_ptr<LogFiles> files_;
  absl::Status before_;
  uint64_t reported_bytes_ = 0;
};

TEST_F(LogFilesTest, FillsEveryExtentOnceInPiecesOfAtMostOneMebibyte) {
  ASSERT_THAT(Prepare(), IsOk());
  ASSERT_EQ(ops_.written.size(), 6U);
  uint64_t total = 0;
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(ops_.written[i].name, i < 3 ? "qm3/active/S0000000.LOG" : "qm3/active/S0000001.LOG");
    EXPECT_EQ(ops_.written[i].offset_bytes, i % 3 * kMiB);
    EXPECT_EQ(ops_.written[i].size_bytes, i % 3 == 2 ? 8192 : kMiB);
    EXPECT_TRUE(ops_.written[i].direct);
    total += ops_.written[i].size_bytes;
  }
  EXPECT_EQ(reported_bytes_, total);
  EXPECT_EQ(files_->open_flags(), "O_RDWR|O_DSYNC|O_DIRECT");
  EXPECT_EQ(files_->path(1), "/run/qm3/active/S0000001.LOG");
  EXPECT_EQ(files_->size(), 2U);
  // O_DSYNC has put every piece on the disk.
  EXPECT_EQ(ops_.syncs, 0);
}

TEST_F(LogFilesTest, FillsItsPartOfAFileAndNothingElse) {
  options_.part = LogFilesOptions::Part{
      .file = "files/F000", .offset_bytes = 3 * kMiB + 8192, .size_bytes = kMiB + 4096, .fill = true};
  ASSERT_THAT(Prepare(), IsOk());
  ASSERT_THAT(ops_.written, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(ops_.written[i].name, "files/F000");
    EXPECT_EQ(ops_.written[i].offset_bytes, 3 * kMiB + 8192 + i * kMiB);
    EXPECT_EQ(ops_.written[i].size_bytes, i == 0 ? kMiB : 4096);
  }
  EXPECT_EQ(reported_bytes_, kMiB + 4096);
  EXPECT_EQ(files_->size(), 1U);
  EXPECT_EQ(files_->path(0), "/run/files/F000");
  EXPECT_EQ(files_->base_bytes(), 3 * kMiB + 8192);
  ops_ = {};
  ops_.free_bytes = kMiB;
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kResourceExhausted,
                                  "(28) at offset 4202496 while filling the file; free space there, or use a smaller "
                                  "--file-size or fewer --files"));
}

TEST_F(LogFilesTest, AFileThatExistsIsOpenedAndNotWritten) {
  options_.part = LogFilesOptions::Part{.file = "/mnt/data", .size_bytes = kMiB, .read_only = true};
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_THAT(ops_.written, IsEmpty());
  EXPECT_EQ(ops_.syncs, 0);
  EXPECT_EQ(files_->open_flags(), "O_RDONLY|O_DSYNC|O_DIRECT");
  options_.part->read_only = false;
  workload_.set_sync(v1::SYNC_MODE_FSYNC);
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_THAT(ops_.written, IsEmpty());
  EXPECT_EQ(files_->open_flags(), "O_RDWR|O_DIRECT");
  options_.block_bytes = {1000};
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument, "block size 1000 is not a multiple of the 512"));
}

TEST_F(LogFilesTest, SyncsOnceWhereTheFlagsDoNot) {
  for (const v1::SyncMode mode : {v1::SYNC_MODE_FDATASYNC, v1::SYNC_MODE_FSYNC, v1::SYNC_MODE_NONE}) {
    ops_ = {};
    workload_.set_sync(mode);
    ASSERT_THAT(Prepare(), IsOk());
    EXPECT_EQ(ops_.syncs, 2);
    EXPECT_EQ(files_->open_flags(), "O_RDWR|O_DIRECT");
  }
}

TEST_F(LogFilesTest, ARefusalOfDirectAtTheOpenHoldsForAllExtents) {
  ops_.refuse_direct_at_open = true;
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_FALSE(files_->direct());
  EXPECT_EQ(files_->direct_refused(), "openat2 x: no direct (22)");
  EXPECT_THAT(ops_.created, ElementsAre(Pair("qm3/active/S0000000.LOG", O_RDWR | O_DSYNC),
                                        Pair("qm3/active/S0000001.LOG", O_RDWR | O_DSYNC)));
}

TEST_F(LogFilesTest, ARefusalOfDirectAtTheFirstWriteHoldsForAllExtents) {
  ops_.refuse_direct_at_write = true;
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_FALSE(files_->direct());
  EXPECT_THAT(files_->direct_refused(), HasSubstr("pwritev2 /run/qm3/active/S0000000.LOG: Invalid argument (22)"));
  EXPECT_EQ(files_->open_flags(), "O_RDWR|O_DSYNC");
  for (const auto& piece : ops_.written) EXPECT_FALSE(piece.direct);
}

TEST_F(LogFilesTest, DirectThatWasAskedForIsDirectOrAnError) {
  workload_.set_direct(v1::DIRECT_MODE_ON);
  ops_.refuse_direct_at_open = true;
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument, "refuses O_DIRECT; use --direct auto or off"));
  ops_ = {};
  ops_.refuse_direct_at_write = true;
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument, "S0000000.LOG: Invalid argument (22)"));
}

TEST_F(LogFilesTest, DirectThatWasNotAskedForIsNotTried) {
  workload_.set_direct(v1::DIRECT_MODE_OFF);
  ASSERT_THAT(Prepare(), IsOk());
  EXPECT_EQ(files_->open_flags(), "O_RDWR|O_DSYNC");
  EXPECT_EQ(files_->direct_refused(), "");
}

TEST_F(LogFilesTest, ABlockThatDirectWouldRefuseIsRefusedBeforeAnythingIsWritten) {
  ops_.align_bytes = 4096;
  options_.block_bytes = {8192, 6144};
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  "block size 6k is not a multiple of the 4096 bytes that O_DIRECT requires"));
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument, "--direct off"));
  EXPECT_THAT(ops_.written, IsEmpty());
  workload_.set_direct(v1::DIRECT_MODE_OFF);
  EXPECT_THAT(Prepare(), IsOk());
}

TEST_F(LogFilesTest, WhereTheKernelDoesNotReportTheAlignmentIsADisksSmallestBlock) {
  options_.block_bytes = {1000};
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument, "block size 1000 is not a multiple of the 512"));
  options_.block_bytes = {4096};
  workload_.set_file_size_bytes(5000);
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument, "extent size 5000 is not a multiple of the 512"));
}

TEST_F(LogFilesTest, AFullDiskSaysWhereAndWhatToDo) {
  ops_.free_bytes = 3 * kMiB;
  EXPECT_THAT(Prepare(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "pwritev2 /run/qm3/active/S0000001.LOG: No space left on device (28) at offset 1040384"));
  ops_ = {};
  ops_.free_bytes = 3 * kMiB;
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kResourceExhausted, "use a smaller --file-size, --num-files"));
  ops_ = {};
  ops_.free_bytes = 0;
  ops_.error_when_full = EDQUOT;
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kResourceExhausted, "free space there"));
}

TEST_F(LogFilesTest, AShortWriteThatIsNotAboutSpaceIsAnErrorOfItsOwn) {
  ops_.free_bytes = 1000;
  ops_.error_when_full = EINTR;
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kDataLoss, "short write at offset 0: 1000 of 1048576 bytes"));
}

TEST_F(LogFilesTest, StopsWhereItMayNotGoOn) {
  before_ = absl::CancelledError("stopped");
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kCancelled, "stopped"));
  EXPECT_THAT(ops_.created, IsEmpty());
}

TEST_F(LogFilesTest, FlagsThatTheKernelDidNotTakeAreAnError) {
  ops_.forget_dsync = true;
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  "was opened with O_RDWR|O_DSYNC|O_DIRECT, but the kernel reports O_RDWR|O_DIRECT"));
}

TEST_F(LogFilesTest, DropsDirectWhereAnotherWriterHasToDoWithoutIt) {
  ASSERT_THAT(Prepare(), IsOk());
  ASSERT_THAT(files_->DropDirect("refused elsewhere"), IsOk());
  EXPECT_FALSE(files_->direct());
  EXPECT_EQ(files_->direct_refused(), "refused elsewhere");
  EXPECT_EQ(files_->open_flags(), "O_RDWR|O_DSYNC");
}

TEST(FlagsInWords, DistinguishesSyncFromDsync) {
  EXPECT_EQ(FlagsInWords(O_RDWR | O_SYNC | O_CLOEXEC), "O_RDWR|O_SYNC");
  EXPECT_EQ(FlagsInWords(O_RDWR | O_DSYNC | O_DIRECT), "O_RDWR|O_DSYNC|O_DIRECT");
  EXPECT_EQ(FlagsInWords(O_RDONLY), "O_RDONLY");
}

TEST_F(LogFilesTest, NoPieceIsWrittenThatWouldLeaveLessThanMustStayFree) {
  workload_.set_min_free_bytes(5 * kMiB);
  ops_.space = {100 * kMiB, 6 * kMiB};
  EXPECT_THAT(Prepare(), IsOk()) << "the space of this fake does not shrink";
  ops_.space.free_bytes = 6 * kMiB - 1;
  ops_.written.clear();
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kResourceExhausted, "must remain free (--min-free)"));
  EXPECT_TRUE(ops_.written.empty());
}

TEST_F(LogFilesTest, FivePercentOr256MiBStayFreeWhereNothingIsAskedFor) {
  ops_.space = {10240 * kMiB, 512 * kMiB};
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kResourceExhausted, "512 MiB must remain free"));
  ops_.space = {1000 * kMiB, 256 * kMiB};
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kResourceExhausted, "256 MiB must remain free"));
  ops_.space = {1000 * kMiB, 258 * kMiB};
  EXPECT_THAT(Prepare(), IsOk());
}

}  // namespace
}  // namespace plimsoll::tests
