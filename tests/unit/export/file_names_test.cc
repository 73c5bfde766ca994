#include <gtest/gtest.h>

#include <map>
#include <random>

#include "controller/export/output.h"

namespace plimsoll {
namespace {

TEST(SafeName, KeepsWhatIsPlainAndSpellsTheRest) {
  EXPECT_EQ(SafeName("node-1.example_com"), "node-1.example_com");
  EXPECT_EQ(SafeName("a/b c"), "a%2Fb%20c");
  EXPECT_EQ(SafeName("../x"), "%2E.%2Fx");
  EXPECT_EQ(SafeName("100%"), "100%25");
  EXPECT_EQ(SafeName(""), "%");
  EXPECT_EQ(SafeName("\xc3\xa4"), "%C3%A4");
}

TEST(SafeName, NeverEndsInsideASpelledByte) {
  EXPECT_EQ(SafeName("ab//", 6), "ab%2F");
  EXPECT_EQ(SafeName(std::string(100, 'x')).size(), 64U);
}

TEST(SafeName, OfDifferentTextsIsDifferent) {
  std::mt19937_64 random(21);
  constexpr char kLetters[] = {'a', 'B', '%', '2', 'F', '/', '.', ' ', '\0', '\xff'};
  std::map<std::string, std::string> origin;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (uint64_t left = random() % 6; left > 0; --left) text += kLetters[random() % sizeof(kLetters)];
    const std::string name = SafeName(text, SIZE_MAX);
    const auto [place, is_new] = origin.try_emplace(name, text);
    ASSERT_EQ(place->second, text) << name;
  }
}

}  // namespace
}  // namespace plimsoll
