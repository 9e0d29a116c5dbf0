// The smallest possible gRPC server: a callback service on a Unix socket that answers immediately.
// The benchmark compares the load of the product with the load of this server.
//
//   echo_server SOCKET
#include <grpcpp/grpcpp.h>

#include <cstdio>

#include "filesystem/v1/api.grpc.pb.h"

namespace {

class Echo final : public v1::Filesystem::CallbackService {
  grpc::ServerUnaryReactor* PathExists(grpc::CallbackServerContext* context,
                                       const v1::PathExistsRequest* request,
                                       v1::PathExistsResponse* response) override {
    response->set_exists(!request->path().empty());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Echo echo;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string("unix:") + argv[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&echo);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  server->Wait();
}
