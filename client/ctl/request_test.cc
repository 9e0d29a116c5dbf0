#include "client/ctl/request.h"

#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/released.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RequestTest : public testing::Test {
 protected:
  // Returns an empty request of a method.
  std::unique_ptr<pb::Message> New(const std::string& group, const std::string& method,
                                   const std::string& version = "") {
    group_ = group;
    return catalog_.New(catalog_.Find(group, method, version)->descriptor->input_type());
  }

  absl::Status Set(pb::Message* request, const std::vector<FieldArgument>& arguments) {
    return SetFields(
        catalog_, group_, arguments,
        [](const std::string& path) -> absl::StatusOr<std::string> {
          if (path == "/none") return absl::InvalidArgumentError("cannot read /none");
          return "secret of " + path;
        },
        request);
  }

  // Sets the fields of an empty request and returns the error.
  std::string Error(const std::string& group, const std::string& method,
                    const std::vector<FieldArgument>& arguments, const std::string& version = "") {
    const auto request = New(group, method, version);
    const absl::Status status = Set(request.get(), arguments);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  Catalog catalog_;
  std::string group_;
};

// Returns a value that fits the flag and is not the field's default.
std::string ValueFor(const std::string& flag) {
  const std::string kind = flag.substr(flag.find('=') + 1);
  if (kind == "BOOL") return "true";
  if (kind == "STRING") return "some text";
  if (const size_t bar = kind.find('|'); bar != std::string::npos) {
    return kind.substr(bar + 1, kind.find('|', bar + 1) - bar - 1);
  }
  return "7";
}

// Counts the descriptor's fields that can be flags, and adds the other fields to `not_flags`.
int CountFields(const pb::Descriptor& type, std::vector<std::string>* not_flags) {
  int count = 0;
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    if (field.message_type() == nullptr) {
      ++count;
    } else if (field.is_repeated()) {
      not_flags->push_back(std::string(field.full_name()));
    } else {
      count += CountFields(*field.message_type(), not_flags);
    }
  }
  return count;
}

// Returns the number of fields that are set, including nested ones.
int CountSet(const pb::Message& message) {
  std::vector<const pb::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  int count = 0;
  for (const pb::FieldDescriptor* const field : fields) {
    const bool inner = field->message_type() != nullptr && !field->is_repeated();
    count += inner ? CountSet(message.GetReflection()->GetMessage(message, field)) : 1;
  }
  return count;
}

TEST_F(RequestTest, EveryFieldOfEveryReleasedRequestCanBeSet) {
  size_t methods = 0;
  for (const Method& method : catalog_.AllMethods()) {
    if (method.group == kSimulatedGroup) continue;
    const pb::Descriptor& type = *method.descriptor->input_type();
    std::vector<FieldArgument> arguments;
    for (const std::string& flag : FieldFlags(type)) {
      arguments.push_back({flag.substr(2, flag.find('=') - 2), ValueFor(flag), true});
    }
    const auto request = New(method.group, method.descriptor->name(), method.version);
    const absl::Status status = Set(request.get(), arguments);
    EXPECT_TRUE(status.ok()) << method.path() << ": " << status;
    std::vector<std::string> not_flags;
    EXPECT_EQ(CountSet(*request), CountFields(type, &not_flags)) << method.path();
    EXPECT_THAT(not_flags, ElementsAre()) << method.path();
    ++methods;
  }
  EXPECT_EQ(methods, std::size(api::kReleasedRpcs));
}

TEST_F(RequestTest, AllSpellingsOfAFieldNameAreAccepted) {
  for (const char* name : {"disk-number", "disk_number", "diskNumber", "DISKNUMBER"}) {
    const auto request = New("disk", "PartitionDisk");
    ASSERT_TRUE(Set(request.get(), {{name, "4294967295", true}}).ok()) << name;
    EXPECT_EQ(request->ShortDebugString(), "disk_number: 4294967295");
  }
}

TEST_F(RequestTest, ABooleanFlagWithoutAValueIsTrue) {
  const auto request = New("filesystem", "Rmdir");
  ASSERT_TRUE(Set(request.get(), {{"force", "", false}}).ok());
  EXPECT_EQ(request->ShortDebugString(), "force: true");
  ASSERT_TRUE(Set(request.get(), {{"force", "false", true}}).ok());
  EXPECT_EQ(request->ShortDebugString(), "");
  EXPECT_THAT(Error("filesystem", "Rmdir", {{"force", "maybe", true}}),
              HasSubstr("--force: \"maybe\" is not true or false"));
}

