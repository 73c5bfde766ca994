// faultfs BACKING MOUNTPOINT CONTROL: shows the directory BACKING at MOUNTPOINT, and lets go wrong what it is told to
// through the socket CONTROL (README.md). In the foreground; SIGTERM ends and unmounts it. For tests.
#define FUSE_USE_VERSION 312

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "tests/faultfs/control_socket.h"
#include "tests/faultfs/faultfs_state.h"

namespace plimsoll::faultfs {

State& TheState() {
  static State state;
  return state;
}

namespace {

// The kernel names the thread that asks, or 0.
pid_t CallingProcess() {
  const pid_t thread = fuse_get_context()->pid;
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  std::string word;
  pid_t process = 0;
  while (status >> word) {
    if (word == "Tgid:" && status >> process) return process;
  }
  return thread;
}

}  // namespace

FaultRules::Verdict Ask(const char* operation, const std::string& path) {
  return TheState().rules.Ask(operation, path, {CallingProcess, [] { return fuse_interrupted() != 0; }});
}

namespace {

// As many operations may hang at once.
constexpr unsigned kThreads = 512;
// What O_DIRECT on the backing file may ask of memory.
constexpr size_t kAlignBytes = 4096;

std::string Real(const char* path) {
  return TheState().backing + path;
}

int Result(int returned) {
  return returned == 0 ? 0 : -errno;
}

// Operations that a fault can only fail or hold up.
template <typename Call>
int Simple(const char* operation, const char* path, const Call& call) {
  if (const int error = Ask(operation, path).error_number; error != 0) return -error;
  return Result(call());
}

void* Init(fuse_conn_info* /*connection*/, fuse_config* config) {
  config->use_ino = 1;
  config->hard_remove = 1;
  config->nullpath_ok = 1;
  // Every look asks the backing directory, which others may change too.
  config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
  return nullptr;
}

int GetAttr(const char* path, struct stat* out, fuse_file_info* info) {
  if (info != nullptr) {
    OpenFile& file = FileOf(info);
    return Simple("getattr", file.path.c_str(), [&] { return fstat(file.fd, out); });
  }
  return Simple("getattr", path, [&] { return lstat(Real(path).c_str(), out); });
}

int ReadLink(const char* path, char* out, size_t size) {
  const ssize_t length = readlink(Real(path).c_str(), out, size - 1);
  if (length < 0) return -errno;
  out[length] = '\0';
  return 0;
}

int SymLink(const char* target, const char* path) {
  return Result(symlink(target, Real(path).c_str()));
}

int MkDir(const char* path, mode_t mode) {
  return Simple("mkdir", path, [&] { return mkdir(Real(path).c_str(), mode); });
}

int Unlink(const char* path) {
  return Simple("unlink", path, [&] { return unlink(Real(path).c_str()); });
}

int RmDir(const char* path) {
  return Simple("rmdir", path, [&] { return rmdir(Real(path).c_str()); });
}

int Rename(const char* from, const char* to, unsigned flags) {
  if (flags != 0) return -EINVAL;
  return Simple("rename", from, [&] { return rename(Real(from).c_str(), Real(to).c_str()); });
}

int ChMod(const char* path, mode_t mode, fuse_file_info* /*info*/) {
  return Result(chmod(Real(path).c_str(), mode));
}

int ChOwn(const char* path, uid_t user, gid_t group, fuse_file_info* /*info*/) {
  return Result(lchown(Real(path).c_str(), user, group));
}

int UTimeNs(const char* path, const timespec times[2], fuse_file_info* /*info*/) {
  return Result(utimensat(AT_FDCWD, Real(path).c_str(), times, AT_SYMLINK_NOFOLLOW));
}

int Truncate(const char* path, off_t size, fuse_file_info* info) {
  if (info != nullptr) {
    OpenFile& file = FileOf(info);
    return Simple("truncate", file.path.c_str(), [&] { return ftruncate(file.fd, size); });
  }
  return Simple("truncate", path, [&] { return truncate(Real(path).c_str(), size); });
}

// Opens the backing file with the very flags of the caller: O_DIRECT and O_DSYNC mean below what they mean above.
int OpenWith(const char* operation, const char* path, int flags, mode_t mode, fuse_file_info* info) {
  if (const int error = Ask(operation, path).error_number; error != 0) return -error;
  auto file = std::make_unique<OpenFile>();
  file->path = path;
  file->fd = open(Real(path).c_str(), flags | O_CLOEXEC, mode);
  if (file->fd < 0) return -errno;
  struct stat facts{};
  if (fstat(file->fd, &facts) != 0) return -errno;
  file->identity = std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino);
  info->fh = reinterpret_cast<uint64_t>(file.release());
  // No page cache of the kernel's between the program and the faults: a write is a write.
  info->direct_io = 1;
  return 0;
}

int Open(const char* path, fuse_file_info* info) {
  return OpenWith("open", path, info->flags & ~(O_CREAT | O_EXCL), 0, info);
}

int Create(const char* path, mode_t mode, fuse_file_info* info) {
  return OpenWith("create", path, info->flags | O_CREAT, mode, info);
}

struct FreeBuffer {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<char, FreeBuffer>;

Buffer AlignedBuffer(size_t size) {
  const size_t whole = (size + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
  return Buffer(static_cast<char*>(std::aligned_alloc(kAlignBytes, std::max(whole, kAlignBytes))));
}

int Read(const char* /*path*/, char* out, size_t size, off_t offset, fuse_file_info* info) {
  OpenFile& file = FileOf(info);
  if (const int error = Ask("read", file.path).error_number; error != 0) return -error;
  const Buffer buffer = AlignedBuffer(size);
  if (buffer == nullptr) return -ENOMEM;
  const ssize_t got = pread(file.fd, buffer.get(), size, offset);
  if (got < 0) return -errno;
  std::memcpy(out, buffer.get(), static_cast<size_t>(got));
  return static_cast<int>(got);
}

int Write(const char* /*path*/, const char* data, size_t size, off_t offset, fuse_file_info* info) {
  OpenFile& file = FileOf(info);
  const FaultRules::Verdict fault = Ask("write", file.path);
  if (fault.drop) return static_cast<int>(size);
  if (fault.error_number != 0 && !fault.torn_bytes) return -fault.error_number;
  const size_t wanted = fault.torn_bytes ? std::min<size_t>(size, *fault.torn_bytes) : size;
  const Buffer buffer = AlignedBuffer(size);
  if (buffer == nullptr) return -ENOMEM;
  std::memcpy(buffer.get(), data, size);
  VolatileWrites::Replaced replaced;
  if (fault.volatile_writes > 0) {
    if (const int error = replaced.Read(file.fd, file.path, size, offset); error != 0) return -error;
  }
  int fd = file.fd;
  int plain = -1;
  if (fault.torn_bytes) {
    // A part of a block is nothing that O_DIRECT takes.
    plain = open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_WRONLY | O_DSYNC | O_CLOEXEC);
    if (plain < 0) return -errno;
    fd = plain;
  }
  const ssize_t written = pwrite(fd, buffer.get(), wanted, offset);
  const int error = errno;
  if (plain >= 0) close(plain);
  if (written < 0) return -error;
  if (fault.volatile_writes > 0) {
    TheState().volatile_writes.Add(fault.rule, fault.volatile_writes, std::move(replaced));
  }
  if (!fault.torn_bytes) return static_cast<int>(written);
  return fault.error_number != 0 ? -fault.error_number : static_cast<int>(size);
}

int StatFs(const char* path, struct statvfs* out) {
  return Simple("statfs", path, [&] { return statvfs(Real(path).c_str(), out); });
}

// One of the program's descriptors was closed.
int Flush(const char* /*path*/, fuse_file_info* info) {
  OpenFile& file = FileOf(info);
  // Before the locks: whoever gets them next finds what was lost gone.
  for (const uint64_t rule : TheState().volatile_writes.Close(file.path)) TheState().rules.Release(rule).IgnoreError();
  TheState().ranges.DropOwner(file.identity, info->lock_owner);
  return -Ask("flush", file.path).error_number;
}

int Release(const char* /*path*/, fuse_file_info* info) {
  const std::unique_ptr<OpenFile> file(&FileOf(info));
  Ask("release", file->path);
  TheState().ranges.DropHandle(file->identity, info->fh);
  TheState().flocks.DropHandle(file->identity, info->fh);
  close(file->fd);
  return 0;
}

int FSync(const char* /*path*/, int data_only, fuse_file_info* info) {
  OpenFile& file = FileOf(info);
  const FaultRules::Verdict fault = Ask("fsync", file.path);
  if (fault.drop) return 0;
  if (fault.error_number != 0) return -fault.error_number;
  return Result(data_only != 0 ? fdatasync(file.fd) : fsync(file.fd));
}

int FAllocate(const char* /*path*/, int mode, off_t offset, off_t length, fuse_file_info* info) {
  OpenFile& file = FileOf(info);
  return Simple("fallocate", file.path.c_str(), [&] { return fallocate(file.fd, mode, offset, length); });
}

int ReadDir(const char* /*path*/, void* out, fuse_fill_dir_t fill, off_t /*offset*/, fuse_file_info* info,
            fuse_readdir_flags /*flags*/) {
  const std::string& path = FileOf(info).path;
  if (const int error = Ask("readdir", path).error_number; error != 0) return -error;
  DIR* directory = opendir(Real(path.c_str()).c_str());
  if (directory == nullptr) return -errno;
  while (const dirent* entry = readdir(directory)) {
    struct stat about{};
    about.st_ino = entry->d_ino;
    about.st_mode = static_cast<mode_t>(DTTOIF(entry->d_type));
    if (fill(out, entry->d_name, &about, 0, static_cast<fuse_fill_dir_flags>(0)) != 0) break;
  }
  closedir(directory);
  return 0;
}

int OpenDir(const char* path, fuse_file_info* info) {
  if (const int error = Ask("open", path).error_number; error != 0) return -error;
  auto directory = std::make_unique<OpenFile>();
  directory->path = path;
  info->fh = reinterpret_cast<uint64_t>(directory.release());
  return 0;
}

int ReleaseDir(const char* /*path*/, fuse_file_info* info) {
  delete &FileOf(info);
  return 0;
}

fuse_operations Operations() {
  fuse_operations operations{};
  operations.init = Init;
  operations.getattr = GetAttr;
  operations.readlink = ReadLink;
  operations.symlink = SymLink;
  operations.mkdir = MkDir;
  operations.unlink = Unlink;
  operations.rmdir = RmDir;
  operations.rename = Rename;
  operations.chmod = ChMod;
  operations.chown = ChOwn;
  operations.utimens = UTimeNs;
  operations.truncate = Truncate;
  operations.open = Open;
  operations.create = Create;
  operations.read = Read;
  operations.write = Write;
  operations.statfs = StatFs;
  operations.flush = Flush;
  operations.release = Release;
  operations.fsync = FSync;
  operations.fallocate = FAllocate;
  operations.opendir = OpenDir;
  operations.readdir = ReadDir;
  operations.releasedir = ReleaseDir;
  operations.lock = LockRange;
  operations.flock = LockWhole;
  return operations;
}

// Lets go what hangs, then ends: a thread that hangs would be waited for.
void AwaitSignal(const sigset_t& signals) {
  int number = 0;
  sigwait(&signals, &number);
  TheState().rules.ReleaseAll();
  fuse_exit(TheState().handle);
  fuse_unmount(TheState().handle);  // wakes the threads that read from the kernel
}

int Main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: faultfs BACKING MOUNTPOINT CONTROL-SOCKET\n");
    return 2;
  }
  umask(0);  // modes come whole from the callers' kernel
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  State& state = TheState();
  state.backing = argv[1];

  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  for (const char* argument : {"faultfs", "-o", "fsname=faultfs,default_permissions,allow_other"}) {
    fuse_opt_add_arg(&arguments, argument);
  }
  const fuse_operations operations = Operations();
  state.handle = fuse_new(&arguments, &operations, sizeof operations, nullptr);
  if (state.handle == nullptr || fuse_mount(state.handle, argv[2]) != 0) {
    std::fprintf(stderr, "faultfs: cannot mount at %s\n", argv[2]);
    return 4;
  }
  auto control = ControlSocket::Listen(argv[3], {state.rules, state.ranges, state.volatile_writes});
  if (!control.ok()) {
    std::fprintf(stderr, "faultfs: %s\n", std::string(control.status().message()).c_str());
    fuse_unmount(state.handle);
    return 4;
  }
  std::thread ender([&signals] { AwaitSignal(signals); });
  std::puts("ready");
  std::fflush(stdout);
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, kThreads);
  fuse_loop_cfg_set_idle_threads(config, kThreads);
  const int result = fuse_loop_mt(state.handle, config);
  fuse_loop_cfg_destroy(config);
  pthread_kill(ender.native_handle(), SIGTERM);  // where somebody else has unmounted it
  ender.join();
  control->reset();
  fuse_destroy(state.handle);
  fuse_opt_free_args(&arguments);
  return result == 0 ? 0 : 1;
}

}  // namespace
}  // namespace plimsoll::faultfs

int main(int argc, char** argv) {
  return plimsoll::faultfs::Main(argc, argv);
}
