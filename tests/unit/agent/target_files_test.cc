// Which files an agent opens that its runs did not make, and that everything else stays as it is.
#include "agent/host/target_files.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "agent/host/kept_files.h"
#include "common/posix.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

constexpr uint64_t kFileBytes = uint64_t{64} << 10;

class TargetFilesTest : public ::testing::Test {
 public:
  ~TargetFilesTest() override {
    EXPECT_EQ(tests::ReadText(precious_), "precious");
    EXPECT_EQ(fs::hard_link_count(precious_), 1U);
  }

 protected:
  TargetFilesTest() {
    sandbox_ = *Sandbox::Create({root_}, tests::kMine);
    tests::WriteText(precious_, "precious");
  }

  std::unique_ptr<TargetFiles> Files(bool kept, std::vector<std::string> targets = {}) const {
    auto files = TargetFiles::Create(*sandbox_, {kept, std::move(targets)});
    EXPECT_THAT(files, IsOk());
    return *std::move(files);
  }
  // A file that a plan's `create` left.
  std::string MakeKept(const std::string& name) const {
    const std::string path = root_ + "/" + name;
    EXPECT_THAT(Files(true)->Make(path, kFileBytes, 0), IsOk());
    return path;
  }
  static void Write(const TargetFile& file, const std::string& text) {
    const auto fd = file.Open(O_RDWR);
    ASSERT_THAT(fd, IsOk());
    ASSERT_EQ(pwrite(fd->get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }

  TempDirectory temp_;
  const std::string root_ = temp_.MakeDirectory("root");
  const std::string outside_ = temp_.MakeDirectory("outside");
  const std::string precious_ = outside_ + "/precious";
  std::unique_ptr<Sandbox> sandbox_;
};

TEST_F(TargetFilesTest, WithoutOptionsNothingIsOpenedOrMade) {
  const auto files = Files(false);
  const std::string inside = root_ + "/inside";
  tests::WriteText(inside, "inside");
  for (const std::string& path : {precious_, inside, root_ + "/missing", std::string("/dev/null")}) {
    for (const FileUse use : {FileUse::kRead, FileUse::kWrite}) {
      for (const bool overwrite : {false, true}) {
        const auto file = files->Open(path, use, overwrite);
        EXPECT_THAT(file, StatusIs(StatusCode::kPermissionDenied, "--allow-target " + path));
        EXPECT_THAT(file, StatusIs(StatusCode::kPermissionDenied, "--allow-kept"));
      }
    }
    EXPECT_THAT(files->Make(path, kFileBytes, 0), StatusIs(StatusCode::kPermissionDenied, "--allow-kept"));
    EXPECT_EQ(files->Describe(path).error_code(), static_cast<int>(StatusCode::kPermissionDenied));
    EXPECT_THAT(files->Describe(path).write_error(), HasSubstr("--allow-target"));
  }
  EXPECT_EQ(tests::ReadText(inside), "inside");
  EXPECT_FALSE(fs::exists(root_ + "/missing"));
}

TEST_F(TargetFilesTest, EachCombinationOfPermissionsOpensWhatItAllowsAndNothingElse) {
  const std::string kept = MakeKept("kept");
  const std::string inside = root_ + "/inside";
  tests::WriteText(inside, "inside");
  for (const bool allow_kept : {false, true}) {
    for (const bool allow_target : {false, true}) {
      const auto files = Files(allow_kept, allow_target ? std::vector{outside_, inside} : std::vector<std::string>());
      for (const FileUse use : {FileUse::kRead, FileUse::kWrite}) {
        for (const bool overwrite : {false, true}) {
          const bool read = use == FileUse::kRead;
          const auto where = absl::StrCat(allow_kept, allow_target, read, overwrite);
          EXPECT_EQ(files->Open(kept, use, overwrite).ok(), allow_kept) << where;
          for (const std::string& path : {inside, precious_}) {
            const auto file = files->Open(path, use, overwrite);
            EXPECT_EQ(file.ok(), allow_target && (read || overwrite)) << where;
            if (file.ok()) {
              EXPECT_FALSE(file->kept());
            }
            if (!file.ok()) {
              EXPECT_THAT(file, StatusIs(StatusCode::kPermissionDenied, "")) << where;
            }
          }
          if (allow_target && !read && !overwrite) {
            EXPECT_THAT(files->Open(precious_, use, overwrite), StatusIs(StatusCode::kPermissionDenied, "--overwrite"));
          }
        }
      }
    }
  }
  EXPECT_EQ(tests::ReadText(inside), "inside");
}

TEST_F(TargetFilesTest, ATargetIsAFileOrWhatIsInADirectory) {
  fs::create_directories(outside_ + "/a/b");
  tests::WriteText(outside_ + "/a/b/deep", "x");
  tests::WriteText(outside_ + "/ab", "x");
  const auto files = Files(false, {outside_ + "/./a//"});
  EXPECT_THAT(files->Open(outside_ + "/a/b/deep", FileUse::kRead, false), IsOk());
  EXPECT_THAT(files->Open(outside_ + "//a/./b/deep", FileUse::kRead, false), IsOk());
  // Names that only begin like the target.
  EXPECT_THAT(files->Open(outside_ + "/ab", FileUse::kRead, false), StatusIs(StatusCode::kPermissionDenied, ""));
  EXPECT_THAT(files->Open(outside_ + "/a/missing", FileUse::kRead, false), StatusIs(StatusCode::kNotFound, "missing"));
  EXPECT_THAT(TargetFiles::Create(*sandbox_, {false, {"relative"}}),
              StatusIs(StatusCode::kInvalidArgument, "relative"));
  EXPECT_THAT(TargetFiles::Create(*sandbox_, {false, {""}}), StatusIs(StatusCode::kInvalidArgument, "--allow-target"));
}

TEST_F(TargetFilesTest, APathThatIsNoneOfAFileIsRefused) {
  const auto files = Files(true, {"/"});
  const std::string with_zero = outside_ + "/x" + std::string(1, '\0') + "y";
  for (const std::string& path :
       {std::string(), std::string("precious"), std::string("/"), outside_ + "/", outside_ + "/.",
        outside_ + "/../outside/precious", root_ + "/a\n00 1 2 3.4 b", with_zero}) {
    EXPECT_THAT(files->Open(path, FileUse::kRead, false), StatusIs(StatusCode::kInvalidArgument, "")) << path;
    EXPECT_THAT(files->Make(path, kFileBytes, 0), StatusIs(StatusCode::kInvalidArgument, "")) << path;
  }
}

TEST_F(TargetFilesTest, WhatIsNoPlainFileIsRefusedInEveryUse) {
  const std::string path = outside_ + "/it";
  const auto files = Files(true, {outside_, "/dev/null", root_});
  const std::vector<std::pair<std::function<void()>, std::string>> plants = {
      {[&] { fs::create_symlink(precious_, path); }, "a symbolic link"},
      {[&] { fs::create_directory(path); }, "a directory"},
      {[&] { mkfifo(path.c_str(), 0600); }, "a FIFO"},
      {[&] {
         const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM, 0));
         sockaddr_un address{};
         address.sun_family = AF_UNIX;
         path.copy(address.sun_path, sizeof(address.sun_path) - 1);
         ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
       },
       "a socket"},
  };
  for (const auto& [plant, what] : plants) {
    plant();
    for (const FileUse use : {FileUse::kRead, FileUse::kWrite}) {
      EXPECT_THAT(files->Open(path, use, true), StatusIs(StatusCode::kFailedPrecondition, path + " is " + what));
    }
    EXPECT_THAT(files->Describe(path).error(), HasSubstr(what));
    fs::remove(path);
  }
  EXPECT_THAT(files->Open("/dev/null", FileUse::kWrite, true),
              StatusIs(StatusCode::kFailedPrecondition, "a character device"));
  // A link in the way, to a directory.
  fs::create_directory_symlink(outside_, root_ + "/link");
  EXPECT_THAT(files->Open(root_ + "/link/precious", FileUse::kWrite, true),
              StatusIs(StatusCode::kPermissionDenied, "symbolic links are not followed"));
  EXPECT_THAT(files->Make(root_ + "/link/new", kFileBytes, 0),
              StatusIs(StatusCode::kPermissionDenied, "symbolic links are not followed"));
  EXPECT_FALSE(fs::exists(outside_ + "/new"));
}

