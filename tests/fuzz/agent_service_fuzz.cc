// Any bytes in any call of the agent's service, over a real server: it never crashes, every call ends, and nothing is
// touched outside the root. What Describe tells of a directory that is not below a root is an error.
//
// Bits 0 to 2 of an item's route choose the method; items of one method that follow one another are one stream, whose
// bytes need not be messages. The work of sessions is a fake one: session_fuzz has the real one.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/host/describe.h"
#include "agent/service/agent_service.h"
#include "common/protocol.h"
#include "tests/fuzz/file_tree.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/temp_directory.h"
#include "tests/unit/session/fake_work.h"

namespace plimsoll::fuzz {
namespace {

enum class Method : uint8_t { kDescribe, kSyncClock, kSession, kUnknown, kRenew };

Method MethodOf(const Item& item) {
  const auto number = static_cast<uint8_t>(item.route & 7U);
  return number > static_cast<uint8_t>(Method::kRenew) ? Method::kUnknown : static_cast<Method>(number);
}

const char* NameOf(Method method) {
  switch (method) {
    case Method::kDescribe:
      return "/plimsoll.v1.Agent/Describe";
    case Method::kSyncClock:
      return "/plimsoll.v1.Agent/SyncClock";
    case Method::kSession:
      return "/plimsoll.v1.Agent/Session";
    case Method::kRenew:
      return "/plimsoll.v1.Agent/Renew";
    case Method::kUnknown:
      break;
  }
  return "/plimsoll.v1.Agent/Erase";
}

// The service behind a server of this process, and a directory for Describe.
class Agent {
 public:
  Agent() {
    directory_.MakeDirectory("root/mq");
    std::ofstream(directory_.path() + "/root/file") << "no directory";
    auto sandbox = Sandbox::Create({directory_.path() + "/root"}, "fuzz-agent");
    Require(sandbox.ok(), "a sandbox over a fresh directory");
    sandbox_ = *std::move(sandbox);
    files_ = *TargetFiles::Create(*sandbox_, {});
    before_ = LookAt(directory_.path());
    AgentService::Options options;
    options.clock = &clock_;
    options.describe = [this](const v1::DescribeRequest& request, const std::function<bool()>&) {
      return Describe(request);
    };
    options.work = tests::FakeKinds([](const v1::HostPlan& plan, WorkSink& sink) {
      return std::make_unique<tests::FakeWork>(std::make_shared<tests::FakeWorkState>(), plan, sink);
    });
    service_ = std::make_unique<AgentService>(std::move(options));
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    builder.SetMaxReceiveMessageSize(1 << 20);
    server_ = builder.BuildAndStart();
    stub_ = std::make_unique<grpc::GenericStub>(server_->InProcessChannel({}));
  }

  // Sends the payloads in one call, and waits for its end.
  void Call(Method method, const std::vector<std::string>& payloads) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(8));
    grpc::CompletionQueue queue;
    const auto call = stub_->PrepareCall(&context, NameOf(method), &queue);
    call->StartCall(nullptr);
    Await(queue);
    // Answers are read while payloads go out: within one process a write may wait for them.
    grpc::ByteBuffer answer;
    call->Read(&answer, &kRead);
    bool reading = true;
    size_t sent = 0;
    const auto send_next = [&] {
      if (sent == payloads.size()) return false;
      grpc::Slice slice(payloads[sent++]);
      grpc::WriteOptions options;
      if (sent == payloads.size()) options.set_last_message();
      call->Write(grpc::ByteBuffer(&slice, 1), options, &kWritten);
      return true;
    };
    bool writing = send_next();
    while (reading || writing) {
      void* tag = nullptr;
      bool ok = false;
      if (!queue.Next(&tag, &ok)) break;
      if (tag == &kWritten) {
        writing = ok && send_next();
      } else {
        reading = ok;
        if (ok) call->Read(&answer, &kRead);
      }
    }
    grpc::Status status;
    call->Finish(&status, nullptr);
    Await(queue);
    Require(status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED ||
                status.error_message().find("lease") != std::string::npos,
            "a call that does not end", [&] { return status.error_message(); });
    Require(method != Method::kUnknown || status.error_code() == grpc::StatusCode::UNIMPLEMENTED, "a method too many");
    queue.Shutdown();
    service_->WaitForSession();
  }

  void Check() const { Require(LookAt(directory_.path()) == before_, "something was touched"); }

 private:
  // Tags of what may be under way at once.
  static inline char kRead;
  static inline char kWritten;

  static bool Await(grpc::CompletionQueue& queue) {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  }

  // Directories that a request names lie below the test's own.
  v1::HostDescription Describe(v1::DescribeRequest request) const {
    while (request.directories_size() > 8) request.mutable_directories()->RemoveLast();
    for (std::string& directory : *request.mutable_directories()) {
      if (directory.starts_with('/')) directory.insert(0, directory_.path());
    }
    v1::HostDescription description =
        DescribeHost("fuzz", "instance", *sandbox_, *files_, request, [] { return false; });
    Require(description.directories_size() == request.directories_size(), "a directory is missing");
    for (const v1::FileDescription& file : description.files()) {
      Require(!file.error().empty() && !file.write_error().empty(), "a file that no option allows",
              [&] { return file.path(); });
    }
    for (const v1::DirectoryDescription& directory : description.directories()) {
      const std::string root = directory_.path() + "/root";
      const bool below = directory.path() == root || directory.path().starts_with(root + "/");
      Require(!directory.error().empty() || below, "a directory outside the root", [&] { return directory.path(); });
    }
    return description;
  }

  tests::TempDirectory directory_;
  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<TargetFiles> files_;
  std::map<std::string, std::string> before_;
  const SystemClock clock_;
  std::unique_ptr<AgentService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

void TryCalls(const uint8_t* data, size_t size) {
  static Agent* const agent = [] {
    spdlog::set_level(spdlog::level::off);
    return new Agent();  // gRPC's own threads are still there at the process's end
  }();
  const std::vector<Item> items = ReadItems(data, size);
  for (size_t i = 0; i < items.size();) {
    const Method method = MethodOf(items[i]);
    std::vector<std::string> payloads;
    for (; i < items.size() && MethodOf(items[i]) == method; ++i) payloads.push_back(items[i].payload);
    agent->Call(method, payloads);
  }
  agent->Check();
}

std::unique_ptr<google::protobuf::Message> PrototypeOf(const Item& item) {
  switch (MethodOf(item)) {
    case Method::kDescribe:
      return std::make_unique<v1::DescribeRequest>();
    case Method::kSyncClock:
      return std::make_unique<v1::ClockProbe>();
    case Method::kSession:
      return std::make_unique<v1::ControllerMessage>();
    case Method::kRenew:
      return std::make_unique<v1::RenewRequest>();
    case Method::kUnknown:
      break;
  }
  return nullptr;
}

}  // namespace
}  // namespace plimsoll::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::fuzz::Silence();
  plimsoll::fuzz::TryCalls(data, size);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return plimsoll::fuzz::MutateItems(plimsoll::fuzz::PrototypeOf, data, size, max_size, seed);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* one, size_t one_size, const uint8_t* other,
                                            size_t other_size, uint8_t* out, size_t max_size, unsigned int seed) {
  return plimsoll::fuzz::CrossItems(one, one_size, other, other_size, out, max_size, seed);
}
