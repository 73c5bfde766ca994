#include "common/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plimsoll {
namespace {

TEST(Text, ValidUtf8HasNoInvalidByte) {
  EXPECT_EQ(FindInvalidUtf8(""), std::string::npos);
  EXPECT_EQ(FindInvalidUtf8("plain"), std::string::npos);
  EXPECT_EQ(FindInvalidUtf8("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), std::string::npos);
  EXPECT_EQ(FindInvalidUtf8("\xF4\x8F\xBF\xBF"), std::string::npos);
}

TEST(Text, TheFirstInvalidByteIsFound) {
  EXPECT_EQ(FindInvalidUtf8("ab\xFF"), 2U);
  EXPECT_EQ(FindInvalidUtf8("ab\x80"), 2U);
  EXPECT_EQ(FindInvalidUtf8("a\xC3"), 1U) << "cut short";
  EXPECT_EQ(FindInvalidUtf8("a\xC3z"), 1U) << "no continuation";
  EXPECT_EQ(FindInvalidUtf8("\xC0\x80"), 0U) << "longer than needed";
  EXPECT_EQ(FindInvalidUtf8("\xED\xA0\x80"), 0U) << "surrogate";
  EXPECT_EQ(FindInvalidUtf8("\xF4\x90\x80\x80"), 0U) << "beyond Unicode";
}

TEST(Text, ControlCharactersAreFoundInEveryRange) {
  EXPECT_FALSE(HasControl("plain \xC3\xA4 \xC2\xA0"));
  EXPECT_TRUE(HasControl("a\tb"));
  EXPECT_TRUE(HasControl("a\n"));
  EXPECT_TRUE(HasControl(std::string("a\0b", 3)));
  EXPECT_TRUE(HasControl("\x7F"));
  EXPECT_TRUE(HasControl("\xC2\x85"));
}

TEST(Text, CharactersThatDoNotShowAreReplacedAndFound) {
  // A zero-width space and joiner, a soft hyphen, a word joiner, a byte order mark, an override of direction, a
  // variation selector, a Hangul filler, a tag.
  for (const char* hidden :
       {"\u200B", "\u200D", "\u00AD", "\u2060", "\uFEFF", "\u202E", "\uFE0F", "\u3164", "\U000E0041"}) {
    const std::string text = std::string("node") + hidden + "1";
    EXPECT_TRUE(HasControl(text)) << hidden;
    EXPECT_EQ(SanitizeForTerminal(text), "node\uFFFD1");
  }
  for (const char* shown : {"é", "\u00A0", "日本", "→", "\U0001F600"}) {
    EXPECT_FALSE(HasControl(shown)) << shown;
    EXPECT_EQ(SanitizeForTerminal(shown), shown);
  }
}

TEST(Text, RunIdsAreLowerCaseHexadecimalDigits) {
  for (const std::string& good : {std::string("0"), std::string("7f3a21"), std::string(64, 'f')}) {
    EXPECT_TRUE(IsRunId(good)) << good;
  }
  for (const std::string& bad : {std::string(), std::string("7F"), std::string("g"), std::string("a b"),
                                 std::string("../a"), std::string(65, 'f')}) {
    EXPECT_FALSE(IsRunId(bad)) << bad;
  }
}

TEST(Text, QuotedTextStaysOnOneShortLine) {
  EXPECT_EQ(Quoted("4k"), "'4k'");
  EXPECT_EQ(Quoted("\xC3\xA4"), "'\xC3\xA4'");
  EXPECT_EQ(Quoted("a\nb"), "'a?b'");
  EXPECT_EQ(Quoted("a\xFF"), "'a?'");
  EXPECT_EQ(Quoted(std::string(100, 'x')), "'" + std::string(60, 'x') + "...'");
}

TEST(Text, AShellReadsAQuotedArgumentBackAsItWas) {
  EXPECT_EQ(ShellQuoted("/mnt/mq-log_1:2"), "/mnt/mq-log_1:2");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("a b"), "'a b'");
  EXPECT_EQ(ShellQuoted("$(reboot)"), "'$(reboot)'");
  EXPECT_EQ(ShellQuoted("it's"), R"('it'\''s')");
  EXPECT_EQ(ShellQuoted("~root"), "'~root'");
}

TEST(Text, TheClosestWordIsNearAndIgnoresCaseAndDashes) {
  const std::vector<std::string> words = {"dir", "qm", "file_size", "num_files"};
  EXPECT_EQ(ClosestWord("qmm", words), "qm");
  EXPECT_EQ(ClosestWord("File-Size", words), "file_size");
  EXPECT_EQ(ClosestWord("numfiles", words), "num_files");
  EXPECT_EQ(ClosestWord("rnu", {"plan", "run"}), "run") << "two letters swapped";
  EXPECT_EQ(ClosestWord("storage", words), "");
  EXPECT_EQ(ClosestWord("", words), "");
}

TEST(Text, TheClosestWordMayBeAnAbbreviation) {
  const std::vector<std::string> words = {"--dir", "--bsize", "--num-files"};
  EXPECT_EQ(ClosestWord("--blocksize", words), "--bsize");
  EXPECT_EQ(ClosestWord("--numberoffiles", words), "--num-files");
  EXPECT_EQ(ClosestWord("--size-of-blocks", words), "") << "the same letters in another order";
}

}  // namespace
}  // namespace plimsoll