TEST_F(RequestTest, NestedFieldsAreNamedWithADot) {
  const auto request = New("iscsi", "AddTargetPortal");
  ASSERT_TRUE(Set(request.get(), {{"target-portal.target-address", "10.0.0.5", true},
                                  {"targetPortal.targetPort", "3260", true}})
                  .ok());
  EXPECT_EQ(request->ShortDebugString(),
            "target_portal { target_address: \"10.0.0.5\" target_port: 3260 }");
  EXPECT_THAT(Error("iscsi", "AddTargetPortal", {{"target-portal.target-adress", "x", true}}),
              HasSubstr("did you mean --target-address?"));
  EXPECT_THAT(Error("iscsi", "AddTargetPortal", {{"target-portal", "x", true}}),
              HasSubstr("--target-portal: cannot be given as a flag"));
  EXPECT_THAT(Error("iscsi", "ConnectTarget", {{"iqn.x", "x", true}}),
              HasSubstr("--iqn.x: iqn has no fields"));
  EXPECT_THAT(Error("iscsi", "AddTargetPortal", {{"target-portal.", "x", true}}),
              HasSubstr("there is no field \"\""));
}

TEST_F(RequestTest, EnumsAreSetByNameOrNumber) {
  for (const char* value : {"ONE_WAY_CHAP", "one-way-chap", "1"}) {
    const auto request = New("iscsi", "ConnectTarget");
    ASSERT_TRUE(Set(request.get(), {{"auth-type", value, true}}).ok()) << value;
    EXPECT_EQ(request->ShortDebugString(), "auth_type: ONE_WAY_CHAP");
  }
  EXPECT_THAT(Error("iscsi", "ConnectTarget", {{"auth-type", "chap", true}}),
              HasSubstr("--auth-type: \"chap\" is not one of NONE, ONE_WAY_CHAP, MUTUAL_CHAP"));
}

TEST_F(RequestTest, NumbersMustBeIntegersInRange) {
  for (const char* value : {"-1", "4294967296", "", "1.5", "0x10", "one"}) {
    EXPECT_THAT(Error("disk", "PartitionDisk", {{"disk-number", value, true}}),
                HasSubstr(absl::StrCat("--disk-number: \"", value, "\" is not a number")));
  }
  const auto request = New("volume", "ResizeVolume");
  ASSERT_TRUE(Set(request.get(), {{"size-bytes", "9223372036854775807", true}}).ok());
  EXPECT_EQ(request->ShortDebugString(), "size_bytes: 9223372036854775807");
}

TEST_F(RequestTest, ErrorsSuggestTheRightFieldName) {
  const std::string error = Error("volume", "MountVolume", {{"volum-id", "x", true}});
  EXPECT_THAT(error, HasSubstr("there is no field \"volum-id\" in MountVolumeRequest"));
  EXPECT_THAT(error, HasSubstr("did you mean --volume-id?"));
  EXPECT_THAT(error, HasSubstr("--volume-id=STRING --target-path=STRING"));
  EXPECT_THAT(Error("disk", "ListDiskIDs", {{"x", "1", true}}), HasSubstr("It has no fields."));
}

TEST_F(RequestTest, AFieldNeedsExactlyOneValue) {
  EXPECT_THAT(Error("volume", "MountVolume", {{"volume-id", "", false}}),
              HasSubstr("--volume-id: needs a value"));
  EXPECT_THAT(
      Error("disk", "PartitionDisk", {{"disk-number", "1", true}, {"diskNumber", "2", true}}),
      HasSubstr("--diskNumber: given twice"));
  EXPECT_THAT(Error("volume", "MountVolume", {{"volume-id", "\xff", true}}),
              HasSubstr("--volume-id: is not UTF-8"));
}

TEST_F(RequestTest, AnEmptyTextClearsAFieldSetFromJson) {
  const auto request = New("filesystem", "Mkdir");
  ASSERT_TRUE(SetFromJson(catalog_, "filesystem", R"({"path": "a"})", request.get()).ok());
  ASSERT_TRUE(Set(request.get(), {{"path", "", true}}).ok());
  EXPECT_EQ(request->ShortDebugString(), "");
}

TEST_F(RequestTest, AFlagForAMessageFieldIsRefusedWithAHintToJson) {
  EXPECT_THAT(Error("sim", "AttachDisk", {{"disk.partition", "x", true}}),
              HasSubstr("--disk.partition: cannot be given as a flag; use --json"));
}

