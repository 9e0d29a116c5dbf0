#include "server/rpc/pipe_server.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpc/health/v1/health.pb.h"
#include "server/rpc/reflection.h"

namespace csi_proxy::rpc {
namespace {

namespace health = grpc::health::v1;
using transport::CallId;
using transport::Connection;
using transport::Request;

constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
constexpr char kList[] = "/grpc.health.v1.Health/List";

bool IsReflection(absl::string_view path) {
  return std::find(std::begin(kReflectionPaths), std::end(kReflectionPaths), path) !=
         std::end(kReflectionPaths);
}

// A pipe's methods for one connection.
class PipeService final : public transport::Service {
 public:
  PipeService(std::shared_ptr<const PipeServer> server, std::shared_ptr<ServedConnection> served)
      : server_(std::move(server)), served_(std::move(served)) {}

  Method Find(absl::string_view path) const override {
    if (server_->service().Has(path) || path == kCheck || path == kWatch || path == kList) {
      return Method::kOneRequest;
    }
    return IsReflection(path) ? Method::kManyRequests : Method::kUnknown;
  }

  void OnRequest(const std::shared_ptr<Connection>& connection, Request request,
                 bool may_block) override {
    if (server_->service().Has(request.path)) {
      return server_->service().Begin({connection, served_, std::move(request), may_block});
    }
    if (!IsReflection(request.path)) return Health(*connection, request);
    const absl::StatusOr<std::string> answer =
        AnswerReflection(server_->full_name(), request.message);
    if (!answer.ok()) return connection->Finish(request.call, answer.status());
    connection->Write(request.call, *answer);
  }

  void OnRequestsEnd(const std::shared_ptr<Connection>& connection, CallId call) override {
    connection->Finish(call, absl::OkStatus());
  }

 private:
  // Reports a known service as SERVING, because a pipe serves as long as it has connections.
  void Health(Connection& connection, const Request& request) const {
    health::HealthCheckResponse serving;
    serving.set_status(health::HealthCheckResponse::SERVING);
    if (request.path == kList) {
      health::HealthListResponse all;
      (*all.mutable_statuses())[""] = serving;
      (*all.mutable_statuses())[server_->full_name()] = serving;
      return connection.Answer(request.call, absl::OkStatus(), all.SerializeAsString());
    }
    health::HealthCheckRequest asked;
    if (!asked.ParseFromString(request.message)) {
      return connection.Finish(
          request.call, absl::InvalidArgumentError("the request is not a HealthCheckRequest"));
    }
    const bool is_known = asked.service().empty() || asked.service() == server_->full_name();
    if (request.path == kCheck) {
      const absl::Status status =
          is_known ? absl::OkStatus() : absl::NotFoundError("service name unknown");
      return connection.Answer(request.call, status, serving.SerializeAsString());
    }
    // Answers once and keeps the stream open, because the status never changes. The client ends it.
    if (!is_known) serving.set_status(health::HealthCheckResponse::SERVICE_UNKNOWN);
    connection.Write(request.call, serving.SerializeAsString());
  }

  const std::shared_ptr<const PipeServer> server_;
  const std::shared_ptr<ServedConnection> served_;
};

}  // namespace

PipeServer::PipeServer(std::string name, std::string full_name,
                       std::unique_ptr<RemoteService> service, const ServerLimits& limits)
    : name_(std::move(name)),
      full_name_(std::move(full_name)),
      service_(std::move(service)),
      limits_(limits) {}

transport::SessionOptions PipeServer::OptionsFor(const ServedConnection& connection) const {
  return {.max_calls = connection.is_main() ? limits_.calls_of_main_connection
                                            : limits_.calls_of_further_connection,
          .max_message_bytes = limits_.max_request_bytes};
}

std::unique_ptr<transport::Service> ServiceFor(std::shared_ptr<const PipeServer> server,
                                               std::shared_ptr<ServedConnection> connection) {
  return std::make_unique<PipeService>(std::move(server), std::move(connection));
}

}  // namespace csi_proxy::rpc
