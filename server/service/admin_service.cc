#include "server/service/admin_service.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <utility>

#include "absl/strings/strip.h"
#include "server/simulator/admin.h"
#include "server/simulator/admin.pb.h"

namespace csi_proxy::machine::simulator {
namespace {

// Serves every method of the proto. No method waits, so the reading thread answers each call.
class AdminService final : public rpc::RemoteService {
 public:
  explicit AdminService(std::shared_ptr<Machine> node) : node_(std::move(node)) {}

  bool Has(absl::string_view path) const override { return MethodOf(path) != nullptr; }

  void Begin(rpc::RemoteCall call) override {
    const absl::StatusOr<std::string> answer =
        CallAdmin(*node_, MethodOf(call.request.path)->name(), call.request.message);
    call.connection->Answer(call.request.call, answer.status(), answer.ok() ? *answer : "");
  }

 private:
  static const google::protobuf::MethodDescriptor* MethodOf(absl::string_view path) {
    if (!absl::ConsumePrefix(&path, "/") || !absl::ConsumePrefix(&path, kAdminServiceName) ||
        !absl::ConsumePrefix(&path, "/")) {
      return nullptr;
    }
    return ::csi_proxy::simulated::AttachDiskRequest::descriptor()
        ->file()
        ->service(0)
        ->FindMethodByName(std::string(path));
  }

  const std::shared_ptr<Machine> node_;
};

}  // namespace

std::unique_ptr<rpc::RemoteService> NewAdminService(std::shared_ptr<Machine> node) {
  return std::make_unique<AdminService>(std::move(node));
}

}  // namespace csi_proxy::machine::simulator
