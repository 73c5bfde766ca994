// `plimsoll verify`: no byte of what a verdict rests on changes unnoticed, also where the list of the files was made
// again to fit.
//
// The journals are those of tests/data/acceptance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "controller/analysis/analyzer.h"
#include "controller/app/runs.h"
#include "controller/cli/accept_record.h"
#include "controller/cli/commands.h"
#include "controller/journal/digest.h"
#include "controller/journal/sha256.h"
#include "tests/random_seed.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr int kDigestPositions = 1'000;
// Where each position takes the report of a journal.
constexpr int kReportPositions = 40;

class VerifyCommandTest : public ::testing::Test {
 protected:
  fs::path path() const { return fs::path(directory_.path()) / "results"; }

  static std::string Read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void Write(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

  // The results of a run of this version, with every file that the command would leave but the page.
  void MakeRun() const {
    fs::create_directory(path());
    auto writer = JournalWriter::Create((path() / "journal").string());
    ASSERT_THAT(writer, IsOk());
    Analyzer analyzer;
    const std::string journal = absl::StrCat(PLIMSOLL_SOURCE_DIR, "/tests/data/acceptance/load-1/journal");
    ASSERT_THAT(ReadJournal(journal,
                            [&](v1::JournalRecord record) {
                              if (record.has_run_begin()) record.mutable_run_begin()->set_version(kVersion);
                              EXPECT_THAT((*writer)->Append(record), IsOk());
                              analyzer.Add(record);
                            }),
                IsOk());
    ASSERT_THAT((*writer)->Flush(), IsOk());
    const absl::StatusOr<ResultsDirectory> results = ResultsDirectory::Open(path().string());
    ASSERT_THAT(results, IsOk());
    std::string digest;
    ASSERT_THAT(WriteReportFiles(*results, Seal::kReplace, analyzer.Finish(), &digest), IsOk());
  }

  // An acceptance, sealed as a whole.
  void MakeAcceptance() const {
    fs::copy(fs::path(PLIMSOLL_SOURCE_DIR) / "tests/data/acceptance", path(), fs::copy_options::recursive);
    const absl::StatusOr<v1::AcceptReport> report = LoadAcceptDirectory(path().string());
    ASSERT_THAT(report, IsOk());
    const absl::StatusOr<ResultsDirectory> results = ResultsDirectory::Open(path().string());
    ASSERT_THAT(results, IsOk());
    std::string digest;
    ASSERT_THAT(WriteAcceptFiles(*results, Seal::kReplace, *report, &digest), IsOk());
  }

  std::vector<std::string> Listed() const {
    const absl::StatusOr<DigestState> state = CheckDigest(path().string());
    EXPECT_THAT(state, IsOk());
    return state.ok() ? state->listed : std::vector<std::string>();
  }

  // What whoever changes a file and knows of the list does to it.
  void ListAgain(const std::vector<std::string>& names) const {
    std::vector<FileSum> files;
    for (const std::string& name : names) files.push_back({name, Sha256(Read(path() / name))});
    Write(path() / kDigestName, WriteFileSums(files));
  }

  // Calls `look` for so many positions of a file, with one bit there changed; then the file is as it was.
  void ChangeBits(const std::string& name, int positions, const std::function<void(size_t at)>& look) {
    const std::string whole = Read(path() / name);
    ASSERT_FALSE(whole.empty()) << name;
    for (int i = 0; i < positions; ++i) {
      const size_t at = random_() % whole.size();
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1U << (random_() % 8)));
      Write(path() / name, changed);
      look(at);
      if (HasFailure()) break;
    }
    Write(path() / name, whole);
  }

  int Verify() {
    out_.str("");
    err_.str("");
    CLI::App app("Plimsoll", "plimsoll");
    CommandLine line{{out_, err_}};
    AddVerifyCommand(app, line);
    return ParseAndRun(app, {"verify", path().string()}, line);
  }

  // Every listed file, at so many places: the list shows it, and the command names it.
  void ExpectEachByteCounts() {
    const std::vector<std::string> names = Listed();
    const std::string list = Read(path() / kDigestName);
    for (const std::string& name : names) {
      ChangeBits(name, kDigestPositions, [&](size_t at) {
        const absl::StatusOr<DigestState> state = CheckDigest(path().string());
        ASSERT_THAT(state, IsOk());
        ASSERT_THAT(state->differences, ElementsAre(StartsWith(absl::StrCat(name, " was changed: ")))) << at;
        ASSERT_NE(WriteFileSums(state->files), list) << "the digest of the files as they are is another one";
      });
      ChangeBits(name, 3, [&](size_t at) {
        ASSERT_EQ(Verify(), static_cast<int>(Exit::kFailed)) << name << " at " << at;
        ASSERT_THAT(err_.str(), HasSubstr(absl::StrCat(": ", name, " was changed: "))) << at;
        ASSERT_THAT(out_.str(), HasSubstr("CHANGED   "));
      });
    }
    ChangeBits(kDigestName, kReportPositions, [&](size_t at) {
      ASSERT_EQ(Verify(), static_cast<int>(Exit::kFailed)) << "digest.txt at " << at << ": " << err_.str();
    });
    EXPECT_EQ(Verify(), static_cast<int>(Exit::kOk)) << err_.str();
  }

  std::ostringstream out_;
  std::ostringstream err_;

 private:
  tests::TempDirectory directory_;
  const uint32_t seed_ = tests::RandomSeed();
  const ::testing::ScopedTrace trace_{__FILE__, __LINE__, absl::StrCat("PLIMSOLL_SEED=", seed_)};
  std::mt19937 random_{seed_};
};

TEST_F(VerifyCommandTest, EachByteOfTheFilesOfARunCounts) {
  MakeRun();
  EXPECT_THAT(Listed(), ElementsAre("journal", "report.csv", "report.json", "report.txt", "timeline.csv"));
  ExpectEachByteCounts();
}

TEST_F(VerifyCommandTest, EachByteOfTheFilesOfAnAcceptanceCounts) {
  MakeAcceptance();
  EXPECT_THAT(Listed(),
              ElementsAre("accept.json", "accept.txt", "load-1/journal", "load-2/journal", "storage/storage.json"));
  ExpectEachByteCounts();
}

TEST_F(VerifyCommandTest, AFileThatShowsTheReportIsHeldAgainstTheJournalWhateverTheListSays) {
  MakeRun();
  const std::vector<std::string> names = Listed();
  for (const std::string name : {"report.csv", "report.json", "report.txt", "timeline.csv"}) {
    ChangeBits(name, kReportPositions, [&](size_t at) {
      ListAgain(names);
      // What is no report any more cannot be compared.
      ASSERT_THAT(Verify(), AnyOf(static_cast<int>(Exit::kFailed), static_cast<int>(Exit::kInconclusive)))
          << name << " at " << at;
      ASSERT_THAT(err_.str(), HasSubstr(absl::StrCat(": ", name))) << at;
    });
  }
  ListAgain(names);
  EXPECT_EQ(Verify(), static_cast<int>(Exit::kOk)) << err_.str();
}

}  // namespace
}  // namespace plimsoll
