// Every rpc of every released version, through the generated client of its version: over a real
// socket, or embedded. What there is to call comes from the descriptors: an rpc without a case
// fails.
#include <google/protobuf/text_format.h>
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
#include "integration/rpcs/cases.h"
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

std::unique_ptr<pb::Message> Parse(const pb::Descriptor* type, const std::string& text) {
  std::unique_ptr<pb::Message> message = NewMessage(type);
  EXPECT_TRUE(pb::TextFormat::ParseFromString(text, message.get()))
      << type->full_name() << ": " << text;
  return message;
}

// The first volume id in a response, ready for textproto.
std::string FirstVolumeId(const pb::Message& response) {
  const pb::FieldDescriptor* const field = response.GetDescriptor()->FindFieldByName("volume_ids");
  if (field == nullptr || response.GetReflection()->FieldSize(response, field) == 0) return "";
  return absl::StrReplaceAll(response.GetReflection()->GetRepeatedString(response, field, 0),
                             {{"\\", "\\\\"}});
}

class AllRpcsTest : public testing::TestWithParam<const Binding*> {
 protected:
  static void SetUpTestSuite() {
    absl::StatusOr<std::unique_ptr<TestNode>> node = NewTestNode();
    ASSERT_TRUE(node.ok()) << node.status();
    node_ = node->release();
  }
  static void TearDownTestSuite() {
    if (auto* const server = dynamic_cast<ServerProcess*>(node_); server != nullptr) {
      const int code = server->Stop(absl::Seconds(20));
      if (ChildProcess::kCanAsk) {
        EXPECT_EQ(code, 0) << "a stop is clean";
      }
    }
    delete node_;
  }

  // What the volume scripts need to be there.
  void Prepare() {
    ASSERT_TRUE(node_->Reset().ok());
    for (const auto& [group, method, request] :
         {std::tuple{"disk", "PartitionDisk", "disk_number: 1"},
          std::tuple{"filesystem", "Mkdir", R"(path: "C:\\var\\lib\\kubelet\\plugins\\mnt")"}}) {
      const Binding* const binding = Find(group, "v1");
      const auto call = binding->open(node_->client_options());
      ASSERT_TRUE(call.ok()) << call.status();
      const pb::MethodDescriptor* const m = binding->service->FindMethodByName(method);
      const auto response = NewMessage(m->output_type());
      const absl::Status status =
          (*call)(method, *Parse(m->input_type(), request), response.get(), {});
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  static TestNode* node_;
};

TestNode* AllRpcsTest::node_ = nullptr;

TEST_P(AllRpcsTest, EveryMethodSucceedsAndFailsAsItShould) {
  const Binding& binding = *GetParam();
  const auto call = binding.open(node_->client_options());
  ASSERT_TRUE(call.ok()) << call.status();
  std::set<std::string> succeeded, failed;
  for (const Script& script : AllScripts()) {
    if (script.group != binding.group || std::find(script.versions.begin(), script.versions.end(),
                                                   binding.version) == script.versions.end()) {
      continue;
    }
    if (binding.group == "volume") {
      Prepare();
    } else {
      ASSERT_TRUE(node_->Reset().ok());
    }
    std::string volume;
    for (const Case& c : script.cases) {
      SCOPED_TRACE(absl::StrCat(binding.name(), " ", c.method, "(", c.request, ")"));
      const pb::MethodDescriptor* const method = binding.service->FindMethodByName(c.method);
      ASSERT_NE(method, nullptr);
      if (*c.fault != '\0') {
        const absl::Status injected = node_->FailOnce(c.fault);
        ASSERT_TRUE(injected.ok()) << injected;
      }
      const auto with_volume = [&](const char* text) {
        const std::string bare =
            volume.substr(0, volume.size() - std::min<size_t>(2, volume.size()));
        return absl::StrReplaceAll(text, {{"$V", volume}, {"$W", bare}});
      };
      const auto request = Parse(method->input_type(), with_volume(c.request));
      const auto response = NewMessage(method->output_type());
      const absl::Status status = (*call)(c.method, *request, response.get(), {});
      ASSERT_EQ(status.code(), c.code) << status;
      if (!status.ok()) {
        // A fault of the machine has words of its own.
        const char* const words = MachineIsDouble() && *c.fault != '\0' ? "failed" : c.expected;
        EXPECT_TRUE(absl::StrContains(absl::AsciiStrToLower(status.message()),
                                      absl::AsciiStrToLower(words)))
            << status;
        failed.insert(c.method);
        continue;
      }
      if (volume.empty()) volume = FirstVolumeId(*response);
      const auto expected = Parse(method->output_type(), with_volume(c.expected));
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

std::vector<const Binding*> Pointers() {
  std::vector<const Binding*> all;
  for (const Binding& binding : AllVersions()) all.push_back(&binding);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Versions, AllRpcsTest, testing::ValuesIn(Pointers()),
                         [](const auto& info) {
                           return absl::StrCat(info.param->group, "_", info.param->version);
                         });

TEST(ReleasedApiTest, HasItsVersionsAndRpcs) {
  size_t rpcs = 0;
  for (const Binding& binding : AllVersions()) rpcs += binding.service->method_count();
  EXPECT_EQ(AllVersions().size(), std::size(api::kReleasedVersions));
  EXPECT_EQ(rpcs, std::size(api::kReleasedRpcs));
}

}  // namespace
}  // namespace csi_proxy::integration
