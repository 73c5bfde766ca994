#include "controller/export/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ostream>
#include <utility>

#include "common/posix_error.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

class FileOutput : public Output {
 public:
  // `temporary` is empty where `path` itself is written to.
  FileOutput(std::string path, std::string temporary, UniqueFd fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}
  ~FileOutput() override {
    if (!temporary_.empty()) unlink(temporary_.c_str());
  }

 protected:
  absl::Status Write(const std::string& bytes) override {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = write(fd_.get(), bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return PosixError("write", path_, errno);
      done += static_cast<size_t>(n);
    }
    return absl::OkStatus();
  }

  absl::Status Close() override {
    // A quota or a network file system may tell of a failed write only now.
    if (close(fd_.Release()) != 0) return PosixError("close", path_, errno);
    if (temporary_.empty()) return absl::OkStatus();
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return PosixError("rename to", path_, errno);
    temporary_.clear();
    return absl::OkStatus();
  }

 private:
  std::string path_;
  std::string temporary_;
  UniqueFd fd_;
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
  struct stat status{};
  // A symbolic link is followed: what it points to is what is written.
  const bool exists = lstat(path.c_str(), &status) == 0;
  const bool in_place = exists && !S_ISREG(status.st_mode);
  const std::string opened = in_place ? path : path + ".new";
  UniqueFd fd(open(opened.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid()) return PosixError("open", path, errno);
  return std::unique_ptr<Output>(new FileOutput(path, in_place ? "" : opened, std::move(fd)));
}

std::unique_ptr<Output> MakeStreamOutput(std::ostream& stream) {
  return std::unique_ptr<Output>(new StreamOutput(stream));
}

}  // namespace plimsoll
