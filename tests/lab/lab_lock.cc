// Takes a lock on a whole file, on a host of the lab. Which hosts it binds is the file system's affair.
//
//   lab_lock hold KIND FILE    locks it for writing; writes `held` and stays until killed
//   lab_lock try KIND FILE     writes `free` or `taken`, and holds nothing
//
// KIND is `fcntl`, which queue managers use, or `flock`, which is another lock. FILE is made where it is missing.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

bool Lock(int file, bool by_fcntl) {
  if (!by_fcntl) return flock(file, LOCK_EX | LOCK_NB) == 0;
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(file, F_SETLK, &whole) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string action = argc == 4 ? argv[1] : "";
  const std::string kind = argc == 4 ? argv[2] : "";
  if ((action != "hold" && action != "try") || (kind != "fcntl" && kind != "flock")) {
    std::fprintf(stderr, "usage: lab_lock hold|try fcntl|flock FILE\n");
    return 2;
  }
  const int file = open(argv[3], O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) {
    std::fprintf(stderr, "lab_lock: open %s: %s\n", argv[3], std::strerror(errno));
    return 2;
  }
  const bool locked = Lock(file, kind == "fcntl");
  if (!locked && errno != EAGAIN && errno != EACCES) {
    std::fprintf(stderr, "lab_lock: %s %s: %s\n", kind.c_str(), argv[3], std::strerror(errno));
    return 2;
  }
  const bool stays = locked && action == "hold";
  std::puts(stays ? "held" : locked ? "free" : "taken");
  std::fflush(stdout);
  if (stays) pause();
  return 0;
}
