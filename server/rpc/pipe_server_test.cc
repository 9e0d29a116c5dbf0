// Tests health and reflection of a pipe.
#include "server/rpc/pipe_server.h"

#include <gmock/gmock.h>

#include "grpc/health/v1/health.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "server/rpc/listener_testing.h"
#include "server/rpc/reflection.h"
#include "server/simulator/admin.pb.h"
#include "server/transport/session_testing.h"

namespace csi_proxy::rpc {
namespace {

namespace health = grpc::health::v1;
using transport::Message;
using transport::Reply;

// The server's end of a connection. The test itself carries the bytes.
class TestStream final : public transport::Stream {
 public:
  bool Read(absl::string_view*) override { return false; }
  bool Write(absl::string_view bytes, bool* ok) override {
    written.append(bytes.data(), bytes.size());
    *ok = true;
    return true;
  }
  void HangUp() override {}
  void Disconnect() override {}
  bool Post(std::function<void()> work) override {
    work();
    return true;
  }
  void Receive(absl::string_view bytes) { events_->OnRead(bytes); }

  std::string written;
};

class PipeServerTest : public testing::Test {
 protected:
  PipeServerTest() {
    connection_ = transport::Connection::New(
        stream_, server_->OptionsFor(*served_), std::make_shared<Http2Account>(),
        ServiceFor(server_, served_), {.violated = [](Http2Violation) {}, .ended = [] {}});
    connection_->Start(client_.Send());
  }
  ~PipeServerTest() override { stream_->Receive(""); }

  // Calls a method and returns the reply so far.
  const Reply& Call(absl::string_view path, const google::protobuf::MessageLite& request,
                    bool ends = true) {
    const int32_t stream =
        client_.Begin(transport::CallHeaders(path), Message(request.SerializeAsString()), ends);
    for (std::string bytes; !(bytes = client_.Send()).empty();) {
      stream_->Receive(bytes);
      client_.Receive(std::exchange(stream_->written, ""));
    }
    return client_.replies[stream];
  }

  // The name of a service that the pipe can describe.
  const std::string name_ =
      simulated::AttachDiskRequest::descriptor()->file()->service(0)->full_name();
  const std::shared_ptr<PipeServer> server_ =
      std::make_shared<PipeServer>("pipe", name_, std::make_unique<Keeper>(), ServerLimits());
  const std::shared_ptr<ServedConnection> served_ = std::make_shared<ServedConnection>(
      std::make_shared<Client>(Peer{.process_id = 1, .image_path = ""}), 0);
  const std::shared_ptr<TestStream> stream_ = std::make_shared<TestStream>();
  transport::TestClient client_;
  std::shared_ptr<transport::Connection> connection_;
};

TEST_F(PipeServerTest, HealthCheckAnswersForThePipesServiceAndTheServer) {
  health::HealthCheckResponse serving;
  serving.set_status(health::HealthCheckResponse::SERVING);
  health::HealthCheckRequest request;
  for (const std::string& name : {std::string(), name_}) {
    request.set_service(name);
    const Reply& reply = Call("/grpc.health.v1.Health/Check", request);
    EXPECT_EQ(reply.grpc_status(), 0);
    EXPECT_EQ(reply.data, Message(serving.SerializeAsString()));
  }
  request.set_service("v1.Other");
  EXPECT_EQ(Call("/grpc.health.v1.Health/Check", request).grpc_status(), 5);
}

TEST_F(PipeServerTest, HealthListContainsThePipesService) {
  health::HealthListResponse all;
  const Reply& reply = Call("/grpc.health.v1.Health/List", health::HealthListRequest());
  ASSERT_TRUE(all.ParseFromString(reply.data.substr(5)));
  EXPECT_EQ(all.statuses_size(), 2);
  EXPECT_EQ(all.statuses().at(name_).status(), health::HealthCheckResponse::SERVING);
}

TEST_F(PipeServerTest, HealthWatchAnswersOnceAndStaysOpen) {
  health::HealthCheckRequest request;
  request.set_service("v1.Other");
  const Reply& reply = Call("/grpc.health.v1.Health/Watch", request);
  health::HealthCheckResponse response;
  ASSERT_TRUE(response.ParseFromString(reply.data.substr(5)));
  EXPECT_EQ(response.status(), health::HealthCheckResponse::SERVICE_UNKNOWN);
  EXPECT_FALSE(reply.closed);
}

TEST_F(PipeServerTest, ReflectionAnswersEachRequestOfAStream) {
  grpc::reflection::v1::ServerReflectionRequest request;
  request.set_list_services("");
  for (const char* path : kReflectionPaths) {
    const int32_t stream =
        client_.Begin(transport::CallHeaders(path), Message(request.SerializeAsString()), false);
    stream_->Receive(client_.Send());
    client_.Receive(std::exchange(stream_->written, ""));
    const std::string answer = *AnswerReflection(name_, request.SerializeAsString());
    EXPECT_EQ(client_.replies[stream].data, Message(answer));
    client_.Continue(stream, Message(request.SerializeAsString()), true);
    stream_->Receive(client_.Send());
    client_.Receive(std::exchange(stream_->written, ""));
    EXPECT_EQ(client_.replies[stream].data, Message(answer) + Message(answer));
    EXPECT_EQ(client_.replies[stream].grpc_status(), 0);
  }
  request.set_file_by_filename(std::string(kMaxReflectionRequestBytes, 'a'));
  EXPECT_EQ(Call(kReflectionPaths[0], request).grpc_status(), 8);
}

TEST_F(PipeServerTest, MethodsOfOtherPipesAreUnimplemented) {
  EXPECT_EQ(Call("/v1.Other/Method", health::HealthCheckRequest()).grpc_status(), 12);
}

}  // namespace
}  // namespace csi_proxy::rpc