TEST_F(TargetFilesTest, AFileWithSeveralNamesIsReadOnly) {
  const std::string name = outside_ + "/name";
  const auto files = Files(true, {outside_});
  fs::create_hard_link(precious_, name);
  EXPECT_THAT(files->Open(name, FileUse::kRead, false), IsOk());
  EXPECT_THAT(files->Open(name, FileUse::kWrite, true), StatusIs(StatusCode::kFailedPrecondition, "2 names"));
  EXPECT_EQ(files->Describe(name).error(), "");
  EXPECT_THAT(files->Describe(name).write_error(), HasSubstr("2 names"));
  fs::remove(name);
  const std::string kept = MakeKept("kept");
  fs::create_hard_link(kept, root_ + "/second");
  EXPECT_THAT(files->Open(kept, FileUse::kWrite, false), StatusIs(StatusCode::kFailedPrecondition, "2 names"));
  EXPECT_THAT(files->Make(kept, kFileBytes, 0), StatusIs(StatusCode::kFailedPrecondition, "2 names"));
}

TEST_F(TargetFilesTest, FilesOfTheKernelAreRefused) {
  const auto files = Files(false, {"/"});
  EXPECT_THAT(files->Open("/proc/uptime", FileUse::kRead, false),
              StatusIs(StatusCode::kFailedPrecondition, "the kernel's"));
  EXPECT_FALSE(files->Open("/proc/self/mem", FileUse::kWrite, true).ok());
}

