// Tests that embedded and remote mode are alike: for the same requests, a service and a node in
// this process return the same codes, texts and responses, and end in the same state.
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "integration/service/script_run.h"
#include "integration/support/bindings.h"
#include "integration/support/random_messages.h"
#include "integration/support/server_process.h"
#include "integration/support/test_node.h"

namespace csi_proxy::integration {
namespace {

struct Answer {
  absl::Status status;
  std::unique_ptr<pb::Message> response;
};

class AlikeTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto service = ServerProcess::Start();
    ASSERT_TRUE(service.ok()) << service.status();
    nodes_[0] = service->release();
    auto embedded = NewEmbeddedNode();
    ASSERT_TRUE(embedded.ok()) << embedded.status();
    nodes_[1] = embedded->release();
    for (int i = 0; i < 2; ++i) connections_[i] = Connect(nodes_[i]->client_options()).value();
  }
  static void TearDownTestSuite() {
    for (int i = 0; i < 2; ++i) {
      connections_[i] = nullptr;
      delete nodes_[i];
      nodes_[i] = nullptr;
    }
  }

  void Reset() {
    for (TestNode* node : nodes_) {
      const absl::Status status = node->Reset();
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  // Makes a call in both modes and compares the answers. Returns the service's answer.
  Answer CallBoth(const Binding& binding, const pb::MethodDescriptor& method,
                  const pb::Message& request) {
    Answer answers[2];
    for (int i = 0; i < 2; ++i) {
      CallFunction& call = calls_[i][binding.name()];
      if (call == nullptr) call = binding.open(connections_[i]);
      answers[i].response = NewMessage(method.output_type());
      answers[i].status = call(method.name(), request, answers[i].response.get(), {});
      RemoveTimes(answers[i].response.get());
    }
    EXPECT_EQ(answers[0].status, answers[1].status);
    EXPECT_EQ(answers[0].response->DebugString(), answers[1].response->DebugString());
    return std::move(answers[0]);
  }

  void CompareNodes() {
    EXPECT_EQ(nodes_[0]->Dump().DebugString(), nodes_[1]->Dump().DebugString());
  }

  // The node of a service, and the node in this process.
  static TestNode* nodes_[2];
  static std::shared_ptr<Connection> connections_[2];
  std::map<std::string, CallFunction> calls_[2];
};

TestNode* AlikeTest::nodes_[2] = {};
std::shared_ptr<Connection> AlikeTest::connections_[2];

TEST_F(AlikeTest, BothModesAnswerEveryScriptedCaseAlike) {
  int calls = 0;
  for (const Binding& binding : AllVersions()) {
    for (const Script* script : ScriptsOf(binding)) {
      ASSERT_NO_FATAL_FAILURE(Reset());
      ScriptRun run(binding);
      for (const Case& c : script->cases) {
        SCOPED_TRACE(run.Describe(c));
        if (*c.fault != '\0') {
          for (TestNode* node : nodes_) ASSERT_TRUE(node->FailOnce(c.fault).ok());
        }
        const Answer answer = CallBoth(binding, *run.Method(c), *run.Request(c));
        if (answer.status.ok()) run.Learn(*answer.response);
        ++calls;
      }
      CompareNodes();
    }
  }
  EXPECT_GT(calls, 400);
}

// The client of a fork may put an option into a field that no release has.
TEST_F(AlikeTest, OnlyCallsThatChangeTheNodeRefuseAnUnknownField) {
  ASSERT_NO_FATAL_FAILURE(Reset());
  const std::string before = nodes_[0]->Dump().DebugString();
  int refused = 0, answered = 0;
  for (const Binding& binding : AllVersions()) {
    for (int i = 0; i < binding.service->method_count(); ++i) {
      const pb::MethodDescriptor& method = *binding.service->method(i);
      SCOPED_TRACE(method.full_name());
      const auto request = NewMessage(method.input_type());
      request->GetReflection()->MutableUnknownFields(request.get())->AddVarint(1999, 1);
      const absl::Status status = CallBoth(binding, method, *request).status;
      if (absl::StrContains(status.message(), "field 1999: ")) {
        EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
        ++refused;
      } else {
        ++answered;
      }
    }
  }
  EXPECT_EQ(nodes_[0]->Dump().DebugString(), before);
  EXPECT_GT(refused, 50);
  EXPECT_GT(answered, 50);
  // The audit log names the unknown fields of these calls, but not those of read-only calls.
  const std::string log = static_cast<ServerProcess*>(nodes_[0])->Log();
  EXPECT_TRUE(absl::StrContains(log, "unknown_field=\"v1.PartitionDiskRequest.1999\""));
  EXPECT_FALSE(absl::StrContains(log, "unknown_field=\"v1.ListDiskIDsRequest.1999\""));
  CompareNodes();
}

// Random requests, some of which have values that exist on the default node.
class NodeRequests final : public RandomMessages {
 public:
  using RandomMessages::RandomMessages;

  const Binding& AnyVersion() { return AllVersions()[Random() % AllVersions().size()]; }
  const pb::MethodDescriptor& AnyMethod(const Binding& binding) {
    return *binding.service->method(
        static_cast<int>(Random() % static_cast<uint64_t>(binding.service->method_count())));
  }
  // Uses `volume` in later requests.
  void Remember(const std::string& volume) {
    if (!volume.empty()) volume_ = volume;
  }

 private:
  std::string Text(const pb::FieldDescriptor& field) override {
    if (Random() % 8 == 0) return RandomMessages::Text(field);
    if (IsDecimal(field)) return absl::StrCat(Number32());
    const std::string& name = field.name();
    const auto has = [&name](const char* part) { return name.find(part) != std::string::npos; };
    if (has("path") || has("Path")) {
      static constexpr const char* kPaths[] = {
          R"(C:\var\lib\kubelet\plugins\a)",   R"(C:\var\lib\kubelet\plugins\b)",
          R"(C:\var\lib\kubelet\plugins\a\c)", R"(c:/VAR/lib/kubelet/plugins/A)",
          R"(C:\var\lib\kubelet\pods\x)",      R"(C:\Windows\System32)",
          R"(\\fileserver.example\data)",      R"(C:\var\lib\kubelet\..\..)"};
      return kPaths[Random() % std::size(kPaths)];
    }
    if (has("volume")) return volume_;
    if (has("iqn")) return "iqn.2026-01.example.storage:open";
    if (has("address")) return "10.0.0.5";
    if (has("username")) return R"(EXAMPLE\storage)";
    if (has("name")) {
      static constexpr const char* kNames[] = {"MSiSCSI", "RpcSs", "page83", "serialNumber"};
      return kNames[Random() % std::size(kNames)];
    }
    return RandomMessages::Text(field);
  }
  uint32_t Number32() override {
    return Random() % 4 != 0 ? static_cast<uint32_t>(Random() % 6) : RandomMessages::Number32();
  }

  std::string volume_ = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)";
};

// Reads a number from the environment: CSI_PROXY_TEST_REQUESTS is the number of requests,
// CSI_PROXY_TEST_SEED their seed.
uint32_t FromEnvironment(const char* name, uint32_t otherwise) {
  uint32_t value;
  const char* const text = std::getenv(name);
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

TEST_F(AlikeTest, BothModesAnswerRandomRequestsAlike) {
  const uint32_t count = FromEnvironment("CSI_PROXY_TEST_REQUESTS", 3'000);
  NodeRequests requests(FromEnvironment("CSI_PROXY_TEST_SEED", 20'261'121));
  ASSERT_NO_FATAL_FAILURE(Reset());
  uint32_t succeeded = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const Binding& binding = requests.AnyVersion();
    const pb::MethodDescriptor& method = requests.AnyMethod(binding);
    const auto request = NewMessage(method.input_type());
    requests.Fill(request.get());
    SCOPED_TRACE(absl::StrCat("request ", i, ": ", binding.name(), " ", method.name(), " {\n",
                              request->DebugString(), "}"));
    const Answer answer = CallBoth(binding, method, *request);
    if (answer.status.ok()) {
      ++succeeded;
      requests.Remember(FirstVolumeId(*answer.response));
    }
    if (i % 250 == 249) CompareNodes();
    if (i % 1000 == 999) {
      ASSERT_NO_FATAL_FAILURE(Reset());
    }
    if (HasFailure()) return;
  }
  std::cout << succeeded << " of " << count << " requests succeeded, on both\n";
  EXPECT_GT(succeeded, count / 10) << "else nothing much is compared";
}

TEST_F(AlikeTest, BothModesEndLateAndCancelledCallsAlike) {
  ASSERT_NO_FATAL_FAILURE(Reset());
  absl::Notification gone;
  gone.Notify();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(nodes_[i]->InjectFault("operation: 'disk.Rescan' latency_ms: 2000").ok());
    for (const Binding& binding : AllVersions()) {
      if (binding.name() != "disk v1") continue;
      const CallFunction call = binding.open(connections_[i]);
      const pb::MethodDescriptor& method = *binding.service->FindMethodByName("Rescan");
      const auto request = NewMessage(method.input_type());
      const auto response = NewMessage(method.output_type());
      EXPECT_EQ(call("Rescan", *request, response.get(), {.timeout = absl::Milliseconds(50)}),
                absl::DeadlineExceededError("the call's deadline has passed"));
      EXPECT_EQ(call("Rescan", *request, response.get(), {.cancelled = &gone}),
                absl::CancelledError("the caller cancelled the call or disconnected"));
      // The service's error, which names what the call waited for, comes before the client's own.
      ASSERT_TRUE(nodes_[i]->InjectFault("operation: 'wmi.*' latency_ms: 60000").ok());
      const pb::MethodDescriptor& list = *binding.service->FindMethodByName("ListDiskIDs");
      const absl::Status late =
          call("ListDiskIDs", *NewMessage(list.input_type()), NewMessage(list.output_type()).get(),
               {.timeout = absl::Seconds(1)});
      EXPECT_TRUE(absl::StrContains(late.message(), "MSFT_Disk")) << late;
    }
  }
}

}  // namespace
}  // namespace csi_proxy::integration
