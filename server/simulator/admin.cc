#include "server/simulator/admin.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/slice.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/simulator/admin.pb.h"

namespace csi_proxy::machine::simulator {
namespace {

using Handler = grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>;

grpc::Status Call(Machine& node, const std::string& method, const grpc::ByteBuffer& request,
                  grpc::ByteBuffer* response) {
  grpc::Slice bytes;
  if (grpc::Status status = request.DumpToSingleSlice(&bytes); !status.ok()) return status;
  const absl::StatusOr<std::string> answer = CallAdmin(
      node, method, std::string(reinterpret_cast<const char*>(bytes.begin()), bytes.size()));
  if (!answer.ok()) {
    return grpc::Status(static_cast<grpc::StatusCode>(answer.status().code()),
                        std::string(answer.status().message()));
  }
  const grpc::Slice slice(*answer);
  *response = grpc::ByteBuffer(&slice, 1);
  return grpc::Status::OK;
}

// Serves every method of the proto. None of them waits, so gRPC's own thread answers each call.
class AdminService final : public grpc::Service {
 public:
  explicit AdminService(const std::shared_ptr<Machine>& node) {
    const google::protobuf::ServiceDescriptor& service =
        *::csi_proxy::simulated::AttachDiskRequest::descriptor()->file()->service(0);
    paths_.reserve(service.method_count());
    for (int i = 0; i < service.method_count(); ++i) {
      const std::string& name = service.method(i)->name();
      paths_.push_back(absl::StrCat("/", service.full_name(), "/", name));
      AddMethod(new grpc::internal::RpcServiceMethod(
          paths_.back().c_str(), grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
      MarkMethodRawCallback(
          i, new Handler([node, name](grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
            grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
            reactor->Finish(Call(*node, name, *request, response));
            return reactor;
          }));
    }
  }

 private:
  std::vector<std::string> paths_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewAdminService(const std::shared_ptr<Machine>& node) {
  return std::make_unique<AdminService>(node);
}

}  // namespace csi_proxy::machine::simulator
