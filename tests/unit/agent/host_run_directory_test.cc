// One host's directory in one run: what goes in, and what is left of it.
#include <fcntl.h>

#include <thread>

#include "agent/host/run_directory.h"
#include "agent/host/sandbox.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

constexpr char kMarker[] = ".plimsoll-owner";
constexpr std::array<uint8_t, 16> kToken = {0xde, 0xad, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};

class RunDirectoryTest : public ::testing::Test {
 protected:
  RunDirectoryTest() { sandbox_ = *Sandbox::Create({temp_.path()}, "00000000000000aa"); }

  std::unique_ptr<RunDirectory> Make(const std::string& label = "alpha") {
    auto run = sandbox_->MakeRunDirectory(temp_.path(), "0b", kToken, label);
    EXPECT_THAT(run, IsOk());
    return run.ok() ? *std::move(run) : nullptr;
  }

  TempDirectory temp_;
  std::unique_ptr<Sandbox> sandbox_;
  std::string run_path_ = temp_.Sub("plimsoll-0b");
};

TEST_F(RunDirectoryTest, MarksTheDirectoryWithItsOwner) {
  const auto run = Make();
  EXPECT_EQ(run->path(), run_path_ + "/alpha");
  EXPECT_TRUE(run->marker_locked());
  const std::string text = tests::ReadText(run->path() + "/" + kMarker);
  EXPECT_EQ(text,
            "plimsoll-owner 1\nagent 00000000000000aa\nrun 0b\ntoken dead0102030405060708090a0b0c0d0e\n"
            "host alpha\nkept no\n");
  EXPECT_EQ(fs::status(run->path() + "/" + kMarker).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(RunDirectoryTest, IsWritableByNobodyElseWhateverTheUmask) {
  const mode_t mask = umask(0);
  const auto run = Make();
  EXPECT_THAT(run->CreateFile("qm1/active/S0000000.LOG", O_RDWR), IsOk());
  umask(mask);
  for (const auto& entry : fs::recursive_directory_iterator(temp_.path())) {
    EXPECT_EQ(entry.status().permissions() & fs::perms::others_write, fs::perms::none) << entry.path();
  }
}

TEST_F(RunDirectoryTest, LocksTheMarkerAsLongAsItLives) {
  auto run = Make();
  const UniqueFd marker(open((run->path() + "/" + kMarker).c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(LockFile(marker.get()), LockOutcome::kHeldByAnother);
  run.reset();
  EXPECT_EQ(LockFile(marker.get()), LockOutcome::kLocked);
}

TEST_F(RunDirectoryTest, MakesFilesAndTheirDirectories) {
  const auto run = Make();
  const auto file = run->CreateFile("qm1/active/S0000000.LOG", O_RDWR);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(write(file->get(), "x", 1), 1);
  EXPECT_NE(fcntl(file->get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(fs::file_size(run->path() + "/qm1/active/S0000000.LOG"), 1U);
}

TEST_F(RunDirectoryTest, NeverOpensAFileThatExists) {
  const auto run = Make();
  fs::create_directories(run->path() + "/qm1/active");
  const std::string path = run->path() + "/qm1/active/S0000000.LOG";
  tests::WriteText(path, "precious");
  EXPECT_THAT(run->CreateFile("qm1/active/S0000000.LOG", O_RDWR | O_TRUNC), StatusIs(StatusCode::kAlreadyExists, path));
  EXPECT_EQ(tests::ReadText(path), "precious");
  // Not even through a link.
  const std::string target = temp_.Sub("target");
  fs::create_symlink(target, run->path() + "/link");
  EXPECT_THAT(run->CreateFile("link", O_RDWR), StatusIs(StatusCode::kAlreadyExists, "link"));
  EXPECT_FALSE(fs::exists(target));
}

TEST_F(RunDirectoryTest, OpensItsOwnFilesOnceMoreAndNoOthers) {
  const auto run = Make();
  const std::string name = "qm1/active/S0000000.LOG";
  const std::string path = run->path() + "/" + name;
  auto file = run->CreateFile(name, O_RDWR);
  ASSERT_THAT(file, IsOk());
  ASSERT_EQ(write(file->get(), "x", 1), 1);
  const auto again = run->OpenFile(name, O_RDONLY);
  ASSERT_THAT(again, IsOk());
  char byte = 0;
  EXPECT_EQ(read(again->get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(fcntl(again->get(), F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY);
  // The run has made none of these.
  EXPECT_THAT(run->OpenFile("qm1/active/S0000001.LOG", O_RDONLY), StatusIs(StatusCode::kNotFound, "S0000001.LOG"));
  tests::WriteText(run->path() + "/qm1/active/S0000002.LOG", "theirs");
  EXPECT_THAT(run->OpenFile("qm1/active/S0000002.LOG", O_RDONLY), StatusIs(StatusCode::kNotFound, "S0000002.LOG"));
  // Nor what has its file's name now.
  fs::rename(run->path() + "/qm1/active/S0000002.LOG", path);
  EXPECT_THAT(run->OpenFile(name, O_RDONLY),
              StatusIs(StatusCode::kFailedPrecondition, path + " is not the file that this run made"));
  fs::remove(path);
  EXPECT_THAT(run->OpenFile(name, O_RDONLY), StatusIs(StatusCode::kNotFound, path));
  fs::create_symlink("/etc/hostname", path);
  EXPECT_FALSE(run->OpenFile(name, O_RDONLY).ok());
  fs::remove(path);
}

TEST_F(RunDirectoryTest, DoesNotFollowALinkPlantedInPlaceOfAWriterDirectory) {
  const auto run = Make();
  const std::string elsewhere = temp_.MakeDirectory("elsewhere");
  fs::create_directory_symlink(elsewhere, run->path() + "/qm1");
  fs::create_directory_symlink("../../elsewhere", run->path() + "/qm2");
  for (const char* name : {"qm1/active/S.LOG", "qm1/S.LOG", "qm2/S.LOG"}) {
    EXPECT_THAT(run->CreateFile(name, O_RDWR), StatusIs(StatusCode::kPermissionDenied, "symbolic link")) << name;
  }
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(RunDirectoryTest, DoesNotRemoveThroughALinkPlantedLater) {
  auto run = Make();
  ASSERT_THAT(run->CreateFile("qm1/S.LOG", O_RDWR), IsOk());
  const std::string elsewhere = temp_.MakeDirectory("elsewhere");
  tests::WriteText(elsewhere + "/S.LOG", "precious");
  fs::remove_all(run->path() + "/qm1");
  fs::create_directory_symlink(elsewhere, run->path() + "/qm1");
  EXPECT_THAT(run->Remove(), StatusIs(StatusCode::kPermissionDenied, "symbolic link"));
  EXPECT_EQ(tests::ReadText(elsewhere + "/S.LOG"), "precious");
}

TEST_F(RunDirectoryTest, RefusesNamesThatAreNotPlain) {
  const auto run = Make();
  for (const char* name : {"", "/etc/x", "../x", "qm1/../x", "qm1//x", "qm1/", ".plimsoll-owner", "qm1/.x", "a b"}) {
    EXPECT_THAT(run->CreateFile(name, O_RDWR), StatusIs(StatusCode::kInvalidArgument, "plain")) << name;
  }
}

TEST_F(RunDirectoryTest, RefusesAHostDirectoryThatIsThere) {
  const auto run = Make();
  EXPECT_THAT(sandbox_->MakeRunDirectory(temp_.path(), "0b", kToken, "alpha"),
              StatusIs(StatusCode::kAlreadyExists, run_path_ + "/alpha"));
  EXPECT_TRUE(fs::exists(run->path() + "/" + kMarker));
}

TEST_F(RunDirectoryTest, RefusesARunDirectoryThatIsALink) {
  const std::string elsewhere = temp_.MakeDirectory("elsewhere");
  fs::create_directory_symlink(elsewhere, run_path_);
  EXPECT_THAT(sandbox_->MakeRunDirectory(temp_.path(), "0b", kToken, "alpha"),
              StatusIs(StatusCode::kPermissionDenied, run_path_));
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(RunDirectoryTest, HostsOfOneRunSeeOneAnother) {
  auto alpha = Make("alpha");
  const auto beta = Make("beta");
  tests::WriteText(run_path_ + "/file", "no host");
  fs::create_directory(run_path_ + "/.hidden");
  EXPECT_THAT(*alpha->VisibleHosts(), ElementsAre("alpha", "beta"));
  fs::remove(run_path_ + "/file");
  fs::remove(run_path_ + "/.hidden");
  alpha.reset();
  EXPECT_THAT(*beta->VisibleHosts(), ElementsAre("beta"));
}

TEST_F(RunDirectoryTest, TheLastHostRemovesTheRunsDirectory) {
  auto alpha = Make("alpha");
  auto beta = Make("beta");
  EXPECT_THAT(alpha->Remove(), IsOk());
  EXPECT_TRUE(fs::exists(run_path_));
  EXPECT_THAT(beta->Remove(), IsOk());
  EXPECT_FALSE(fs::exists(run_path_));
}

TEST_F(RunDirectoryTest, RemoveCountsTheFilesAndMayBeCalledAgain) {
  const auto run = Make();
  for (const char* name : {"qm1/active/A.LOG", "qm1/active/B.LOG", "qm10/active/A.LOG", "qm1-x/A.LOG", "top"}) {
    ASSERT_THAT(run->CreateFile(name, O_RDWR), IsOk());
  }
  const auto removed = run->Remove();
  ASSERT_THAT(removed, IsOk());
  EXPECT_EQ(*removed, 5U);
  EXPECT_TRUE(fs::is_empty(temp_.path()));
  EXPECT_EQ(*run->Remove(), 0U);
  EXPECT_THAT(run->CreateFile("late", O_RDWR), StatusIs(StatusCode::kNotFound, run->path() + "/late"));
}

TEST_F(RunDirectoryTest, RemovalLeavesStrangersFilesAndSaysSo) {
  auto run = Make();
  const std::string path = run->path();
  ASSERT_THAT(run->CreateFile("qm1/active/S.LOG", O_RDWR), IsOk());
  tests::WriteText(path + "/qm1/active/notes.txt", "precious");
  EXPECT_THAT(run->Remove(), StatusIs(StatusCode::kFailedPrecondition, path + "/qm1/active holds 'notes.txt'"));
  EXPECT_FALSE(fs::exists(path + "/qm1/active/S.LOG"));
  EXPECT_FALSE(fs::exists(path + "/" + kMarker));
  EXPECT_EQ(tests::ReadText(path + "/qm1/active/notes.txt"), "precious");
  // Once the stranger is gone the rest goes too.
  fs::remove(path + "/qm1/active/notes.txt");
  EXPECT_THAT(run->Remove(), IsOk());
  EXPECT_TRUE(fs::is_empty(temp_.path()));
}

TEST_F(RunDirectoryTest, TheDestructorRemovesEverything) {
  auto run = Make();
  ASSERT_THAT(run->CreateFile("qm1/active/S.LOG", O_RDWR), IsOk());
  run.reset();
  EXPECT_TRUE(fs::is_empty(temp_.path()));
}

TEST_F(RunDirectoryTest, KeepLeavesEverythingAndMarksIt) {
  auto run = Make();
  const std::string path = run->path();
  ASSERT_THAT(run->CreateFile("qm1/active/S.LOG", O_RDWR), IsOk());
  run->Keep();
  run.reset();
  EXPECT_TRUE(fs::exists(path + "/qm1/active/S.LOG"));
  const auto marker = ParseOwnerMarker(tests::ReadText(path + "/" + kMarker));
  ASSERT_THAT(marker, IsOk());
  EXPECT_TRUE(marker->kept);
}

TEST_F(RunDirectoryTest, ADirectoryRemovedUnderItIsAClearError) {
  auto run = Make();
  ASSERT_THAT(run->CreateFile("qm1/active/S.LOG", O_RDWR), IsOk());
  fs::remove_all(run_path_);
  EXPECT_THAT(run->CreateFile("qm1/active/T.LOG", O_RDWR), StatusIs(StatusCode::kNotFound, run->path() + "/qm1"));
  EXPECT_THAT(run->VisibleHosts(), StatusIs(StatusCode::kNotFound, run_path_));
  EXPECT_THAT(run->Remove(), StatusIs(StatusCode::kNotFound, run->path()));
  EXPECT_THAT(run->Remove(), IsOk());
}

TEST_F(RunDirectoryTest, ManyThreadsMakeFilesAtOnce) {
  auto run = Make();
  constexpr int kThreads = 8;
  std::vector<absl::Status> statuses(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&run, &statuses, t] {
      for (int f = 0; f < 10; ++f) {
        // Half of the threads share their writer's directory with another one.
        const std::string name = "qm" + std::to_string(t / 2) + "/active/S" + std::to_string(t * 10 + f);
        statuses[static_cast<size_t>(t)].Update(run->CreateFile(name, O_RDWR).status());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) EXPECT_THAT(status, IsOk());
  EXPECT_EQ(*run->Remove(), 80U);
  EXPECT_TRUE(fs::is_empty(temp_.path()));
}

TEST_F(RunDirectoryTest, HostsThatComeAndGoDoNotDisturbOneAnother) {
  // The last one out removes the run's directory while the next one may be making its own in it.
  std::vector<absl::Status> statuses(4);
  std::vector<std::thread> threads;
  threads.reserve(statuses.size());
  for (size_t t = 0; t < statuses.size(); ++t) {
    threads.emplace_back([this, &statuses, t] {
      for (int i = 0; i < 200; ++i) {
        statuses[t].Update(sandbox_->MakeRunDirectory(temp_.path(), "0b", kToken, "h" + std::to_string(t)).status());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) EXPECT_THAT(status, IsOk());
  EXPECT_TRUE(fs::is_empty(temp_.path()));
}

TEST(OwnerMarker, IsReadBackAsWritten) {
  const OwnerMarker marker = {"00000000000000aa", "0b", kToken, "alpha", true};
  const auto back = ParseOwnerMarker(FormatOwnerMarker(marker));
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(*back, marker);
}

TEST(OwnerMarker, RefusesWhatIsNotWhole) {
  const std::string whole = FormatOwnerMarker({"00000000000000aa", "0b", kToken, "alpha", false});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(ParseOwnerMarker(whole.substr(0, size)), StatusIs(StatusCode::kInvalidArgument, "marker")) << size;
  }
  EXPECT_THAT(ParseOwnerMarker(whole + "more 1\n"), StatusIs(StatusCode::kInvalidArgument, "incomplete"));
}

}  // namespace
}  // namespace plimsoll
