#include "server/rpc/reflection.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "server/simulator/admin.pb.h"

namespace csi_proxy::rpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Calls one version of the protocol by its own path with its own messages.
template <typename RequestT, typename ResponseT>
struct Version {
  using Request = RequestT;
  using Response = ResponseT;
  using Stream = grpc::ClientReaderWriter<Request, Response>;

  static std::unique_ptr<Stream> Open(const std::shared_ptr<grpc::Channel>& channel,
                                      grpc::ClientContext* context) {
    static const std::string path = absl::StrCat("/", Request::descriptor()->file()->package(),
                                                 ".ServerReflection/ServerReflectionInfo");
    const grpc::internal::RpcMethod method(path.c_str(), grpc::internal::RpcMethod::BIDI_STREAMING,
                                           channel);
    return std::unique_ptr<Stream>(
        grpc::internal::ClientReaderWriterFactory<Request, Response>::Create(channel.get(), method,
                                                                             context));
  }
};
using V1 = Version<grpc::reflection::v1::ServerReflectionRequest,
                   grpc::reflection::v1::ServerReflectionResponse>;
using V1alpha = Version<grpc::reflection::v1alpha::ServerReflectionRequest,
                        grpc::reflection::v1alpha::ServerReflectionResponse>;

// A server whose service is the simulated node's: its file imports another one.
template <typename VersionT>
class ReflectionTest : public testing::Test {
 protected:
  using Request = typename VersionT::Request;
  using Response = typename VersionT::Response;

  ReflectionTest() : reflection_(NewReflectionService(Service())) {
    grpc::ServerBuilder builder;
    builder.RegisterService(reflection_.get());
    server_ = builder.BuildAndStart();
    stream_ = VersionT::Open(server_->InProcessChannel({}), &context_);
  }
  ~ReflectionTest() override {
    context_.TryCancel();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  // Asks a message for its service's name; without a message the linker leaves the file out.
  static std::string Service() {
    return simulated::AttachDiskRequest::descriptor()->file()->service(0)->full_name();
  }

  Response Ask(const Request& request) {
    Response response;
    EXPECT_TRUE(stream_->Write(request));
    EXPECT_TRUE(stream_->Read(&response)) << request.ShortDebugString();
    EXPECT_EQ(response.original_request().SerializeAsString(), request.SerializeAsString());
    return response;
  }
  Response AskForSymbol(const std::string& symbol) {
    Request request;
    request.set_file_containing_symbol(symbol);
    return Ask(request);
  }
  Response AskForFile(const std::string& name) {
    Request request;
    request.set_file_by_filename(name);
    return Ask(request);
  }

  // Returns the names of the files in an answer; each file must equal the one that is linked in.
  static std::vector<std::string> Files(const Response& response) {
    std::vector<std::string> names;
    for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file, linked;
      EXPECT_TRUE(file.ParseFromString(bytes));
      google::protobuf::DescriptorPool::generated_pool()
          ->FindFileByName(file.name())
          ->CopyTo(&linked);
      EXPECT_EQ(file.SerializeAsString(), linked.SerializeAsString());
      names.push_back(file.name());
    }
    return names;
  }

  const std::unique_ptr<grpc::Service> reflection_;
  std::unique_ptr<grpc::Server> server_;
  grpc::ClientContext context_;
  std::unique_ptr<typename VersionT::Stream> stream_;
};
using Versions = testing::Types<V1, V1alpha>;
TYPED_TEST_SUITE(ReflectionTest, Versions);

TYPED_TEST(ReflectionTest, ListsWhatThePipeServes) {
  typename TypeParam::Request request;
  request.set_host("pipe");
  request.set_list_services("");
  const auto response = this->Ask(request);
  EXPECT_EQ(response.valid_host(), "pipe");
  std::vector<std::string> names;
  for (const auto& service : response.list_services_response().service()) {
    names.push_back(service.name());
  }
  EXPECT_THAT(names, UnorderedElementsAre("csi_proxy.simulated.Admin", "grpc.health.v1.Health",
                                          "grpc.reflection.v1.ServerReflection",
                                          "grpc.reflection.v1alpha.ServerReflection"));
}

