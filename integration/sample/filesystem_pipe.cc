#include <utility>

#include "filesystem/v1/api.grpc.pb.h"
#include "integration/sample/services.h"

namespace csi_proxy::sample {
namespace {

using filesystem::v1::Client;

class FilesystemPipe final : public v1::Filesystem::Service {
 public:
  explicit FilesystemPipe(Client client) : client_(std::move(client)) {}

 private:
  grpc::Status PathExists(grpc::ServerContext* context, const v1::PathExistsRequest* request,
                          v1::PathExistsResponse* response) override {
    return Answer(client_.PathExists(*request, WithDeadlineOf(*context)), response);
  }
  grpc::Status Mkdir(grpc::ServerContext* context, const v1::MkdirRequest* request,
                     v1::MkdirResponse* response) override {
    return Answer(client_.Mkdir(*request, WithDeadlineOf(*context)), response);
  }
  grpc::Status Rmdir(grpc::ServerContext* context, const v1::RmdirRequest* request,
                     v1::RmdirResponse* response) override {
    return Answer(client_.Rmdir(*request, WithDeadlineOf(*context)), response);
  }

  template <typename Response>
  static grpc::Status Answer(absl::StatusOr<Response> answer, Response* response) {
    if (!answer.ok()) return ToGrpc(answer.status());
    *response = *std::move(answer);
    return grpc::Status::OK;
  }

  const Client client_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewFilesystemPipe(Client client) {
  return std::make_unique<FilesystemPipe>(std::move(client));
}

}  // namespace csi_proxy::sample
