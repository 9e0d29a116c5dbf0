#include "server/transport/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "reflection.pb.h"

namespace csi_proxy::transport {
namespace {

namespace pb = google::protobuf;
using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
using Response = grpc::reflection::v1alpha::ServerReflectionResponse;

void AddFileWithImports(const pb::FileDescriptor& file, Response* response) {
  pb::FileDescriptorProto proto;
  file.CopyTo(&proto);
  response->mutable_file_descriptor_response()->add_file_descriptor_proto(
      proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) {
    AddFileWithImports(*file.dependency(i), response);
  }
}

Response Answer(const std::string& full_name, const Request& request) {
  // Looked up when somebody asks: building descriptors costs memory that a service which nobody
  // reflects on need not spend.
  const pb::FileDescriptor& own_file =
      *pb::DescriptorPool::generated_pool()->FindFileContainingSymbol(full_name);
  Response response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  const pb::FileDescriptor* file = nullptr;
  switch (request.message_request_case()) {
    case Request::kListServices:
      for (const char* name : {full_name.c_str(), "grpc.health.v1.Health",
                               "grpc.reflection.v1alpha.ServerReflection"}) {
        response.mutable_list_services_response()->add_service()->set_name(name);
      }
      return response;
    case Request::kFileByFilename:
      if (request.file_by_filename() == own_file.name()) file = &own_file;
      break;
    case Request::kFileContainingSymbol:
      file = own_file.pool()->FindFileContainingSymbol(request.file_containing_symbol());
      if (file != &own_file) file = nullptr;
      break;
    default:
      response.mutable_error_response()->set_error_code(grpc::StatusCode::UNIMPLEMENTED);
      response.mutable_error_response()->set_error_message("the released API has no extensions");
      return response;
  }
  if (file == nullptr) {
    response.mutable_error_response()->set_error_code(grpc::StatusCode::NOT_FOUND);
    response.mutable_error_response()->set_error_message(
        absl::StrCat("this pipe serves only ", full_name));
    return response;
  }
  AddFileWithImports(*file, &response);
  return response;
}

class Reactor final : public grpc::ServerBidiReactor<Request, Response> {
 public:
  explicit Reactor(const std::string& full_name) : full_name_(full_name) { StartRead(&request_); }
  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    response_ = Answer(full_name_, request_);
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::CANCELLED);
      return;
    }
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  const std::string& full_name_;
  Request request_;
  Response response_;
};

// What gRPC's plugin for protoc writes, as far as it is needed.
class ReflectionService final : public grpc::Service {
 public:
  explicit ReflectionService(std::string full_name) : full_name_(std::move(full_name)) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
    MarkMethodCallback(
        0, new grpc::internal::CallbackBidiHandler<Request, Response>(
               [this](grpc::CallbackServerContext*) { return new Reactor(full_name_); }));
  }

 private:
  const std::string full_name_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewReflectionService(std::string full_name) {
  return std::make_unique<ReflectionService>(std::move(full_name));
}

}  // namespace csi_proxy::transport