TEST_F(RequestTest, SecretsAreReadFromFilesAndStandardInput) {
  const std::string method = "NewSmbGlobalMapping";
  for (const auto& [argument, secret] :
       {std::pair{FieldArgument{"password", "-", true}, "secret of -"},
        std::pair{FieldArgument{"password-file", "/p", true}, "secret of /p"},
        std::pair{FieldArgument{"passwordFile", "/p", true}, "secret of /p"},
        std::pair{FieldArgument{"password-file", "-", true}, "secret of -"},
        std::pair{FieldArgument{"password", "plain", true}, "plain"}}) {
    const auto request = New("smb", method);
    ASSERT_TRUE(Set(request.get(), {argument}).ok()) << argument.name;
    EXPECT_EQ(request->ShortDebugString(), absl::StrCat("password: \"", secret, "\""));
  }
  // Covers every version of smb, and CHAP secrets.
  for (const std::string& version : catalog_.Versions("smb")) {
    const auto request = New("smb", method, version);
    EXPECT_TRUE(Set(request.get(), {{"password-file", "/p", true}}).ok()) << version;
  }
  const auto chap = New("iscsi", "ConnectTarget");
  ASSERT_TRUE(Set(chap.get(), {{"chap-secret-file", "/p", true}}).ok());
  EXPECT_EQ(chap->ShortDebugString(), "chap_secret: \"secret of /p\"");
}

TEST_F(RequestTest, OnlySecretsAreReadFromFiles) {
  const auto request = New("filesystem", "Mkdir");
  ASSERT_TRUE(Set(request.get(), {{"path", "-", true}}).ok());
  EXPECT_EQ(request->ShortDebugString(), "path: \"-\"");
  EXPECT_THAT(Error("filesystem", "Mkdir", {{"path-file", "/p", true}}),
              HasSubstr("there is no field \"path-file\""));
  EXPECT_THAT(Error("smb", "NewSmbGlobalMapping", {{"password-file", "", false}}),
              HasSubstr("--password-file: needs a value"));
  EXPECT_THAT(Error("smb", "NewSmbGlobalMapping", {{"password-file", "/none", true}}),
              HasSubstr("--password-file: cannot read /none"));
}

TEST_F(RequestTest, ErrorsNeverContainASecret) {
  const std::vector<FieldArgument> password = {{"password", "Hidden\xff", true}};
  EXPECT_FALSE(absl::StrContains(Error("smb", "NewSmbGlobalMapping", password), "Hidden"));
  const std::vector<FieldArgument> twice = {{"password", "Hidden", true},
                                            {"password", "Hidden", true}};
  EXPECT_FALSE(absl::StrContains(Error("smb", "NewSmbGlobalMapping", twice), "Hidden"));
  const std::vector<FieldArgument> misspelt = {{"pasword", "Hidden", true}};
  EXPECT_FALSE(absl::StrContains(Error("smb", "NewSmbGlobalMapping", misspelt), "Hidden"));
  const auto request = New("smb", "NewSmbGlobalMapping");
  for (const char* json :
       {R"({"password": "Hidden)", R"({"password": "Hidden" x})", R"({"password": ["Hidden"]})",
        R"({"password": {"Hidden": 1}})", R"({"Hidden": 1})", R"(Hidden)"}) {
    const absl::Status status = SetFromJson(catalog_, "smb", json, request.get());
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << json;
    EXPECT_FALSE(absl::StrContains(status.message(), "Hidden")) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "NewSmbGlobalMappingRequest")) << status;
  }
}

TEST_F(RequestTest, JsonAcceptsBothNamingStylesAndFlagsOverrideJson) {
  const auto request = New("volume", "MountVolume");
  ASSERT_TRUE(
      SetFromJson(catalog_, "volume", R"({"volumeId": "a", "target_path": "b"})", request.get())
          .ok());
  ASSERT_TRUE(Set(request.get(), {{"target-path", "c", true}}).ok());
  EXPECT_EQ(request->ShortDebugString(), "volume_id: \"a\" target_path: \"c\"");
  const absl::Status unknown = SetFromJson(catalog_, "volume", R"({"volume": "a"})", request.get());
  EXPECT_TRUE(absl::IsInvalidArgument(unknown));
  EXPECT_TRUE(absl::StrContains(unknown.message(), "volume")) << unknown;
}

}  // namespace
}  // namespace csi_proxy::ctl
