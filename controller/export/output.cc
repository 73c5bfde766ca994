#include "controller/export/output.h"

#include <sys/stat.h>

#include <ostream>
#include <utility>

#include "common/status_macros.h"
#include "controller/run/file_writer.h"

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
    stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return Check();
  }
  absl::Status Close() override {
    stream_.flush();
    return Check();
  }

 private:
  absl::Status Check() const {
    return stream_ ? absl::OkStatus() : absl::UnavailableError("standard output could not be written");
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

}  // namespace plimsoll
