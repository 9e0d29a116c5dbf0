// Calls every rpc of every released version through the version's generated client over a socket.
// The rpcs come from the descriptors: an rpc without a case fails.
#include <google/protobuf/util/message_differencer.h>

#include <iterator>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/released.h"
#include "gtest/gtest.h"
#include "integration/service/script_run.h"
#include "integration/support/bindings.h"
#include "integration/support/node_admin.h"
#include "integration/support/server_process.h"

namespace csi_proxy::integration {
namespace {

const Binding* Find(const std::string& group, const std::string& version) {
  for (const Binding& binding : AllVersions()) {
    if (binding.group == group && binding.version == version) return &binding;
  }
  return nullptr;
}

class AllRpcsTest : public testing::TestWithParam<const Binding*> {
 protected:
  static void SetUpTestSuite() {
    absl::StatusOr<std::unique_ptr<ServerProcess>> node = ServerProcess::Start();
    ASSERT_TRUE(node.ok()) << node.status();
    node_ = node->release();
    connection_ = Connect(node_->client_options()).value();
  }
  static void TearDownTestSuite() {
    connection_ = nullptr;
    const int code = node_->Stop(absl::Seconds(20));
    if (ChildProcess::kCanAsk) {
      EXPECT_EQ(code, 0) << "a stop is clean";
    }
    delete node_;
  }

  // Creates the volume and the directory that the volume scripts need.
  void Prepare() {
    ASSERT_TRUE(node_->Reset().ok());
    const std::pair<const char*, Case> calls[] = {
        {"disk", {"PartitionDisk", "disk_number: 1"}},
        {"filesystem", {"Mkdir", R"(path: "C:\\var\\lib\\kubelet\\plugins\\mnt")"}}};
    for (const auto& [group, c] : calls) {
      const Binding* const binding = Find(group, "v1");
      const CallFunction call = binding->open(connection_);
      const ScriptRun run(*binding);
      const auto response = NewMessage(run.Method(c)->output_type());
      const absl::Status status = call(c.method, *run.Request(c), response.get(), {});
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  static ServerProcess* node_;
  static std::shared_ptr<Connection> connection_;
};

ServerProcess* AllRpcsTest::node_ = nullptr;
std::shared_ptr<Connection> AllRpcsTest::connection_;

TEST_P(AllRpcsTest, EveryMethodSucceedsAndFailsAsScripted) {
  const Binding& binding = *GetParam();
  const CallFunction call = binding.open(connection_);
  std::set<std::string> succeeded, failed;
  for (const Script* script : ScriptsOf(binding)) {
    if (binding.group == "volume") {
      Prepare();
    } else {
      ASSERT_TRUE(node_->Reset().ok());
    }
    ScriptRun run(binding);
    for (const Case& c : script->cases) {
      SCOPED_TRACE(run.Describe(c));
      const pb::MethodDescriptor* const method = run.Method(c);
      ASSERT_NE(method, nullptr);
      if (*c.fault != '\0') {
        const absl::Status injected = node_->FailOnce(c.fault);
        ASSERT_TRUE(injected.ok()) << injected;
      }
      const auto response = NewMessage(method->output_type());
      const absl::Status status = call(c.method, *run.Request(c), response.get(), {});
      ASSERT_EQ(status.code(), c.code) << status;
      if (!status.ok()) {
        EXPECT_TRUE(absl::StrContains(absl::AsciiStrToLower(status.message()),
                                      absl::AsciiStrToLower(c.expected)))
            << status;
        failed.insert(c.method);
        continue;
      }
      run.Learn(*response);
      RemoveTimes(response.get());
      const auto expected = run.Expected(c);
      std::string difference;
      pb::util::MessageDifferencer differencer;
      differencer.ReportDifferencesToString(&difference);
      EXPECT_TRUE(differencer.Compare(*expected, *response)) << difference;
      succeeded.insert(c.method);
    }
  }
  for (int i = 0; i < binding.service->method_count(); ++i) {
    const std::string& method = binding.service->method(i)->name();
    EXPECT_TRUE(succeeded.contains(method)) << method << " has no case that succeeds";
    EXPECT_TRUE(failed.contains(method)) << method << " has no case that fails";
  }
}

// Fills every text of a request with the longest value that a released rpc accepts: 32,767 UTF-16
// units for a path, `domain\user` of 256 characters each otherwise, with three bytes per character.
void FillLongest(pb::Message* request) {
  const pb::Reflection& reflection = *request->GetReflection();
  for (int i = 0; i < request->GetDescriptor()->field_count(); ++i) {
    const pb::FieldDescriptor* const field = request->GetDescriptor()->field(i);
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
      FillLongest(reflection.MutableMessage(request, field));
    }
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_STRING) continue;
    const bool is_path = absl::StrContains(field->name(), "path");
    std::string text = is_path ? "C:\\" : "";
    for (int unit = static_cast<int>(text.size()); unit < (is_path ? 32'767 : 513); ++unit) {
      text += unit % 256 == 0 ? "\\" : "\u20ac";
    }
    // Requests accept lists of at most 16 entries.
    for (int entry = 0; field->is_repeated() && entry < 16; ++entry) {
      reflection.AddString(request, field, text);
    }
    if (!field->is_repeated()) reflection.SetString(request, field, text);
  }
}

TEST_P(AllRpcsTest, TheLargestRequestOfEachMethodReachesItsHandler) {
  const Binding& binding = *GetParam();
  ASSERT_TRUE(node_->Reset().ok());
  const CallFunction call = binding.open(connection_);
  for (int i = 0; i < binding.service->method_count(); ++i) {
    const pb::MethodDescriptor* const method = binding.service->method(i);
    const auto request = NewMessage(method->input_type());
    FillLongest(request.get());
    const absl::Status status =
        call(method->name(), *request, NewMessage(method->output_type()).get(), {});
    EXPECT_FALSE(absl::IsResourceExhausted(status) || absl::IsUnavailable(status))
        << method->full_name() << ", " << request->ByteSizeLong() << " bytes: " << status;
  }
}

std::vector<const Binding*> Pointers() {
  std::vector<const Binding*> all;
  for (const Binding& binding : AllVersions()) all.push_back(&binding);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Versions, AllRpcsTest, testing::ValuesIn(Pointers()),
                         [](const auto& info) {
                           return absl::StrCat(info.param->group, "_", info.param->version);
                         });

TEST(ReleasedApiTest, EveryReleasedVersionAndRpcIsTested) {
  size_t rpcs = 0;
  for (const Binding& binding : AllVersions()) rpcs += binding.service->method_count();
  EXPECT_EQ(AllVersions().size(), std::size(api::kReleasedVersions));
  EXPECT_EQ(rpcs, std::size(api::kReleasedRpcs));
}

}  // namespace
}  // namespace csi_proxy::integration
