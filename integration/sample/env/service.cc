#include "integration/sample/env/service.h"

#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <prometheus/text_serializer.h>

#include <iostream>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "csi_proxy/steady_time.h"
#include "integration/sample/env/provider.h"
#include "integration/sample/services.h"
#include "server/base/status_macros.h"
#include "server/names/released_names.h"

namespace csi_proxy::sample {
namespace {

constexpr char kPath[] = "/csi_proxy.experimental.env.v1alpha1.NodeEnv/NodeGetEnvVars";

absl::Status Parse(const grpc::ByteBuffer& bytes, env::NodeGetEnvVarsRequest* request) {
  grpc::ByteBuffer shared = bytes;
  grpc::ProtoBufferReader reader(&shared);
  if (reader.status().ok() && request->ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  return absl::InvalidArgumentError("the request is not a NodeGetEnvVarsRequest");
}

// Wipes the context, which may contain tokens of the pod's service account.
void WipeContext(env::NodeGetEnvVarsRequest* request) {
  for (auto& entry : *request->mutable_volume_context()) Wipe(entry.second);
}

// The bounds of the buckets: from 1 ms, the time of reading a file, to 10 s, the longest that Vault
// may take. The goal is 0.1 s.
const prometheus::Histogram::BucketBoundaries& Buckets() {
  static const auto* const buckets = new prometheus::Histogram::BucketBoundaries{
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
  return *buckets;
}

// Serializes the response into bytes that are wiped when gRPC releases them. Wipes the values in
// `response`, which must not be used afterwards.
grpc::ByteBuffer SerializeAndWipe(env::NodeGetEnvVarsResponse* response) {
  auto bytes = std::make_unique<std::string>();
  // Serializes into memory of sufficient size, so that growing leaves no copies behind.
  response->SerializeToString(bytes.get());
  for (env::EnvVarResult& result : *response->mutable_results()) Wipe(*result.mutable_value());
  void* const data = bytes->data();
  const size_t size = bytes->size();
  const grpc::Slice slice(
      data, size,
      [](void* owned) {
        const std::unique_ptr<std::string> text(static_cast<std::string*>(owned));
        Wipe(*text);
      },
      bytes.release());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

EnvMetrics::EnvMetrics()
    : requests_(prometheus::BuildHistogram()
                    .Name("csi_env_request_seconds")
                    .Help("Duration of NodeGetEnvVars, by provider and gRPC status code.")
                    .Register(registry_)) {
  // Creates the series immediately: Prometheus sees no increase in a series that begins with its
  // first event.
  for (const absl::string_view provider : kProviders) Requests(provider, absl::StatusCode::kOk);
}

void EnvMetrics::CountAnswer(absl::string_view provider, absl::StatusCode code,
                             absl::Duration duration) {
  Requests(provider, code).Observe(absl::ToDoubleSeconds(duration));
}

prometheus::Histogram& EnvMetrics::Requests(absl::string_view provider, absl::StatusCode code) {
  return requests_.Add(
      {{"grpc_status_code", kGoCodes[GoCodeIndex(code)]}, {"provider", std::string(provider)}},
      Buckets());
}

HttpAnswer EnvMetrics::Text() const {
  return {.code = 200,
          .body = prometheus::TextSerializer().Serialize(registry_.Collect()),
          .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

void StderrAuditLog::Record(const AuditRecord& record) {
  // A single write, so that lines of several threads do not mix.
  std::cerr << absl::StrFormat(
      "%s] audit method=%s code=%s ms=%.3f %s\n",
      absl::FormatTime("I%m%d %H:%M:%E6S", absl::Now(), absl::LocalTimeZone()), record.method,
      absl::StatusCodeToString(record.status.code()), absl::ToDoubleMilliseconds(record.duration),
      record.subject);
}

absl::StatusOr<std::unique_ptr<EnvService>> EnvService::Create(const Options& options) {
  ABSL_ASSIGN_OR_RETURN(auto vault, VaultEnvProvider::Create(options.vault));
  ABSL_ASSIGN_OR_RETURN(auto imds, ImdsEnvProvider::Create(options.imds_address));
  return std::make_unique<EnvService>(
      Providers{.file = std::make_unique<FileEnvProvider>(options.directory),
                .imds = std::move(imds),
                .vault = std::move(vault)},
      std::make_unique<StderrAuditLog>());
}

EnvService::EnvService(Providers providers, std::unique_ptr<AuditLog> audit)
    : providers_(std::move(providers)), audit_(std::move(audit)) {
  // Like the code of gRPC's plugin for protoc, but with bytes as request and response.
  using Handler = grpc::internal::RpcMethodHandler<EnvService, grpc::ByteBuffer, grpc::ByteBuffer>;
  AddMethod(new grpc::internal::RpcServiceMethod(
      kPath, grpc::internal::RpcMethod::NORMAL_RPC,
      new Handler(
          [](EnvService* service, grpc::ServerContext* context, const grpc::ByteBuffer* request,
             grpc::ByteBuffer* response) {
            auto answer = service->GetEnvVars(*request, WithDeadlineOf(*context));
            if (!answer.ok()) return ToGrpc(answer.status());
            *response = *std::move(answer);
            return grpc::Status::OK;
          },
          this)));
}

absl::StatusOr<std::vector<Secret>> EnvService::FindValues(
    const env::NodeGetEnvVarsRequest& request, const CallOptions& call) {
  ABSL_ASSIGN_OR_RETURN(const EnvRequest checked, CheckEnvRequest(request));
  const std::unique_ptr<EnvProvider>& provider = checked.provider == "file"   ? providers_.file
                                                 : checked.provider == "imds" ? providers_.imds
                                                                              : providers_.vault;
  ABSL_ASSIGN_OR_RETURN(std::vector<Secret> values, provider->Get(checked, call));
  ABSL_RETURN_IF_ERROR(CheckValues(checked.queries, values));
  return values;
}

absl::StatusOr<grpc::ByteBuffer> EnvService::GetEnvVars(const grpc::ByteBuffer& bytes,
                                                        const CallOptions& call) {
  const SteadyTime began = SteadyTime::Now();
  env::NodeGetEnvVarsRequest request;
  const absl::Cleanup wipe = [&request] { WipeContext(&request); };
  const absl::Status parsed = Parse(bytes, &request);
  const absl::StatusOr<std::vector<Secret>> values =
      parsed.ok() ? FindValues(request, call) : parsed;
  const absl::Duration duration = SteadyTime::Now() - began;
  metrics_.CountAnswer(ProviderOf(request), values.status().code(), duration);
  audit_->Record({.method = "NodeGetEnvVars",
                  .subject = AuditSubject(request),
                  .context = CallContext(),
                  .status = values.status(),
                  .duration = duration});
  if (!values.ok()) return values.status();
  env::NodeGetEnvVarsResponse response;
  for (int i = 0; i < request.queries_size(); ++i) {
    env::EnvVarResult& result = *response.add_results();
    result.set_name(request.queries(i).name());
    result.set_value((*values)[static_cast<size_t>(i)].Reveal());
  }
  return SerializeAndWipe(&response);
}

}  // namespace csi_proxy::sample
