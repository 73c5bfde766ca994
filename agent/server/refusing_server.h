// Answers every call of those who may not come in, and does nothing else.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "common/unique_fd.h"

namespace plimsoll {

// A gRPC server of its own, with a memory of its own, that knows no call: each gets PERMISSION_DENIED with one sentence.
class RefusingServer {
 public:
  // Null where gRPC cannot make a server.
  static std::unique_ptr<RefusingServer> Start(const std::string& sentence);
  ~RefusingServer();

  // Takes over the connection.
  void Take(UniqueFd socket);

 private:
  class Service final : public grpc::CallbackGenericService {
   public:
    explicit Service(std::string sentence) : sentence_(std::move(sentence)) {}
    grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;

   private:
    const std::string sentence_;
  };

  explicit RefusingServer(const std::string& sentence) : service_(sentence) {}

  Service service_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace plimsoll
