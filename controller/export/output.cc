#include "controller/export/output.h"

#include <sys/stat.h>

#include <cerrno>
#include <ostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/status_macros.h"
#include "controller/journal/results.h"

namespace plimsoll {
namespace {

class FileOutput : public Output {
 public:
  explicit FileOutput(FileWriter file) : file_(std::move(file)) {}

 protected:
  absl::Status Write(const std::string& bytes) override { return file_.Write(bytes); }
  absl::Status Close() override { return file_.Finish(); }

 private:
  FileWriter file_;
};

class StreamOutput : public Output {
 public:
  explicit StreamOutput(std::ostream& stream) : stream_(stream) {}

 protected:
  absl::Status Write(const std::string& bytes) override {
    errno = 0;
    stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return Check();
  }
  absl::Status Close() override {
    errno = 0;
    stream_.flush();
    return Check();
  }

 private:
  absl::Status Check() const {
    if (stream_) return absl::OkStatus();
    return errno == EPIPE ? absl::CancelledError("the reader of standard output has seen enough")
                          : absl::UnavailableError("standard output could not be written");
  }

  std::ostream& stream_;
};

}  // namespace

absl::Status Output::Flush() {
  if (failed_.ok() && !buffer_.empty()) failed_ = Write(buffer_);
  buffer_.clear();
  return failed_;
}

absl::Status Output::Finish() {
  PLIMSOLL_RETURN_IF_ERROR(Flush());
  return failed_ = Close();
}

absl::StatusOr<std::unique_ptr<Output>> OpenFileOutput(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(FileWriter file, FileWriter::ToPath(path));
  return std::unique_ptr<Output>(new FileOutput(std::move(file)));
}

absl::StatusOr<std::unique_ptr<Output>> OpenOutputIn(int directory, const std::string& name, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(FileWriter file, FileWriter::InDirectory(directory, name, path));
  return std::unique_ptr<Output>(new FileOutput(std::move(file)));
}

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat first{};
  struct stat second{};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

std::unique_ptr<Output> MakeStreamOutput(std::ostream& stream) {
  return std::unique_ptr<Output>(new StreamOutput(stream));
}

std::string SafeName(const std::string& text, size_t most) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = absl::ascii_isalnum(byte) || c == '_' || c == '-' || (c == '.' && !name.empty());
    const size_t needed = plain ? 1 : 3;
    if (name.size() + needed > most) break;
    if (plain) {
      name += c;
    } else {
      name += '%';
      name += kHex[byte >> 4U];
      name += kHex[byte & 15U];
    }
  }
  return name.empty() ? "%" : name;
}

}  // namespace plimsoll
