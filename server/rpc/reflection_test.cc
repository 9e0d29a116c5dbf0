#include "server/rpc/reflection.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grpc/reflection/v1/reflection.pb.h"
#include "server/simulator/admin.pb.h"

namespace csi_proxy::rpc {
namespace {

constexpr int kNotFound = static_cast<int>(absl::StatusCode::kNotFound);
constexpr int kUnimplemented = static_cast<int>(absl::StatusCode::kUnimplemented);

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Request = grpc::reflection::v1::ServerReflectionRequest;
using Response = grpc::reflection::v1::ServerReflectionResponse;

// Uses the service of the simulated node, because that service's proto file imports another file.
class ReflectionTest : public testing::Test {
 protected:
  // Gets the service's name from a message, because the linker omits a file without a used message.
  static std::string Service() {
    return simulated::AttachDiskRequest::descriptor()->file()->service(0)->full_name();
  }

  static Response Ask(const Request& request) {
    Response response;
    const absl::StatusOr<std::string> answer =
        AnswerReflection(Service(), request.SerializeAsString());
    EXPECT_TRUE(answer.ok()) << answer.status();
    EXPECT_TRUE(answer.ok() && response.ParseFromString(*answer));
    EXPECT_EQ(response.original_request().SerializeAsString(), request.SerializeAsString());
    return response;
  }
  static Response AskForSymbol(const std::string& symbol) {
    Request request;
    request.set_file_containing_symbol(symbol);
    return Ask(request);
  }
  static Response AskForFile(const std::string& name) {
    Request request;
    request.set_file_by_filename(name);
    return Ask(request);
  }

  // Returns the names of the files in an answer, and checks that each file equals the linked file.
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
};

TEST_F(ReflectionTest, ReflectionListsThePipesServices) {
  Request request;
  request.set_host("pipe");
  request.set_list_services("");
  const auto response = Ask(request);
  EXPECT_EQ(response.valid_host(), "pipe");
  std::vector<std::string> names;
  for (const auto& service : response.list_services_response().service()) {
    names.push_back(service.name());
  }
  EXPECT_THAT(names, UnorderedElementsAre("csi_proxy.simulated.Admin", "grpc.health.v1.Health",
                                          "grpc.reflection.v1.ServerReflection",
                                          "grpc.reflection.v1alpha.ServerReflection"));
}

TEST_F(ReflectionTest, ReflectionDescribesEachListedServiceWithItsImports) {
  EXPECT_THAT(Files(AskForSymbol("csi_proxy.simulated.Admin")),
              ElementsAre("server/simulator/admin.proto", "server/simulator/node.proto"));
  EXPECT_THAT(Files(AskForSymbol("grpc.health.v1.Health")),
              ElementsAre("grpc/health/v1/health.proto"));
  EXPECT_THAT(Files(AskForSymbol("grpc.reflection.v1.ServerReflection")),
              ElementsAre("grpc/reflection/v1/reflection.proto"));
  EXPECT_THAT(Files(AskForSymbol("grpc.reflection.v1alpha.ServerReflection")),
              ElementsAre("grpc/reflection/v1alpha/reflection.proto"));
}

TEST_F(ReflectionTest, ReflectionFindsRpcsMessagesFieldsAndImportedFiles) {
  for (const char* symbol : {"csi_proxy.simulated.Admin.AttachDisk", "csi_proxy.simulated.Node",
                             "grpc.health.v1.HealthCheckResponse.ServingStatus",
                             "grpc.health.v1.HealthCheckRequest.service"}) {
    EXPECT_THAT(Files(AskForSymbol(symbol)), testing::Not(IsEmpty())) << symbol;
  }
  EXPECT_THAT(Files(AskForFile("server/simulator/node.proto")),
              ElementsAre("server/simulator/node.proto"));
  EXPECT_THAT(Files(AskForFile("grpc/health/v1/health.proto")),
              ElementsAre("grpc/health/v1/health.proto"));
}

// descriptor.proto is linked in, but no pipe serves it.
TEST_F(ReflectionTest, ServicesOfOtherPipesAreNotFound) {
  for (const auto& response :
       {AskForSymbol("google.protobuf.FileDescriptorProto"), AskForSymbol("v1.Nothing"),
        AskForSymbol(""), AskForFile("google/protobuf/descriptor.proto"),
        AskForFile("no/such.proto"), AskForFile("")}) {
    EXPECT_EQ(response.error_response().error_code(), kNotFound) << response.ShortDebugString();
    EXPECT_THAT(response.error_response().error_message(), HasSubstr("csi_proxy.simulated.Admin"));
  }
}

TEST_F(ReflectionTest, ExtensionsAndAnEmptyRequestAreUnimplemented) {
  Request extension, numbers, empty;
  extension.mutable_file_containing_extension()->set_containing_type("csi_proxy.simulated.Node");
  numbers.set_all_extension_numbers_of_type("csi_proxy.simulated.Node");
  for (const auto& request : {extension, numbers, empty}) {
    EXPECT_EQ(Ask(request).error_response().error_code(), kUnimplemented);
  }
}

TEST_F(ReflectionTest, TooLongAndMalformedRequestsAreErrors) {
  Request request;
  request.set_file_containing_symbol(std::string(kMaxReflectionRequestBytes - 3, 'a'));
  ASSERT_EQ(request.ByteSizeLong(), kMaxReflectionRequestBytes);
  EXPECT_EQ(Ask(request).error_response().error_code(), kNotFound);
  request.mutable_file_containing_symbol()->push_back('a');
  EXPECT_TRUE(
      absl::IsResourceExhausted(AnswerReflection(Service(), request.SerializeAsString()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(AnswerReflection(Service(), "\xff").status()));
}

}  // namespace
}  // namespace csi_proxy::rpc
