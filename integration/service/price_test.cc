// How much memory a client can make the service take for each byte it sends: SECURITY.md, "The
// price of a byte".
#include <google/protobuf/empty.pb.h>
#include <grpc/compression.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration/service/calls.h"
#include "integration/support/server_process.h"

namespace csi_proxy::integration {
namespace {

using google::protobuf::MessageLite;

class PriceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(
        absl::StrCat("unix:", server_->directory(), "/csi-proxy-filesystem-v1.sock"),
        grpc::InsecureChannelCredentials());
  }

  grpc::Status Call(const char* path, const MessageLite& request,
                    grpc_compression_algorithm compression = GRPC_COMPRESS_NONE) {
    grpc::ClientContext context;
    context.set_compression_algorithm(compression);
    google::protobuf::Empty response;  // keeps what it does not know
    const grpc::internal::RpcMethod method(path, grpc::internal::RpcMethod::NORMAL_RPC);
    return grpc::internal::BlockingUnaryCall<MessageLite, MessageLite>(channel_.get(), method,
                                                                       &context, request, &response);
  }

  // The most memory that the service has had, in KiB.
  int64_t Peak() const { return ProcessStatus(server_->pid(), "VmHWM"); }

  std::unique_ptr<ServerProcess> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

constexpr char kPathExists[] = "/v1.Filesystem/PathExists";

TEST_F(PriceTest, CompressedMessagesAreRefusedAndNotInflated) {
  filesystem::v1::PathExistsRequest honest, zeros;
  honest.set_path(R"(C:\var\lib\kubelet\a)");
  // 64 KiB when compressed.
  zeros.set_path(std::string(64 << 20, '\0'));
  ASSERT_TRUE(Call(kPathExists, honest).ok());
  const int64_t before = Peak();
  for (const auto compression : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    for (const char* path : {kPathExists, "/grpc.health.v1.Health/Check",
                             "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"}) {
      for (const MessageLite* const request : {&honest, &zeros}) {
        const grpc::Status status = Call(path, *request, compression);
        EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
        EXPECT_TRUE(absl::StrContains(status.error_message(), "ompress")) << status.error_message();
      }
    }
  }
  EXPECT_LT(Peak() - before, 32 << 10);
  EXPECT_TRUE(Call(kPathExists, honest).ok());
}

}  // namespace
}  // namespace csi_proxy::integration
