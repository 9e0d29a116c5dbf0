#include <utility>

#include "csi_proxy/testing/node.h"
#include "integration/support/test_node.h"

namespace csi_proxy::integration {
namespace {

class EmbeddedNode final : public TestNode {
 public:
  explicit EmbeddedNode(SimulatedNode node) : node_(std::move(node)) {}

  ClientOptions client_options() const override { return node_.client_options(); }

  absl::Status Admin(const std::string& method, const google::protobuf::Message& request,
                     google::protobuf::Message* response) override {
    const absl::StatusOr<std::string> answer =
        node_.Administer(method, request.SerializeAsString());
    if (!answer.ok()) return answer.status();
    return response->ParseFromString(*answer)
               ? absl::OkStatus()
               : absl::InternalError("the administrator's answer is of another type");
  }

 private:
  const SimulatedNode node_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TestNode>> NewEmbeddedNode() {
  NodeOptions options;
  // Drops log lines: the tests cause the failures on purpose.
  options.log = [](Severity, absl::string_view) {};
  absl::StatusOr<SimulatedNode> node = SimulatedNode::Create("", std::move(options));
  if (!node.ok()) return node.status();
  return std::make_unique<EmbeddedNode>(*std::move(node));
}

}  // namespace csi_proxy::integration