TYPED_TEST(ReflectionTest, DescribesEveryServiceItListsWithWhatItImports) {
  EXPECT_THAT(this->Files(this->AskForSymbol("csi_proxy.simulated.Admin")),
              ElementsAre("server/simulator/admin.proto", "server/simulator/node.proto"));
  EXPECT_THAT(this->Files(this->AskForSymbol("grpc.health.v1.Health")),
              ElementsAre("grpc/health/v1/health.proto"));
  EXPECT_THAT(this->Files(this->AskForSymbol("grpc.reflection.v1.ServerReflection")),
              ElementsAre("grpc/reflection/v1/reflection.proto"));
  EXPECT_THAT(this->Files(this->AskForSymbol("grpc.reflection.v1alpha.ServerReflection")),
              ElementsAre("grpc/reflection/v1alpha/reflection.proto"));
}

TYPED_TEST(ReflectionTest, FindsRpcsMessagesFieldsAndImportedFiles) {
  for (const char* symbol : {"csi_proxy.simulated.Admin.AttachDisk", "csi_proxy.simulated.Node",
                             "grpc.health.v1.HealthCheckResponse.ServingStatus",
                             "grpc.health.v1.HealthCheckRequest.service"}) {
    EXPECT_THAT(this->Files(this->AskForSymbol(symbol)), testing::Not(IsEmpty())) << symbol;
  }
  EXPECT_THAT(this->Files(this->AskForFile("server/simulator/node.proto")),
              ElementsAre("server/simulator/node.proto"));
  EXPECT_THAT(this->Files(this->AskForFile("grpc/health/v1/health.proto")),
              ElementsAre("grpc/health/v1/health.proto"));
}

// descriptor.proto is linked in, and no pipe serves it.
TYPED_TEST(ReflectionTest, WhatThePipeDoesNotServeIsNotFound) {
  for (const auto& response :
       {this->AskForSymbol("google.protobuf.FileDescriptorProto"), this->AskForSymbol("v1.Nothing"),
        this->AskForSymbol(""), this->AskForFile("google/protobuf/descriptor.proto"),
        this->AskForFile("no/such.proto"), this->AskForFile("")}) {
    EXPECT_EQ(response.error_response().error_code(), grpc::StatusCode::NOT_FOUND)
        << response.ShortDebugString();
    EXPECT_THAT(response.error_response().error_message(), HasSubstr("csi_proxy.simulated.Admin"));
  }
}

TYPED_TEST(ReflectionTest, ExtensionsAndAnEmptyRequestAreUnimplemented) {
  typename TypeParam::Request extension, numbers, empty;
  extension.mutable_file_containing_extension()->set_containing_type("csi_proxy.simulated.Node");
  numbers.set_all_extension_numbers_of_type("csi_proxy.simulated.Node");
  for (const auto& request : {extension, numbers, empty}) {
    EXPECT_EQ(this->Ask(request).error_response().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  }
}

TYPED_TEST(ReflectionTest, ARequestThatIsTooLongEndsItsStreamUnanswered) {
  typename TypeParam::Request request;
  typename TypeParam::Response response;
  request.set_file_containing_symbol(std::string(kMaxReflectionRequestBytes - 3, 'a'));
  ASSERT_EQ(request.ByteSizeLong(), kMaxReflectionRequestBytes);
  EXPECT_EQ(this->Ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  request.mutable_file_containing_symbol()->push_back('a');
  EXPECT_TRUE(this->stream_->Write(request));
  ASSERT_FALSE(this->stream_->Read(&response));
  EXPECT_EQ(this->stream_->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// The fixture cancels the stream before the client reads the answer. If the stream did not end
// then, the server's shutdown would wait for it forever.
TYPED_TEST(ReflectionTest, AClientThatReadsNoAnswerDoesNotHoldTheServer) {
  typename TypeParam::Request request;
  request.set_list_services("");
  EXPECT_TRUE(this->stream_->Write(request));
}

}  // namespace
}  // namespace csi_proxy::rpc
