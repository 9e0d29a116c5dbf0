#include "server/rpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"

namespace csi_proxy::rpc {
namespace {

namespace pb = google::protobuf;
// v1alpha's messages are equal to v1's on the wire.
using Request = grpc::reflection::v1::ServerReflectionRequest;
using Response = grpc::reflection::v1::ServerReflectionResponse;

constexpr std::array kRpcs = {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                              "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};

using Files = std::vector<const pb::FileDescriptor*>;

// Adds the file and, behind it, its imports.
void AddWithImports(const pb::FileDescriptor* file, Files* files) {
  if (std::find(files->begin(), files->end(), file) != files->end()) return;
  files->push_back(file);
  for (int i = 0; i < file->dependency_count(); ++i) AddWithImports(file->dependency(i), files);
}

// Returns the files that a pipe describes. They are looked up on demand, because descriptors cost
// memory that a service without reflection clients need not spend.
Files Described(const std::string& full_name) {
  Files files;
  AddWithImports(pb::DescriptorPool::generated_pool()->FindFileContainingSymbol(full_name), &files);
  AddWithImports(grpc::health::v1::HealthCheckRequest::descriptor()->file(), &files);
  AddWithImports(Request::descriptor()->file(), &files);
  AddWithImports(grpc::reflection::v1alpha::ServerReflectionRequest::descriptor()->file(), &files);
  return files;
}

// Returns null unless the pipe describes the file.
const pb::FileDescriptor* FindFile(const Files& described, const Request& request) {
  const pb::FileDescriptor* const holder =
      request.has_file_containing_symbol()
          ? described.front()->pool()->FindFileContainingSymbol(request.file_containing_symbol())
          : nullptr;
  const auto found =
      std::find_if(described.begin(), described.end(), [&](const pb::FileDescriptor* file) {
        return request.has_file_by_filename() ? file->name() == request.file_by_filename()
                                              : file == holder;
      });
  return found == described.end() ? nullptr : *found;
}

Response Answer(const std::string& full_name, const Request& request) {
  Response response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case Request::kListServices:
      for (const char* name :
           {full_name.c_str(), "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection"}) {
        response.mutable_list_services_response()->add_service()->set_name(name);
      }
      return response;
    case Request::kFileByFilename:
    case Request::kFileContainingSymbol:
      break;
    default:
      response.mutable_error_response()->set_error_code(grpc::StatusCode::UNIMPLEMENTED);
      response.mutable_error_response()->set_error_message("the released API has no extensions");
      return response;
  }
  const pb::FileDescriptor* const file = FindFile(Described(full_name), request);
  if (file == nullptr) {
    response.mutable_error_response()->set_error_code(grpc::StatusCode::NOT_FOUND);
    response.mutable_error_response()->set_error_message(
        absl::StrCat("this pipe serves only ", full_name, ", health and reflection"));
    return response;
  }
  Files files;
  AddWithImports(file, &files);
  for (const pb::FileDescriptor* one : files) {
    pb::FileDescriptorProto proto;
    one->CopyTo(&proto);
    response.mutable_file_descriptor_response()->add_file_descriptor_proto(
        proto.SerializeAsString());
  }
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
    if (request_.ByteSizeLong() > kMaxReflectionRequestBytes) {
      Finish(
          {grpc::StatusCode::RESOURCE_EXHAUSTED,
           absl::StrCat("a reflection request may have ", kMaxReflectionRequestBytes, " bytes")});
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

// Replaces the class that gRPC's plugin for protoc writes, as far as it is needed.
class ReflectionService final : public grpc::Service {
 public:
  explicit ReflectionService(std::string full_name) : full_name_(std::move(full_name)) {
    for (size_t i = 0; i < kRpcs.size(); ++i) {
      AddMethod(new grpc::internal::RpcServiceMethod(
          kRpcs[i], grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
      MarkMethodCallback(
          static_cast<int>(i),
          new grpc::internal::CallbackBidiHandler<Request, Response>(
              [this](grpc::CallbackServerContext*) { return new Reactor(full_name_); }));
    }
  }

 private:
  const std::string full_name_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewReflectionService(std::string full_name) {
  return std::make_unique<ReflectionService>(std::move(full_name));
}

}  // namespace csi_proxy::rpc
