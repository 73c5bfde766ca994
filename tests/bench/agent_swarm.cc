// agent_swarm COUNT DIR: COUNT agents in one process that write nothing, on the sockets DIR/0.sock, DIR/1.sock, ...
//
// What is left of a run is the controller's work: it gets from each agent the frames of one busy writer. Prints
// "listening" when all sockets are there; ends with its standard input.
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/protocol.h"
#include "tests/bench/swarm_session.h"

namespace plimsoll {
namespace {

// Answers probes one after another.
class ClockStream final : public grpc::ServerBidiReactor<v1::ClockProbe, v1::ClockReply> {
 public:
  ClockStream() { StartRead(&probe_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    reply_.set_id(probe_.id());
    reply_.set_received_ns(clock_.Now().value);
    reply_.set_wall_clock_ns(clock_.WallNow().value);
    reply_.set_sent_ns(clock_.Now().value);
    StartWrite(&reply_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    StartRead(&probe_);
  }
  void OnDone() override { delete this; }

 private:
  const SystemClock clock_;
  v1::ClockProbe probe_;
  v1::ClockReply reply_;
};

// All agents at once: a call does not tell which socket it came by, so agents are numbered as they are asked.
class SwarmService final : public v1::Agent::CallbackService {
 public:
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const v1::DescribeRequest* request,
                                     v1::HostDescription* response) override {
    const uint32_t number = ++described_;
    response->set_version(kVersion);
    response->set_protocol_version(kProtocolVersion);
    response->set_instance_id(absl::StrCat("swarm-", number));
    response->set_name(absl::StrCat("swarm-", number));
    response->set_boot_id(absl::StrCat("boot-", number));
    response->set_kernel("6.1.0");
    response->set_cpus(8);
    response->set_usable_cpus(8);
    response->set_memory_bytes(uint64_t{1} << 34U);
    response->set_clock_source("tsc");
    response->set_clock_read_ns(40);
    response->set_clock_resolution_ns(1);
    response->set_wall_clock_ns(clock_.WallNow().value);
    response->set_time_synchronized(true);
    for (const std::string& path : request->directories()) {
      v1::DirectoryDescription& directory = *response->add_directories();
      directory.set_path(path);
      directory.set_fs_type("ext4");
      directory.set_fs_source("/dev/sda1");
      directory.set_mount_point("/");
      directory.set_total_bytes(uint64_t{1} << 40U);
      directory.set_free_bytes(uint64_t{1} << 40U);
      directory.set_direct_memory_align(512);
      directory.set_direct_offset_align(512);
      directory.set_device(1);
    }
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerBidiReactor<v1::ClockProbe, v1::ClockReply>* SyncClock(
      grpc::CallbackServerContext* /*context*/) override {
    return new ClockStream;
  }

  grpc::ServerBidiReactor<v1::ControllerMessage, v1::AgentMessage>* Session(
      grpc::CallbackServerContext* /*context*/) override {
    return new SwarmSession::Stream(std::make_shared<SwarmSession>(++sessions_), ticker_);
  }

 private:
  const SystemClock clock_;
  std::atomic<uint32_t> described_{0};
  std::atomic<uint32_t> sessions_{0};
  SwarmTicker ticker_;
};

int Main(int argc, char** argv) {
  uint32_t count = 0;
  if (argc != 3 || std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), count).ec != std::errc() || count == 0) {
    std::fputs("usage: agent_swarm COUNT DIR\n", stderr);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  SwarmService service;
  grpc::ServerBuilder builder;
  for (uint32_t i = 0; i < count; ++i) {
    builder.AddListeningPort(absl::StrCat("unix:", argv[2], "/", i, ".sock"), grpc::InsecureServerCredentials());
  }
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::fprintf(stderr, "agent_swarm: cannot listen below %s: too few files allowed (ulimit -n)?\n", argv[2]);
    return 1;
  }
  std::puts("listening");
  std::fflush(stdout);
  std::array<char, 64> ignored{};
  while (read(STDIN_FILENO, ignored.data(), ignored.size()) > 0) {
  }
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  return plimsoll::Main(argc, argv);
}
