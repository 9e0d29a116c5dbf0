#include "server/rpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
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
using ReflectionRequest = grpc::reflection::v1::ServerReflectionRequest;
using ReflectionResponse = grpc::reflection::v1::ServerReflectionResponse;

using Files = std::vector<const pb::FileDescriptor*>;

// Adds the file, then its imports.
void AddWithImports(const pb::FileDescriptor* file, Files* files) {
  if (std::find(files->begin(), files->end(), file) != files->end()) return;
  files->push_back(file);
  for (int i = 0; i < file->dependency_count(); ++i) AddWithImports(file->dependency(i), files);
}

// Returns the files that a pipe describes. Looks them up on demand, because descriptors cost
// memory, and a service without reflection clients need not spend it.
Files Described(const std::string& full_name) {
  Files files;
  AddWithImports(pb::DescriptorPool::generated_pool()->FindFileContainingSymbol(full_name), &files);
  AddWithImports(grpc::health::v1::HealthCheckRequest::descriptor()->file(), &files);
  AddWithImports(ReflectionRequest::descriptor()->file(), &files);
  AddWithImports(grpc::reflection::v1alpha::ServerReflectionRequest::descriptor()->file(), &files);
  return files;
}

// Returns the file that `request` asks for; null unless the pipe describes that file.
const pb::FileDescriptor* FindFile(const Files& described, const ReflectionRequest& request) {
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

ReflectionResponse Answer(const std::string& full_name, const ReflectionRequest& request) {
  ReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ReflectionRequest::kListServices:
      for (const char* name :
           {full_name.c_str(), "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection"}) {
        response.mutable_list_services_response()->add_service()->set_name(name);
      }
      return response;
    case ReflectionRequest::kFileByFilename:
    case ReflectionRequest::kFileContainingSymbol:
      break;
    default:
      response.mutable_error_response()->set_error_code(
          static_cast<int>(absl::StatusCode::kUnimplemented));
      response.mutable_error_response()->set_error_message("the released API has no extensions");
      return response;
  }
  const pb::FileDescriptor* const file = FindFile(Described(full_name), request);
  if (file == nullptr) {
    response.mutable_error_response()->set_error_code(
        static_cast<int>(absl::StatusCode::kNotFound));
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

}  // namespace

absl::StatusOr<std::string> AnswerReflection(const std::string& full_name,
                                             absl::string_view request) {
  if (request.size() > kMaxReflectionRequestBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a reflection request may have ", kMaxReflectionRequestBytes, " bytes"));
  }
  ReflectionRequest parsed;
  if (!parsed.ParseFromArray(request.data(), static_cast<int>(request.size()))) {
    return absl::InvalidArgumentError("the request is not a ServerReflectionRequest");
  }
  return Answer(full_name, parsed).SerializeAsString();
}

}  // namespace csi_proxy::rpc
