// Where an export goes: a file that appears whole or not at all, or a stream; and names that are safe in files and
// tags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// Takes bytes, in pieces of any size, and writes them in large ones. Not thread-safe.
class Output {
 public:
  virtual ~Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Errors name the file; after one nothing more is written and it is returned again.
  absl::Status Append(std::string_view bytes) {
    buffer_.append(bytes);
    written_ += bytes.size();
    return buffer_.size() < kBufferBytes ? absl::OkStatus() : Flush();
  }
  // Writes what is left and makes the file appear. Without it nothing is left behind. Called once, last.
  absl::Status Finish();

  // Bytes taken.
  uint64_t written() const { return written_; }

 protected:
  Output() = default;
  virtual absl::Status Write(const std::string& bytes) = 0;
  virtual absl::Status Close() = 0;

 private:
  static constexpr size_t kBufferBytes = size_t{256} << 10;
  absl::Status Flush();

  std::string buffer_;
  uint64_t written_ = 0;
  absl::Status failed_;
};

// A file that the user named, or one of a name that the program chose in a directory that is held open; see
// FileWriter::ToPath and FileWriter::InDirectory.
absl::StatusOr<std::unique_ptr<Output>> OpenFileOutput(const std::string& path);
absl::StatusOr<std::unique_ptr<Output>> OpenOutputIn(int directory, const std::string& name, const std::string& path);

// Whether both names lead to one file that is there.
bool IsSameFile(const std::string& a, const std::string& b);

// A stream, which must outlive it. Errors say "standard output"; CANCELLED where its reader has gone, as `head` does.
std::unique_ptr<Output> MakeStreamOutput(std::ostream& stream);

// `text` with every byte that is not a letter, a digit, '.', '_' or '-' as '%' and two hexadecimal digits, and a '.' in
// front as well; different texts stay different, but for what is beyond `most` bytes, which is cut. Never empty ("%").
std::string SafeName(const std::string& text, size_t most = 64);

}  // namespace plimsoll
