// Standard error of a command that takes another program's options: messages name these.
#pragma once

#include <functional>
#include <ostream>
#include <streambuf>
#include <string>
#include <utility>

namespace plimsoll {

// Passes each line on as `translate` returns it, once it is complete. `target` outlives the object.
class TranslatedLines : public std::streambuf {
 public:
  TranslatedLines(std::ostream& target, std::function<std::string(const std::string& line)> translate)
      : target_(target), translate_(std::move(translate)) {}
  ~TranslatedLines() override { Pass(); }
  TranslatedLines(const TranslatedLines&) = delete;
  TranslatedLines& operator=(const TranslatedLines&) = delete;

 protected:
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
    line_ += traits_type::to_char_type(character);
    if (line_.back() == '\n') Pass();
    return character;
  }

 private:
  void Pass() {
    target_ << translate_(line_) << std::flush;
    line_.clear();
  }

  std::ostream& target_;
  const std::function<std::string(const std::string& line)> translate_;
  std::string line_;
};

}  // namespace plimsoll
