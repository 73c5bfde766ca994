#include "controller/export/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix_error.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

class FileOutput : public Output {
 public:
  // `path` names it in errors. `temporary` takes the place of `target` at the end; it is empty where the file itself is
  // written to.
  FileOutput(std::string path, std::string target, std::string temporary, UniqueFd fd)
      : path_(std::move(path)), target_(std::move(target)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}
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
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) return PosixError("rename to", path_, errno);
    temporary_.clear();
    return absl::OkStatus();
  }

 private:
  std::string path_;
  std::string target_;
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

// What `path` leads to, through all symbolic links; the last of them may lead to what is not there yet.
absl::StatusOr<std::string> BehindLinks(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as the kernel follows
  std::filesystem::path place = path;
  for (int i = 0; i < kMostLinks; ++i) {
    struct stat status{};
    if (lstat(place.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return place.string();
    std::string target(PATH_MAX, '\0');
    const ssize_t length = readlink(place.c_str(), target.data(), target.size());
    if (length < 0) return PosixError("readlink", path, errno);
    target.resize(static_cast<size_t>(length));
    // A relative one starts at the link's own directory; an absolute one replaces all of it.
    place = place.parent_path() / target;
  }
  return PosixError("open", path, ELOOP);
}

// A new file beside `target`, which nobody else has: one that is there already is left alone.
absl::StatusOr<UniqueFd> CreateBeside(const std::string& path, const std::string& target, std::string& name) {
  static std::atomic<uint64_t> next{0};
  const std::filesystem::path directory = std::filesystem::path(target).parent_path();
  while (true) {
    name = directory / absl::StrCat(".plimsoll-export-", getpid(), "-", next++);
    UniqueFd fd(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (fd.valid()) return fd;
    if (errno != EEXIST) return PosixError("open", path, errno);
  }
}

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
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string target, BehindLinks(path));
  struct stat status{};
  const bool exists = lstat(target.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    UniqueFd fd(open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) return PosixError("open", path, errno);
    return std::unique_ptr<Output>(new FileOutput(path, target, "", std::move(fd)));
  }
  std::string temporary;
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, CreateBeside(path, target, temporary));
  auto output = std::make_unique<FileOutput>(path, target, temporary, std::move(fd));
  // As readable as what it replaces.
  if (exists && chmod(temporary.c_str(), status.st_mode & 07777U) != 0) return PosixError("chmod", path, errno);
  return std::unique_ptr<Output>(std::move(output));
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
