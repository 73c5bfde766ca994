// The digest of results: whatever byte of whichever file is changed, it is another one, and the file is named.
#include "controller/journal/digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/journal/sha256.h"
#include "tests/random_seed.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr int kPositions = 1'000;
// SHA-256 of "abc" and of nothing, as FIPS 180 has them.
constexpr char kSumOfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kSumOfNothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<std::string> NamesOf(const DigestState& state) {
  std::vector<std::string> names;
  for (const FileSum& file : state.files) names.push_back(file.name);
  return names;
}

// An acceptance with a load and a storage check.
class DigestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* part : {"load-1", "storage"}) fs::create_directory(path() / part);
    const std::vector<std::string> load = {"journal", "report.csv", "report.json", "report.txt", "timeline.csv"};
    for (const std::string& name : load) Write(path() / "load-1" / name, RandomBytes());
    for (const char* name : {"storage.json", "storage.txt"}) Write(path() / "storage" / name, RandomBytes());
    for (const char* name : {"accept.json", "accept.txt"}) Write(path() / name, RandomBytes());
    ASSERT_THAT(SealResults(Open("load-1"), Seal::kKeep, load), IsOk());
    ASSERT_THAT(SealResults(Open("storage"), Seal::kKeep, {"storage.json", "storage.txt"}), IsOk());
    Write(path() / "accept.html", "the page");
  }

  fs::path path() const { return directory_.path(); }

  ResultsDirectory Open(const std::string& part = "") const {
    return *ResultsDirectory::Open((path() / part).string());
  }

  absl::StatusOr<DigestState> SealAll(Seal seal = Seal::kKeep) const {
    return SealResults(Open(), seal, {"accept.json", "accept.txt"},
                       {{"load-1", "journal"}, {"storage", "storage.json"}});
  }

  DigestState Check(const std::string& part = "") const {
    absl::StatusOr<DigestState> state = CheckDigest((path() / part).string());
    EXPECT_THAT(state, IsOk());
    return state.ok() ? *std::move(state) : DigestState();
  }

  std::string RandomBytes() {
    std::string bytes(2'000 + random_() % 1'000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }

  // Changes a random byte of the file, in place, and calls `look`; then the file is as it was.
  void WithChangedByte(const std::string& name, const std::function<void()>& look) {
    std::fstream file(path() / name, std::ios::binary | std::ios::in | std::ios::out);
    const auto at = static_cast<std::streamoff>(random_() % fs::file_size(path() / name));
    const auto put = [&](char byte) { file.seekp(at).put(byte).flush(); };
    file.seekg(at);
    const char whole = static_cast<char>(file.get());
    put(static_cast<char>(whole ^ static_cast<char>(1 + random_() % 255)));
    look();
    put(whole);
    ASSERT_TRUE(file.good());
  }

 private:
  tests::TempDirectory directory_;
  const uint32_t seed_ = tests::RandomSeed();
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, absl::StrCat("PLIMSOLL_SEED=", seed_)};
  std::mt19937 random_{seed_};
};

TEST_F(DigestTest, IsAnotherOneForAnyChangedByteOfEveryFileAndTheFileIsNamed) {
  const absl::StatusOr<DigestState> sealed = SealAll();
  ASSERT_THAT(sealed, IsOk());
  const std::vector<std::string> names = NamesOf(*sealed);
  EXPECT_THAT(names,
              ElementsAre("accept.json", "accept.txt", "load-1/journal", "load-1/report.csv", "load-1/report.json",
                          "load-1/report.txt", "load-1/timeline.csv", "storage/storage.json", "storage/storage.txt"));
  const std::string list = Read(path() / kDigestName);
  for (const std::string& name : names) {
    for (int i = 0; i < kPositions; ++i) {
      WithChangedByte(name, [&] {
        const DigestState state = Check();
        ASSERT_THAT(state.differences, ElementsAre(StartsWith(absl::StrCat(name, " was changed: "))));
        ASSERT_NE(Sha256(WriteFileSums(state.files)), sealed->digest);
      });
      ASSERT_FALSE(HasFailure());
    }
    const DigestState state = Check();
    EXPECT_TRUE(state.intact()) << name;
    EXPECT_EQ(WriteFileSums(state.files), list);
  }
}

