// What is made of an acceptance's results later: whatever was deleted, changed, swapped or added, there is no PASS, and
// it is named.
//
// tests/data/acceptance is an acceptance that passed, of a version that sealed nothing.
#include "controller/cli/accept_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>

#include "absl/strings/str_replace.h"
#include "controller/accept/accept_report.h"
#include "controller/compare/report_json.h"
#include "controller/journal/sha256.h"
#include "tests/random_seed.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class AcceptRecordTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(fs::path(PLIMSOLL_SOURCE_DIR) / "tests/data/acceptance", path(), fs::copy_options::recursive);
  }

  fs::path path() const { return fs::path(directory_.path()) / "accepted"; }

  v1::AcceptReport Load() const {
    absl::StatusOr<v1::AcceptReport> report = LoadAcceptDirectory(path().string());
    EXPECT_THAT(report, IsOk());
    return report.ok() ? *std::move(report) : v1::AcceptReport();
  }

  void Keep(const v1::AcceptReport& report) const {
    const absl::StatusOr<ResultsDirectory> results = ResultsDirectory::Open(path().string());
    ASSERT_THAT(results, IsOk());
    std::string digest;
    ASSERT_THAT(WriteAcceptFiles(*results, Seal::kKeep, report, &digest), IsOk());
  }

  // What this version would have left.
  void SealParts() const {
    v1::AcceptReport report = Load();
    for (v1::AcceptRun& run : *report.mutable_runs()) {
      run.clear_seal();
      run.mutable_notes()->RemoveLast();
      const bool storage = run.part() == v1::ACCEPT_PART_STORAGE;
      SealRun(path().string(), storage ? "" : run.run() == 1 ? kFirstRun : kSecondRun, run);
    }
    report.set_record_sha256(kRenewedSeal);
    Keep(report);
  }

  // `change` leaves no PASS and its reasons have `named`, also once the outputs were made again; and undone, the PASS
  // is there again.
  void Spoils(const std::function<void()>& change, const std::string& named) const {
    const fs::path kept = fs::path(directory_.path()) / "kept";
    fs::copy(path(), kept, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    change();
    for (int again = 0; again < 2; ++again) {
      const v1::AcceptReport report = Load();
      EXPECT_EQ(report.outcome(), v1::OUTCOME_INCONCLUSIVE) << named;
      EXPECT_THAT(report.reasons(), Contains(HasSubstr(named)));
      EXPECT_THAT(RenderAcceptJUnit(report), Not(HasSubstr("failures=\"0\" errors=\"0\"")));
      Keep(report);
      EXPECT_THAT(Read(path() / "accept.txt"), HasSubstr("Verdict   INCONCLUSIVE"));
    }
    fs::remove_all(path());
    fs::copy(kept, path(), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    fs::remove_all(kept);
    EXPECT_EQ(Load().outcome(), v1::OUTCOME_PASS);
  }

  static constexpr char kFirstRun[] = "ef4742";
  static constexpr char kSecondRun[] = "bea733";

 private:
  tests::TempDirectory directory_;
};

TEST_F(AcceptRecordTest, AnEarlierVersionsAcceptanceIsDerivedAgainWithANoteThatItIsNotSealed) {
  const v1::AcceptReport report = Load();
  EXPECT_EQ(report.outcome(), v1::OUTCOME_PASS) << RenderAcceptText(report);
  for (const v1::AcceptRun& run : report.runs()) EXPECT_THAT(run.notes(), Contains(HasSubstr("not sealed")));
  Keep(report);
  EXPECT_EQ(Load().SerializeAsString(), report.SerializeAsString()) << "also once its outputs were made again";
}

TEST_F(AcceptRecordTest, AnEarlierVersionsAcceptanceHasNoPassWithoutItsPartsOrWithOthers) {
  Spoils([&] { fs::remove_all(path() / "load-1"); }, "load-1 is missing");
  Spoils([&] { fs::remove(path() / "load-1/journal"); }, "load-1/journal is missing");
  Spoils([&] { fs::remove_all(path() / "storage"); }, "storage is missing");
  Spoils(
      [&] {
        fs::rename(path() / "load-1", path() / "other");
        fs::rename(path() / "load-2", path() / "load-1");
        fs::rename(path() / "other", path() / "load-2");
      },
      "load-1/journal was replaced: run ");
  Spoils(
      [&] {
        Write(path() / "accept.json",
              absl::StrReplaceAll(Read(path() / "accept.json"), {{"\"p50<5s\"", "\"p50<1ms\""}}));
      },
      "the plan in it is not that of the acceptance (criteria)");
  Spoils([&] { fs::resize_file(path() / "load-2/journal", fs::file_size(path() / "load-2/journal") - 40); },
         "its journal shows INCONCLUSIVE where PASS was recorded");
}

TEST_F(AcceptRecordTest, TheVerdictOfTheRecordIsNeverTaken) {
  const std::string text = Read(path() / "accept.json");
  ASSERT_THAT(text, HasSubstr("\"outcome\": \"pass\""));
  Write(
      path() / "accept.json",
      absl::StrReplaceAll(text, {{"\"outcome\": \"pass\",\n  \"reasons\"", "\"outcome\": \"fail\",\n  \"reasons\""}}));
  EXPECT_EQ(Load().outcome(), v1::OUTCOME_PASS);
  SealParts();
  Spoils(
      [&] {
        Write(path() / "accept.json",
              absl::StrReplaceAll(Read(path() / "accept.json"), {{"\"outcome\": \"pass\"", "\"outcome\": \"fail\""}}));
      },
      "accept.json was changed after the acceptance wrote it");
}

TEST_F(AcceptRecordTest, ASealedAcceptanceGivesTheSameFilesAgain) {
  SealParts();
  const v1::AcceptReport report = Load();
  EXPECT_EQ(report.outcome(), v1::OUTCOME_PASS) << RenderAcceptText(report);
  for (const v1::AcceptRun& run : report.runs()) {
    EXPECT_THAT(run.notes(), Each(Not(HasSubstr("not sealed"))));
    EXPECT_EQ(run.seal().sha256().size(), 64U);
  }
  const std::string text = Read(path() / "accept.json");
  EXPECT_TRUE(IsSealIntact(text));
  Keep(report);
  EXPECT_EQ(Read(path() / "accept.json"), text);
}

TEST_F(AcceptRecordTest, WhatIsMissingOrReplacedLeavesNoPass) {
  SealParts();
  for (const char* part : {"storage", "load-1", "load-2"}) {
    const std::string file = std::string(part) + (part[0] == 's' ? "/storage.json" : "/journal");
    Spoils([&] { fs::remove_all(path() / part); }, std::string(part) + " is missing");
    Spoils([&] { fs::remove(path() / file); }, file + " is missing");
    Spoils([&] { Write(path() / file, ""); }, file);
    Spoils(
        [&] {
          fs::rename(path() / part, path() / "elsewhere");
          fs::create_directory_symlink("elsewhere", path() / part);
        },
        std::string(part) + " is a symbolic link");
    Spoils(
        [&] {
          fs::rename(path() / file, path() / "elsewhere");
          fs::create_symlink("../elsewhere", path() / file);
        },
        file + " is a symbolic link");
    Spoils([&] { Write(path() / file, Read(path() / file) + "\n"); }, file + " was changed or replaced");
  }
  Spoils([&] { fs::copy(path() / "load-1", path() / "load-3", fs::copy_options::recursive); },
         "load-3 is not one of the parts that accept.json has");
  Spoils([&] { fs::create_directory(path() / "limit-1"); }, "limit-1 is not one of the parts");
  Spoils(
      [&] {
        fs::copy_file(path() / "load-2/journal", path() / "load-1/journal", fs::copy_options::overwrite_existing);
      },
      "load-1/journal was changed or replaced: it is of run ");
  // A journal that ends before its last record, and one that is a report.
  Spoils([&] { fs::resize_file(path() / "load-2/journal", fs::file_size(path() / "load-2/journal") / 2); },
         "load-2/journal was changed or replaced");
  Spoils([&] { Write(path() / "load-1/journal", "{\"format\": 1, \"run\": {}, \"steps\": []}"); },
         "load-1/journal cannot be read");
}

TEST_F(AcceptRecordTest, ASealThatIsGoneIsMissed) {
  SealParts();
  const std::string text = Read(path() / "accept.json");
  const std::string digest = Load().runs(1).seal().sha256();
  Spoils([&] { Write(path() / "accept.json", absl::StrReplaceAll(text, {{digest, ""}})); },
         "accept.json has no SHA-256 of its results");
  const std::string own = text.substr(text.rfind("\"record_sha256\": \"") + 18, 64);
  Spoils([&] { Write(path() / "accept.json", absl::StrReplaceAll(text, {{own, ""}})); }, "accept.json was changed");
}

// Whichever byte it is, and of whichever file: there is a reason, or the record cannot be read at all.
TEST_F(AcceptRecordTest, NoByteCanBeFlippedUnnoticed) {
  SealParts();
  const uint32_t seed = tests::RandomSeed();
  SCOPED_TRACE(::testing::Message() << "PLIMSOLL_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (const char* name : {"accept.json", "storage/storage.json", "load-1/journal", "load-2/journal"}) {
    const std::string bytes = Read(path() / name);
    for (int i = 0; i < 60; ++i) {
      const size_t at = random() % bytes.size();
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1U << (random() % 8)));
      Write(path() / name, changed);
      const absl::StatusOr<v1::AcceptReport> report = LoadAcceptDirectory(path().string());
      if (report.ok()) {
        EXPECT_EQ(report->outcome(), v1::OUTCOME_INCONCLUSIVE) << name << " at " << at;
        EXPECT_THAT(report->reasons(), Contains(HasSubstr(name))) << name << " at " << at;
      } else {
        EXPECT_STREQ(name, "accept.json") << report.status();
      }
    }
    Write(path() / name, bytes);
  }
  EXPECT_EQ(Load().outcome(), v1::OUTCOME_PASS);
}

TEST_F(AcceptRecordTest, AFailureOfAnotherPartStandsWhenOneIsMissing) {
  v1::AcceptReport report = Load();
  report.mutable_runs(0)->set_outcome(v1::OUTCOME_FAIL);
  report.mutable_runs(0)->mutable_seal()->set_outcome(v1::OUTCOME_FAIL);
  Keep(report);
  fs::remove_all(path() / "load-2");
  EXPECT_EQ(Load().outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(Load().reasons(), Contains(HasSubstr("load-2 is missing")));
}

TEST(SealedRecord, IsIntactAsItWasSealedAndNotWithAnyOtherByte) {
  const std::string sealed =
      SealRecord("{\n  \"name\": \"\\\"record_sha256\\\": \\\"\",\n  \"record_sha256\": \"\"\n}\n");
  EXPECT_TRUE(IsSealIntact(sealed));
  for (size_t at = 0; at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(IsSealIntact(changed)) << at;
    EXPECT_FALSE(IsSealIntact(sealed.substr(0, at))) << at;
  }
  EXPECT_FALSE(IsSealIntact("{}"));
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace plimsoll