TEST_F(TargetFilesTest, AFileOfAQueueManagerIsRefusedInEveryUse) {
  const std::string manager = outside_ + "/QM1";
  fs::create_directories(manager + "/active");
  fs::create_directories(manager + "/queues/Q1");
  const std::vector<std::string> paths = {manager + "/active/S0000000.LOG", manager + "/amqhlctl.lfh",
                                          manager + "/other", manager + "/queues/Q1/q"};
  for (const std::string& path : paths) tests::WriteText(path, "log");
  const auto files = Files(true, {outside_});
  for (const std::string& path : paths) {
    for (const FileUse use : {FileUse::kRead, FileUse::kWrite}) {
      EXPECT_THAT(files->Open(path, use, true), StatusIs(StatusCode::kFailedPrecondition, "queue manager")) << path;
    }
    EXPECT_EQ(files->Describe(path).error_code(), static_cast<int>(StatusCode::kFailedPrecondition));
  }
  fs::rename(manager + "/amqhlctl.lfh", manager + "/qm.ini");
  EXPECT_THAT(files->Open(manager + "/queues/Q1/q", FileUse::kWrite, true),
              StatusIs(StatusCode::kFailedPrecondition, "qm.ini"));
  fs::remove(manager + "/qm.ini");
  // Without a sign of a queue manager beside it, a log may be read, but still not written.
  EXPECT_THAT(files->Open(paths[0], FileUse::kRead, false), IsOk());
  EXPECT_THAT(files->Open(paths[0], FileUse::kWrite, true), StatusIs(StatusCode::kFailedPrecondition, "log file"));
  EXPECT_THAT(files->Open(manager + "/other", FileUse::kWrite, true), IsOk());
  for (const std::string& path : paths) {
    if (fs::exists(path)) {
      EXPECT_EQ(tests::ReadText(path), "log") << path;
    }
  }
  tests::WriteText(root_ + "/amqhlctl.lfh", "x");
  EXPECT_THAT(files->Make(root_ + "/new", kFileBytes, 0), StatusIs(StatusCode::kFailedPrecondition, "queue manager"));
}