TEST_F(DigestTest, IsAnotherOneForAnyChangedByteOfTheList) {
  const absl::StatusOr<DigestState> sealed = SealAll();
  ASSERT_THAT(sealed, IsOk());
  for (int i = 0; i < kPositions; ++i) {
    WithChangedByte(kDigestName, [&] {
      const absl::StatusOr<DigestState> state = CheckDigest(path().string());
      // Another sum names its file; another name is missing, or no name of results.
      if (state.ok()) {
        ASSERT_FALSE(state->intact());
        ASSERT_NE(state->digest, sealed->digest);
      } else {
        ASSERT_THAT(state, StatusIs(absl::StatusCode::kInvalidArgument, "digest.txt is not a list"));
      }
    });
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_TRUE(Check().intact());
}

TEST_F(DigestTest, IsTheSumOfTheListAndTheListHasTheSumsOfTheFiles) {
  Write(path() / "journal", "abc");
  Write(path() / "report.json", "");
  const absl::StatusOr<DigestState> sealed = SealResults(Open(), Seal::kKeep, {"report.json", "journal"});
  ASSERT_THAT(sealed, IsOk());
  const std::string list = absl::StrCat(kSumOfAbc, "  journal\n", kSumOfNothing, "  report.json\n");
  EXPECT_EQ(Read(path() / kDigestName), list);
  EXPECT_EQ(sealed->digest, Sha256(list));
  EXPECT_EQ(DigestText(sealed), absl::StrCat("sha256:", Sha256(list)));
}

// A run that was killed while frames waited to be folded.
TEST_F(DigestTest, CoversAllFilesOfAJournalThatWasCutOff) {
  Write(path() / "journal", RandomBytes());
  Write(path() / "journal.recent-1", RandomBytes());
  EXPECT_THAT(Open().JournalNames(), ElementsAre("journal", "journal.recent-1"));
  const absl::StatusOr<DigestState> sealed = SealResults(Open(), Seal::kKeep, Open().JournalNames());
  ASSERT_THAT(sealed, IsOk());
  WithChangedByte("journal.recent-1", [this] { EXPECT_FALSE(Check().intact()); });
  fs::remove(path() / "journal");
  EXPECT_THAT(Open().JournalNames(), ElementsAre("journal", "journal.recent-1")) << "it has to be there";
  // As a part of an acceptance, without a list of its own.
  fs::remove(path() / "load-1" / kDigestName);
  Write(path() / "load-1" / "journal.recent-0", RandomBytes());
  const absl::StatusOr<DigestState> all = SealAll(Seal::kReplace);
  ASSERT_THAT(all, IsOk());
  EXPECT_THAT(NamesOf(*all), Contains("load-1/journal.recent-0"));
  WithChangedByte("load-1/journal.recent-0", [this] {
    EXPECT_THAT(Check().differences, Contains(HasSubstr("load-1/journal.recent-0 was changed")));
  });
}

TEST_F(DigestTest, NamesWhatIsMissingALinkOrNoFile) {
  ASSERT_THAT(SealAll(), IsOk());
  const auto becomes = [this](const std::string& name, const std::string& what, const auto& change) {
    const fs::path kept = path() / "kept";
    fs::rename(path() / name, kept);
    change(path() / name, kept);
    EXPECT_THAT(Check().differences, Contains(what));
    EXPECT_THAT(Check().unreadable, IsEmpty());
    fs::remove_all(path() / name);
    fs::rename(kept, path() / name);
    EXPECT_TRUE(Check().intact());
  };
  const auto link = [](const fs::path& place, const fs::path& kept) { fs::create_symlink(kept, place); };
  becomes("accept.json", "accept.json is missing", [](const auto&, const auto&) {});
  becomes("load-1/journal", "load-1/journal is missing", [](const auto&, const auto&) {});
  becomes("load-1", "load-1 is missing", [](const auto&, const auto&) {});
  becomes("accept.txt", "accept.txt is a symbolic link", link);
  becomes("load-1/journal", "load-1/journal is a symbolic link", link);
  becomes("storage", "storage is a symbolic link", link);
  becomes("accept.txt", "accept.txt is not a regular file",
          [](const fs::path& place, const auto&) { fs::create_directory(place); });
  becomes("load-1/report.json", "load-1/report.json is not a regular file",
          [](const fs::path& place, const auto&) { ASSERT_EQ(mkfifo(place.c_str(), 0600), 0); });
}

TEST_F(DigestTest, IsNotReadThroughALink) {
  ASSERT_THAT(SealAll(), IsOk());
  fs::rename(path() / kDigestName, path() / "elsewhere");
  EXPECT_THAT(CheckDigest(path().string()), StatusIs(absl::StatusCode::kNotFound, "digest.txt is missing"));
  EXPECT_EQ(DigestText(CheckDigest(path().string())), "");
  fs::create_symlink(path() / "elsewhere", path() / kDigestName);
  EXPECT_THAT(CheckDigest(path().string()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "digest.txt is a symbolic link"));
  EXPECT_EQ(DigestText(CheckDigest(path().string())), "none: digest.txt is a symbolic link");
}

TEST_F(DigestTest, IsWrittenOnceAndStaysWhenTheFilesAreMadeAgain) {
  const absl::StatusOr<DigestState> sealed = SealAll();
  ASSERT_THAT(sealed, IsOk());
  const std::string list = Read(path() / kDigestName);
  const absl::StatusOr<DigestState> again = SealAll();
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->digest, sealed->digest);
  Write(path() / "accept.json", "another");
  const absl::StatusOr<DigestState> changed = SealAll();
  ASSERT_THAT(changed, IsOk());
  EXPECT_THAT(changed->differences, ElementsAre(StartsWith("accept.json was changed: ")));
  EXPECT_THAT(DigestText(changed), StartsWith("none: files differ from digest.txt"));
  EXPECT_EQ(Read(path() / kDigestName), list);
}

