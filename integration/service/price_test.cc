// Measures the memory that a client can make the service allocate for each byte it sends (see
// server/rpc/README.md, "The price of a byte").
#include <google/protobuf/empty.pb.h>
#include <grpc/compression.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
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
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    google::protobuf::Empty response;  // keeps the response's fields as unknown fields
    const grpc::internal::RpcMethod method(path, grpc::internal::RpcMethod::NORMAL_RPC);
    return grpc::internal::BlockingUnaryCall<MessageLite, MessageLite>(
        channel_.get(), method, &context, request, &response);
  }

  // Returns the service's peak memory in KiB.
  int64_t Peak() const { return ProcessStatus(server_->pid(), "VmHWM"); }

  std::unique_ptr<ServerProcess> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

constexpr char kPathExists[] = "/v1.Filesystem/PathExists";

TEST_F(PriceTest, CompressedMessagesAreRefusedWithoutDecompression) {
  filesystem::v1::PathExistsRequest honest, zeros;
  honest.set_path(R"(C:\var\lib\kubelet\a)");
  // Compresses to 32 KiB.
  zeros.set_path(std::string(32 << 20, '\0'));
  ASSERT_TRUE(Call(kPathExists, honest).ok());
  const int64_t before = Peak();
  for (const auto compression : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    for (const auto& [path, request] : std::initializer_list<std::pair<const char*, MessageLite*>>{
             {kPathExists, &zeros},
             {"/grpc.health.v1.Health/Check", &zeros},
             {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", &zeros}}) {
      const grpc::Status status = Call(path, *request, compression);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
      EXPECT_TRUE(absl::StrContains(status.error_message(), "ompress")) << status.error_message();
    }
    // Too short to be compressed, so the client sends it as it is.
    EXPECT_TRUE(Call(kPathExists, honest, compression).ok());
  }
  EXPECT_LT(Peak() - before, 16 << 10);
  EXPECT_TRUE(Call(kPathExists, honest).ok());
  EXPECT_FALSE(absl::StrContains(server_->Log(), "ompress")) << server_->Log();
}

TEST_F(PriceTest, AHugeMessageIsRefusedWithoutBuffering) {
  filesystem::v1::PathExistsRequest huge, honest;
  honest.set_path(absl::StrCat(kRoot, "a"));
  ASSERT_TRUE(Call(kPathExists, honest).ok());
  const int64_t before = Peak();
  huge.set_path(std::string(300 << 20, 'x'));
  EXPECT_EQ(Call(kPathExists, huge).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_LT(Peak() - before, 8 << 10);
  EXPECT_TRUE(Call(kPathExists, honest).ok());
}

TEST_F(PriceTest, RequestsBeyond256KiBAreRefused) {
  filesystem::v1::PathExistsRequest request;
  request.set_path(std::string((256 << 10) - 10, 'x'));
  EXPECT_EQ(Call(kPathExists, request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_path(std::string(256 << 10, 'x'));
  EXPECT_EQ(Call(kPathExists, request).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// Requests of 64 MB in all wait at the client until there is room for them, and none is refused.
TEST_F(PriceTest, LongRequestsOfAClientWaitForMemoryAndAreNotRefused) {
  filesystem::v1::MkdirRequest large;
  large.set_path(std::string(250'000, 'x'));
  ASSERT_EQ(Call("/v1.Filesystem/Mkdir", large).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const int64_t before = Peak();
  std::vector<std::thread> callers;
  for (int i = 0; i < 256; ++i) {
    callers.emplace_back([&] {
      const grpc::Status status = Call("/v1.Filesystem/Mkdir", large);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LT(Peak() - before, 8 << 10);
}

}  // namespace
}  // namespace csi_proxy::integration