TEST_F(TargetFilesTest, NamesOfPlimsollItselfAreRefused) {
  const std::string run = root_ + "/plimsoll-7f3a21/alpha";
  fs::create_directories(run);
  tests::WriteText(run + "/extent", "x");
  tests::WriteText(run + "/.plimsoll-owner", "x");
  MakeKept("kept");
  const auto files = Files(true, {root_});
  for (const std::string& path : {root_ + "/" + kKeptMarkerName, root_ + "/.plimsoll-x/y"}) {
    EXPECT_THAT(files->Open(path, FileUse::kRead, true), StatusIs(StatusCode::kPermissionDenied, "Plimsoll's own"));
    EXPECT_THAT(files->Make(path, kFileBytes, 0), StatusIs(StatusCode::kPermissionDenied, "Plimsoll's own"));
  }
  EXPECT_THAT(files->Open(run + "/.plimsoll-owner", FileUse::kRead, true), StatusIs(StatusCode::kPermissionDenied, ""));
  EXPECT_THAT(files->Make(run + "/.plimsoll-owner", kFileBytes, 0),
              StatusIs(StatusCode::kPermissionDenied, "run's directory"));
  EXPECT_THAT(files->Open(run + "/extent", FileUse::kRead, false), IsOk());
  EXPECT_THAT(files->Open(run + "/extent", FileUse::kWrite, true),
              StatusIs(StatusCode::kPermissionDenied, "run's directory"));
  EXPECT_THAT(files->Make(run + "/new", kFileBytes, 0), StatusIs(StatusCode::kPermissionDenied, "run's directory"));
}