TEST_F(DigestTest, IsReplacedByTheCommandWhoseResultsWereSealedMeanwhile) {
  const std::string early = SealAll()->digest;
  Write(path() / "accept.json", "at the end");
  const absl::StatusOr<DigestState> sealed = SealAll(Seal::kReplace);
  ASSERT_THAT(sealed, IsOk());
  EXPECT_NE(sealed->digest, early);
  EXPECT_TRUE(Check().intact());
  EXPECT_EQ(Check().digest, sealed->digest);
}

TEST_F(DigestTest, NamesAFileOfAPartThatWasChangedBeforeTheWholeWasSealed) {
  Write(path() / "load-1/report.json", "another");
  const absl::StatusOr<DigestState> sealed = SealAll();
  ASSERT_THAT(sealed, IsOk());
  EXPECT_THAT(DigestText(sealed), StartsWith("none: files differ from digest.txt"));
  EXPECT_THAT(ChangedBeforeSeal(sealed),
              StatusIs(absl::StatusCode::kFailedPrecondition, "load-1/report.json was changed: "));
  EXPECT_THAT(Check().differences, ElementsAre(StartsWith("load-1/report.json was changed: ")));
  EXPECT_THAT(Check("load-1").differences, ElementsAre(StartsWith("report.json was changed: ")));
}

TEST_F(DigestTest, ListsTheEvidenceOfAPartThatWasCutOff) {
  fs::remove(path() / "load-1" / kDigestName);
  fs::remove(path() / "storage" / kDigestName);
  const absl::StatusOr<DigestState> sealed = SealAll();
  ASSERT_THAT(sealed, IsOk());
  EXPECT_THAT(NamesOf(*sealed), ElementsAre("accept.json", "accept.txt", "load-1/journal", "storage/storage.json"));
}

TEST_F(DigestTest, IsNotMadeWhereAFileIsMissing) {
  fs::remove(path() / "accept.txt");
  EXPECT_THAT(SealAll(), StatusIs(absl::StatusCode::kNotFound, "accept.txt is missing"));
  EXPECT_EQ(DigestText(SealAll()), "");
  EXPECT_EQ(DigestText(SealAll(Seal::kReplace)), "none: accept.txt is missing") << "of a command that should have it";
  EXPECT_FALSE(fs::exists(path() / kDigestName));
  EXPECT_THAT(SealFailure(SealAll()), IsOk()) << "that is for the command to report, or not";
}

TEST(FileSums, OnlyWhatWriteFileSumsMakesIsRead) {
  const std::string sum = kSumOfAbc;
  const std::string other = kSumOfNothing;
  const std::vector<FileSum> files = {{"journal", sum}, {"load-1/journal", other}};
  const absl::StatusOr<std::vector<FileSum>> read = ReadFileSums(WriteFileSums(files));
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, files);
  EXPECT_EQ(WriteFileSums({files[1], files[0]}), WriteFileSums(files)) << "in the order of the names";
  for (const std::string& text : std::vector<std::string>{"",
                                                          "\n",
                                                          sum + "  journal",
                                                          sum + " journal\n",
                                                          sum + " *journal\n",
                                                          sum + "   journal\n",
                                                          sum.substr(1) + "  journal\n",
                                                          "BA" + sum.substr(2) + "  journal\n",
                                                          sum + "  \n",
                                                          sum + "  b\n" + other + "  a\n",
                                                          sum + "  a\n" + other + "  a\n",
                                                          sum + "  a\n\n",
                                                          "\n" + sum + "  a\n",
                                                          sum + "  /etc/passwd\n",
                                                          sum + "  ../journal\n",
                                                          sum + "  ..\n",
                                                          sum + "  .\n",
                                                          sum + "  a/../b\n",
                                                          sum + "  a/./b\n",
                                                          sum + "  a/b/c\n",
                                                          sum + "  a//b\n",
                                                          sum + "  a/\n",
                                                          sum + "  a b\n",
                                                          sum + "  a\x1b[2J\n",
                                                          sum + std::string("  a\0b\n", 6)}) {
    EXPECT_THAT(ReadFileSums(text), StatusIs(absl::StatusCode::kInvalidArgument, "is not a list"))
        << ::testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace plimsoll
