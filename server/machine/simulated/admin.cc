#include "server/machine/simulated/admin.h"

#include <grpcpp/grpcpp.h>

#include <string>

#include "server/machine/simulated/admin.grpc.pb.h"
#include "server/machine/simulated/admin_methods.h"

namespace csi_proxy::machine::simulated {
namespace {

namespace proto = ::csi_proxy::simulated;

// One method of the service. Nothing there waits, so every call is answered on gRPC's own thread.
#define ADMIN_METHOD(Name)                                                     \
  grpc::ServerUnaryReactor* Name(grpc::CallbackServerContext* context,         \
                                 const proto::Name##Request* request,          \
                                 proto::Name##Response* response) override {   \
    const absl::Status status = CallAdmin(*node_, #Name, *request, response);  \
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();       \
    reactor->Finish(grpc::Status(static_cast<grpc::StatusCode>(status.code()), \
                                 std::string(status.message())));              \
    return reactor;                                                            \
  }

class AdminService final : public proto::Admin::CallbackService {
 public:
  explicit AdminService(Machine* node) : node_(node) {}

  ADMIN_METHOD(AttachDisk)
  ADMIN_METHOD(DetachDisk)
  ADMIN_METHOD(GrowDisk)
  ADMIN_METHOD(AddShare)
  ADMIN_METHOD(SetSmbPassword)
  ADMIN_METHOD(SetServerReachable)
  ADMIN_METHOD(BreakMapping)
  ADMIN_METHOD(InjectFault)
  ADMIN_METHOD(ClearFaults)
  ADMIN_METHOD(SetBehaviour)
  ADMIN_METHOD(WriteFile)
  ADMIN_METHOD(MakeDirectory)
  ADMIN_METHOD(MakeLink)
  ADMIN_METHOD(DumpState)
  ADMIN_METHOD(Reset)

 private:
  Machine* const node_;
};

#undef ADMIN_METHOD

}  // namespace

std::unique_ptr<grpc::Service> NewAdminService(Machine* node) {
  return std::make_unique<AdminService>(node);
}

}  // namespace csi_proxy::machine::simulated