TEST_F(TargetFilesTest, AFileThatIsMadeIsKeptAndCanBeUsedAgain) {
  const std::string path = root_ + "/F000";
  const auto files = Files(true);
  {
    const auto made = files->Make(path, kFileBytes, 0);
    ASSERT_THAT(made, IsOk());
    EXPECT_EQ(made->path(), path);
    EXPECT_EQ(made->size_bytes(), kFileBytes);
    EXPECT_TRUE(made->kept());
    EXPECT_FALSE(made->block_device());
    Write(*made, "first");
  }
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(static_cast<uint64_t>(info.st_size), kFileBytes);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  {
    const auto opened = files->Open(path, FileUse::kWrite, false);
    ASSERT_THAT(opened, IsOk());
    EXPECT_TRUE(opened->kept());
    EXPECT_THAT(tests::ReadText(path), StartsWith("first"));
  }
  {
    const auto again = files->Make(path, 2 * kFileBytes, 0);
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(again->size_bytes(), 2 * kFileBytes);
    EXPECT_FALSE(again->is_new());
  }
  EXPECT_EQ(tests::ReadText(path), std::string(2 * kFileBytes, '\0'));
  struct stat after{};
  ASSERT_EQ(stat(path.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, info.st_ino);
  // Neither another agent nor one without the option may use it.
  const auto other = Sandbox::Create({root_}, tests::kOther);
  const auto others = TargetFiles::Create(**other, {true, {}});
  EXPECT_THAT((*others)->Open(path, FileUse::kWrite, true), StatusIs(StatusCode::kPermissionDenied, "--allow-target"));
  EXPECT_THAT((*others)->Make(path, kFileBytes, 0), StatusIs(StatusCode::kAlreadyExists, path));
  EXPECT_THAT(Files(false)->Open(path, FileUse::kRead, false), StatusIs(StatusCode::kPermissionDenied, "--allow-kept"));
}

TEST_F(TargetFilesTest, AFileThatTookAKeptOnesNameIsNotKept) {
  const std::string path = MakeKept("F000");
  const auto files = Files(true);
  fs::rename(path, root_ + "/aside");
  tests::WriteText(path, "somebody's");
  EXPECT_THAT(files->Open(path, FileUse::kWrite, true), StatusIs(StatusCode::kPermissionDenied, "--allow-target"));
  EXPECT_THAT(files->Open(root_ + "/aside", FileUse::kWrite, true),
              StatusIs(StatusCode::kPermissionDenied, "--allow-target"));
  EXPECT_THAT(files->Make(path, kFileBytes, 0), StatusIs(StatusCode::kAlreadyExists, "--create"));
  EXPECT_EQ(tests::ReadText(path), "somebody's");
}

TEST_F(TargetFilesTest, AForgedMarkerClaimsNothing) {
  const std::string path = root_ + "/F000";
  tests::WriteText(path, "somebody's");
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  const std::string marker = root_ + "/" + kKeptMarkerName;
  const auto files = Files(true);
  const UniqueFd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
  const KeptFile entry = *KeptEntryOf(fd.get(), tests::kMine, "F000", path);
  std::vector<KeptFile> forged(4, entry);
  forged[0].agent_id = tests::kOther;
  ++forged[1].inode;
  ++forged[2].device;
  forged[3].name = "F0000";
  for (const KeptFile& one : forged) {
    tests::WriteText(marker, FormatKeptMarker({one}));
    chmod(marker.c_str(), 0600);
    EXPECT_THAT(files->Open(path, FileUse::kWrite, true), StatusIs(StatusCode::kPermissionDenied, "--allow-target"));
    EXPECT_THAT(files->Make(path, kFileBytes, 0), StatusIs(StatusCode::kAlreadyExists, "--create"));
  }
  // The right entry, where others may have written it.
  tests::WriteText(marker, FormatKeptMarker({entry}));
  chmod(marker.c_str(), 0666);
  EXPECT_THAT(files->Open(path, FileUse::kWrite, true), StatusIs(StatusCode::kFailedPrecondition, "not trusted"));
  EXPECT_THAT(files->Make(path, kFileBytes, 0), StatusIs(StatusCode::kFailedPrecondition, "not trusted"));
  EXPECT_THAT(files->Make(root_ + "/new", kFileBytes, 0), StatusIs(StatusCode::kFailedPrecondition, "not trusted"));
  EXPECT_FALSE(fs::exists(root_ + "/new"));
  // A target needs no marker.
  EXPECT_THAT(Files(true, {path})->Open(path, FileUse::kRead, false), IsOk());
  EXPECT_EQ(tests::ReadText(path), "somebody's");
}

TEST_F(TargetFilesTest, NothingIsMadeOutsideTheRootsOrInPlaceOfSomethingElse) {
  const auto files = Files(true, {outside_});
  EXPECT_THAT(files->Make(outside_ + "/new", kFileBytes, 0), StatusIs(StatusCode::kPermissionDenied, "--root"));
  EXPECT_FALSE(fs::exists(outside_ + "/new"));
  EXPECT_THAT(files->Make(precious_, kFileBytes, 0), StatusIs(StatusCode::kPermissionDenied, "--root"));
  EXPECT_THAT(files->Make(root_ + "/missing/new", kFileBytes, 0),
              StatusIs(StatusCode::kNotFound, "missing does not exist"));
  const std::string path = root_ + "/it";
  const std::vector<std::function<void()>> plants = {
      [&] { fs::create_symlink(precious_, path); },
      [&] { fs::create_symlink(outside_ + "/new", path); },
      [&] { fs::create_hard_link(precious_, path); },
      [&] { mkfifo(path.c_str(), 0600); },
      [&] { fs::create_directory(path); },
      [&] { tests::WriteText(path, "somebody's"); },
  };
  for (size_t i = 0; i < plants.size(); ++i) {
    plants[i]();
    EXPECT_THAT(files->Make(path, kFileBytes, 0), StatusIs(StatusCode::kAlreadyExists, path)) << i;
    EXPECT_TRUE(fs::exists(fs::symlink_status(path))) << i;
    fs::remove(path);
  }
  EXPECT_FALSE(fs::exists(outside_ + "/new"));
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(TargetFilesTest, NothingIsMadeWhereTooLittleIsFree) {
  const auto files = Files(true);
  EXPECT_THAT(files->Make(root_ + "/huge", uint64_t{1} << 60, 0),
              StatusIs(StatusCode::kResourceExhausted, "--file-size"));
  EXPECT_THAT(files->Make(root_ + "/small", kFileBytes, uint64_t{1} << 60),
              StatusIs(StatusCode::kResourceExhausted, "--min-free"));
  EXPECT_THAT(files->Make(root_ + "/none", 0, 0), StatusIs(StatusCode::kInvalidArgument, "0 bytes"));
  EXPECT_TRUE(fs::is_empty(root_));
  const std::string kept = MakeKept("kept");
  Write(*files->Open(kept, FileUse::kWrite, false), "content");
  EXPECT_THAT(files->Make(kept, uint64_t{1} << 60, 0), StatusIs(StatusCode::kResourceExhausted, ""));
  EXPECT_THAT(tests::ReadText(kept), StartsWith("content")) << "emptied before the check";
}

TEST_F(TargetFilesTest, AFileThatWasCheckedIsOpenedWhateverHasItsNameNow) {
  const std::string path = outside_ + "/it";
  tests::WriteText(path, "checked");
  const auto file = Files(false, {outside_})->Open(path, FileUse::kWrite, true);
  ASSERT_THAT(file, IsOk());
  fs::rename(path, outside_ + "/aside");
  fs::create_symlink(precious_, path);
  Write(*file, "written");
  EXPECT_EQ(tests::ReadText(outside_ + "/aside"), "written");
}

TEST_F(TargetFilesTest, AFileOpensWithTheFlagsThatItsUseAllows) {
  const auto files = Files(false, {outside_});
  const auto read = files->Open(precious_, FileUse::kRead, true);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->size_bytes(), 8U);
  EXPECT_THAT(read->Open(O_RDONLY), IsOk());
  EXPECT_THAT(read->Open(O_RDWR), StatusIs(StatusCode::kPermissionDenied, "for reading"));
  const auto write = files->Open(precious_, FileUse::kWrite, true);
  ASSERT_THAT(write, IsOk());
  for (const int flags : {O_WRONLY, O_RDWR | O_TRUNC, O_RDWR | O_CREAT, O_RDWR | O_APPEND}) {
    EXPECT_THAT(write->Open(flags), StatusIs(StatusCode::kInvalidArgument, "flags")) << flags;
  }
  const auto fd = write->Open(O_RDWR | O_DSYNC);
  ASSERT_THAT(fd, IsOk());
  const int flags = fcntl(fd->get(), F_GETFL);
  EXPECT_EQ(flags & O_ACCMODE, O_RDWR);
  EXPECT_NE(flags & O_DSYNC, 0);
  EXPECT_EQ(flags & O_NONBLOCK, 0);
  EXPECT_EQ(fcntl(fd->get(), F_GETFD), FD_CLOEXEC);
  EXPECT_THAT(write->Open(O_RDWR), IsOk()) << "once more";
}

// Whether the file system of this directory grants a read lease on a file, and refuses it while the file is open for
// writing.
bool GrantsLeases(const std::string& directory) {
  const std::string path = directory + "/leased";
  tests::WriteText(path, "x");
  const auto leased = [&path] {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return fd.valid() && fcntl(fd.get(), F_SETLEASE, F_RDLCK) == 0 && fcntl(fd.get(), F_SETLEASE, F_UNLCK) == 0;
  };
  const bool unused = leased();
  const UniqueFd writer(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const bool in_use = leased();
  fs::remove(path);
  return unused && writer.valid() && !in_use;
}

TEST_F(TargetFilesTest, AFileThatAnotherProcessWritesIsReadOnly) {
  if (!GrantsLeases(outside_)) GTEST_SKIP() << "this file system has no leases";
  const std::string path = outside_ + "/image";
  tests::WriteText(path, "image");
  const auto files = Files(true, {outside_});
  std::array<int, 2> input{};
  std::array<int, 2> output{};
  ASSERT_EQ(pipe2(input.data(), O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(output.data(), O_CLOEXEC), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    dup2(input[0], 0);
    dup2(output[1], 1);
    // Not this program, since agents may share a file. It ends with its input, also if this test is killed.
    execl("/bin/sh", "sh", "-c", "exec 3>>\"$0\"; echo; read -r line", path.c_str(), nullptr);
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  char ready = 0;
  EXPECT_EQ(read(output[0], &ready, 1), 1);
  close(output[0]);
  const std::string reason = absl::StrCat(path, " is in use: process ", child, " (sh) has it open for writing");
  EXPECT_THAT(files->Open(path, FileUse::kWrite, true), StatusIs(StatusCode::kFailedPrecondition, reason));
  EXPECT_THAT(files->Open(path, FileUse::kRead, false), IsOk());
  close(input[1]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_THAT(files->Open(path, FileUse::kWrite, true), IsOk());
  EXPECT_EQ(tests::ReadText(path), "image");
}

TEST_F(TargetFilesTest, AgentsMayShareAFileThatOneOfThemWrites) {
  const auto files = Files(true, {outside_});
  const auto first = files->Open(precious_, FileUse::kWrite, true);
  ASSERT_THAT(first, IsOk());
  const auto held = first->Open(O_RDWR);
  ASSERT_THAT(held, IsOk());
  EXPECT_THAT(files->Open(precious_, FileUse::kWrite, true), IsOk());
  // But no session empties what another one writes.
  const std::string kept = MakeKept("kept");
  const auto creating = files->Open(kept, FileUse::kWrite, false);
  ASSERT_THAT(creating, IsOk());
  const auto fd = creating->Open(O_RDWR);
  ASSERT_THAT(fd, IsOk());
  EXPECT_THAT(files->Make(kept, kFileBytes, 0), StatusIs(StatusCode::kFailedPrecondition, "in use"));
}

TEST_F(TargetFilesTest, AKeptFileIsNotEmptiedWhileAnotherSessionReadsIt) {
  const std::string kept = MakeKept("kept");
  const auto files = Files(true);
  Write(*files->Open(kept, FileUse::kWrite, false), "content");
  {
    const auto reading = files->Open(kept, FileUse::kRead, false);
    ASSERT_THAT(reading, IsOk());
    EXPECT_THAT(files->Make(kept, kFileBytes, 0),
                StatusIs(StatusCode::kFailedPrecondition, kept + " is in use: another session on this host uses it"));
    EXPECT_THAT(tests::ReadText(kept), StartsWith("content"));
    EXPECT_THAT(files->Open(kept, FileUse::kRead, false), IsOk()) << "several sessions may read it";
  }
  const auto made = files->Make(kept, kFileBytes, 0);
  ASSERT_THAT(made, IsOk());
  EXPECT_THAT(files->Open(kept, FileUse::kRead, false), IsOk()) << "it is only locked while it is emptied";
}

TEST_F(TargetFilesTest, OnlyANewFileIsRemovedAgain) {
  const auto files = Files(true);
  const std::string marker = root_ + "/" + kKeptMarkerName;
  const std::string path = root_ + "/F000";
  {
    auto made = files->Make(path, kFileBytes, 0);
    ASSERT_THAT(made, IsOk());
    EXPECT_TRUE(made->is_new());
    EXPECT_TRUE(made->RemoveNew().value_or(false));
    EXPECT_FALSE(fs::exists(path));
    EXPECT_FALSE(fs::exists(marker)) << "it listed nothing else";
    EXPECT_FALSE(made->RemoveNew().value_or(true));
  }
  MakeKept("F000");
  EXPECT_FALSE(files->Make(path, kFileBytes, 0)->RemoveNew().value_or(true)) << "it existed before";
  auto other = files->Make(root_ + "/F001", kFileBytes, 0);
  ASSERT_THAT(other, IsOk());
  fs::rename(root_ + "/F001", root_ + "/aside");
  tests::WriteText(root_ + "/F001", "somebody's");
  EXPECT_FALSE(other->RemoveNew().value_or(true));
  EXPECT_EQ(tests::ReadText(root_ + "/F001"), "somebody's");
  EXPECT_THAT(tests::ReadText(marker), Not(HasSubstr("F001")));
  EXPECT_THAT(files->Open(path, FileUse::kWrite, false), IsOk()) << "the other entry stays";
}

TEST_F(TargetFilesTest, ACheckTellsWhetherAFileExistsAndMakesNothing) {
  const auto files = Files(true);
  const auto room = files->CheckMake(root_ + "/new");
  ASSERT_THAT(room, IsOk());
  EXPECT_FALSE(room->exists);
  EXPECT_GT(room->space.total_bytes, 0U);
  EXPECT_TRUE(fs::is_empty(root_));
  const auto again = files->CheckMake(MakeKept("kept"));
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->exists);
  EXPECT_EQ(again->device, room->device);
}

TEST_F(TargetFilesTest, AFileThatTheAgentsUserMayNotWriteIsRefusedBeforeAnyStep) {
  const std::string path = outside_ + "/file";
  tests::WriteText(path, "x");
  chmod(path.c_str(), 0444);
  chmod(temp_.path().c_str(), 0755);
  EXPECT_EQ(InChild([&] {
              if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return kNotPermitted;
              const auto files = Files(false, {outside_});
              const auto write = files->Open(path, FileUse::kWrite, true);
              if (!absl::IsPermissionDenied(write.status())) return kBroken;
              if (files->Describe(path).write_error().empty() || !files->Describe(path).error().empty()) return kBroken;
              return files->Open(path, FileUse::kRead, false).ok() ? kHeld : kBroken;
            }),
            kHeld);
}

TEST_F(TargetFilesTest, ADescriptionSaysWhatAPlanMayDo) {
  const std::string kept = MakeKept("kept");
  const auto files = Files(true, {outside_});
  v1::FileDescription one = files->Describe(kept);
  EXPECT_EQ(one.path(), kept);
  EXPECT_EQ(one.error(), "");
  EXPECT_EQ(one.error_code(), 0);
  EXPECT_EQ(one.write_error(), "");
  EXPECT_EQ(one.create_error(), "");
  EXPECT_TRUE(one.kept());
  EXPECT_EQ(one.size_bytes(), kFileBytes);
  one = files->Describe(precious_);
  EXPECT_EQ(one.error(), "");
  EXPECT_EQ(one.write_error(), "");
  EXPECT_THAT(one.create_error(), HasSubstr("--root"));
  EXPECT_FALSE(one.kept());
  EXPECT_EQ(one.size_bytes(), 8U);
  // Paths at which `create` may make a file, and paths at which it may not.
  one = files->Describe(root_ + "/new");
  EXPECT_EQ(one.error_code(), static_cast<int>(StatusCode::kNotFound));
  EXPECT_EQ(one.create_error(), "");
  one = files->Describe(outside_ + "/new");
  EXPECT_EQ(one.error_code(), static_cast<int>(StatusCode::kNotFound));
  EXPECT_THAT(one.create_error(), HasSubstr("--root"));
  one = files->Describe(root_ + "/missing/new");
  EXPECT_EQ(one.error_code(), static_cast<int>(StatusCode::kNotFound));
  EXPECT_THAT(one.create_error(), HasSubstr("missing does not exist"));
  one = Files(false, {root_})->Describe(root_ + "/new");
  EXPECT_EQ(one.error_code(), static_cast<int>(StatusCode::kNotFound));
  EXPECT_THAT(one.create_error(), HasSubstr("--allow-kept"));
  tests::WriteText(root_ + "/foreign", "somebody's");
  EXPECT_EQ(files->Describe(root_ + "/foreign").create_error(),
            root_ + "/foreign exists, and --create of this agent did not make it; remove it, or name another file");
  one = files->Describe("relative");
  EXPECT_EQ(one.error_code(), static_cast<int>(StatusCode::kInvalidArgument));
  EXPECT_NE(one.write_error(), "");
  EXPECT_NE(one.create_error(), "");
}

TEST_F(TargetFilesTest, DirectoriesOfTargetsMayBeDescribed) {
  const auto files = Files(false, {outside_ + "/a", "/dev/sdz"});
  EXPECT_TRUE(files->MayDescribe(outside_));
  EXPECT_TRUE(files->MayDescribe(outside_ + "/"));
  EXPECT_TRUE(files->MayDescribe(outside_ + "/a"));
  EXPECT_TRUE(files->MayDescribe(outside_ + "/a/b"));
  EXPECT_TRUE(files->MayDescribe("/dev"));
  EXPECT_FALSE(files->MayDescribe(outside_ + "/b"));
  EXPECT_FALSE(files->MayDescribe(outside_ + "/a/../b"));
  EXPECT_FALSE(files->MayDescribe("/"));
  EXPECT_FALSE(files->MayDescribe(""));
  EXPECT_FALSE(Files(true)->MayDescribe(root_)) << "the sandbox decides about that";
}

}  // namespace
}  // namespace plimsoll
