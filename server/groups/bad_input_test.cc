// Calls refuse bad input. The error names the field and the rule, and the node stays unchanged.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/groups/testing.h"

namespace csi_proxy::groups {
namespace {

using absl::InvalidArgumentError;
using absl::PermissionDeniedError;
using iscsi::AuthenticationType;

constexpr char kRoot[] = R"(C:\var\lib\kubelet)";
constexpr char kVolume[] = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)";
constexpr char kShare[] = R"(\\fileserver.example\data)";
constexpr char kIqn[] = "iqn.2026-01.example.storage:open";

// A call with a text in one of its fields.
struct Field {
  const char* name;
  std::function<absl::Status(const std::string&)> call;
};

class BadInputTest : public HandlerTest {
 protected:
  BadInputTest() : before_(Everything()) {}
  ~BadInputTest() override {
    EXPECT_EQ(Everything(), before_);
    EXPECT_EQ(locks_.size(), 0u);
  }

  std::string Everything() const {
    return machine::simulator::StateToProto(node_->Snapshot()).SerializeAsString();
  }
  absl::Status Map(const smb::NewSmbGlobalMappingRequest& request) {
    return smb_->NewSmbGlobalMapping(context_, request).status();
  }
  absl::Status Connect(AuthenticationType type, const std::string& username,
                       const std::string& secret) {
    return iscsi_
        ->ConnectTarget(context_, {.target_portal = {.target_address = "10.0.0.5"},
                                   .iqn = kIqn,
                                   .auth_type = type,
                                   .chap_username = username,
                                   .chap_secret = secret})
        .status();
  }

  // The fields for paths that may be a working directory itself.
  const std::vector<Field> paths_ = {
      {"path",
       [&](auto& text) { return filesystem_->PathExists(context_, {.path = text}).status(); }},
      {"path", [&](auto& text) { return Mkdir(text); }},
      {"path",
       [&](auto& text) { return filesystem_->IsSymlink(context_, {.path = text}).status(); }},
      {"source_path", [&](auto& text) { return Link(text, Below("pods")); }},
      {"target_path",
       [&](auto& text) {
         return volume_->GetVolumeIDFromTargetPath(context_, {.target_path = text}).status();
       }},
      {"target_path",
       [&](auto& text) {
         return volume_->GetClosestVolumeIDFromTargetPath(context_, {.target_path = text}).status();
       }},
      {"path",
       [&](auto& text) { return storage_->GetPathStats(context_, {.path = text}).status(); }},
      {"path", [&](auto& text) { return storage_->ListMounts(context_, {.path = text}).status(); }},
  };
  // The fields for paths strictly below a working directory.
  const std::vector<Field> paths_below_ = {
      {"path", [&](auto& text) { return Rmdir(text); }},
      {"path",
       [&](auto& text) { return filesystem_->RmdirContents(context_, {.path = text}).status(); }},
      {"path",
       [&](auto& text) {
         return storage_->RemoveMount(context_, {.path = text, .target = "x"}).status();
       }},
      {"target_path", [&](auto& text) { return Link(Below("pods"), text); }},
      {"target_path",
       [&](auto& text) {
         return volume_->MountVolume(context_, {.volume_id = kVolume, .target_path = text})
             .status();
       }},
      {"target_path",
       [&](auto& text) {
         return volume_->UnmountVolume(context_, {.volume_id = kVolume, .target_path = text})
             .status();
       }},
      {"local_path",
       [&](auto& text) {
         return Map({.remote_path = kShare, .local_path = text, .username = "u"});
       }},
  };

 private:
  const std::string before_;
};

TEST_F(BadInputTest, AnErrorInAPathNamesTheField) {
  std::vector<Field> all = paths_;
  all.insert(all.end(), paths_below_.begin(), paths_below_.end());
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& [field, call] = all[i];
    SCOPED_TRACE(absl::StrCat(field, " ", i));
    EXPECT_EQ(
        call("pods"),
        InvalidArgumentError(absl::StrCat(
            field, R"(: "pods": it is not absolute: it must begin with a drive, as in C:\)")));
    EXPECT_EQ(
        call("C:pods"),
        InvalidArgumentError(absl::StrCat(
            field,
            R"(: "C:pods": it is relative to the drive: a backslash must follow the colon)")));
    EXPECT_EQ(
        call(R"(C:\var\lib)"),
        PermissionDeniedError(absl::StrCat(
            field, R"(: "C:\\var\\lib": it is outside the working directories ()", kRoot, ")")));
  }
}

TEST_F(BadInputTest, SomeCallsRefuseAWorkingDirectoryItself) {
  for (const auto& [field, call] : paths_below_) {
    EXPECT_EQ(call(kRoot),
              PermissionDeniedError(absl::StrCat(
                  field, R"(: "C:\\var\\lib\\kubelet": it is a working directory itself)")));
  }
  for (const auto& [field, call] : paths_) {
    EXPECT_FALSE(absl::IsPermissionDenied(call(kRoot))) << field << call(kRoot);
  }
}

TEST_F(BadInputTest, AnErrorInAVolumeIdNamesTheField) {
  const Field fields[] = {
      {"IsVolumeFormatted",
       [&](auto& id) { return volume_->IsVolumeFormatted(context_, {.volume_id = id}).status(); }},
      {"FormatVolume",
       [&](auto& id) { return volume_->FormatVolume(context_, {.volume_id = id}).status(); }},
      {"FormatVolume of the storage group",
       [&](auto& id) { return storage_->FormatVolume(context_, {.volume_id = id}).status(); }},
      {"GetVolumeHealth",
       [&](auto& id) { return storage_->GetVolumeHealth(context_, {.volume_id = id}).status(); }},
      {"ListVolumeHealth",
       [&](auto& id) {
         return storage_->ListVolumeHealth(context_, {.volume_ids = {id}}).status();
       }},
      {"ResizeVolume",
       [&](auto& id) { return volume_->ResizeVolume(context_, {.volume_id = id}).status(); }},
      {"GetVolumeStats",
       [&](auto& id) { return volume_->GetVolumeStats(context_, {.volume_id = id}).status(); }},
      {"GetDiskNumberFromVolumeID",
       [&](auto& id) {
         return volume_->GetDiskNumberFromVolumeID(context_, {.volume_id = id}).status();
       }},
      {"WriteVolumeCache",
       [&](auto& id) { return volume_->WriteVolumeCache(context_, {.volume_id = id}).status(); }},
      {"MountVolume",
       [&](auto& id) {
         return volume_->MountVolume(context_, {.volume_id = id, .target_path = Below("pods")})
             .status();
       }},
      {"UnmountVolume",
       [&](auto& id) {
         return volume_->UnmountVolume(context_, {.volume_id = id, .target_path = Below("pods")})
             .status();
       }},
  };
  for (const auto& [rpc, call] : fields) {
    EXPECT_EQ(call("C:"),
              InvalidArgumentError(R"(volume_id: "C:" is not a volume id such as )"
                                   R"(\\?\Volume{01234567-89ab-cdef-0123-456789abcdef}\)"))
        << rpc;
  }
}

TEST_F(BadInputTest, InvalidSizesAndFileSystemsAreRefused) {
  const auto format = [&](const std::string& file_system, uint32_t unit) {
    return volume_
        ->FormatVolume(
            context_,
            {.volume_id = kVolume, .file_system = file_system, .allocation_unit_bytes = unit})
        .status();
  };
  EXPECT_EQ(format("FAT32", 0), InvalidArgumentError("file_system: is neither NTFS nor ReFS"));
  EXPECT_EQ(format("", 3000),
            InvalidArgumentError("allocation_unit_bytes: 3000 is not an allocation unit of NTFS"));
  EXPECT_EQ(format("refs", 8192),
            InvalidArgumentError("allocation_unit_bytes: 8192 is not an allocation unit of ReFS"));
  EXPECT_EQ(volume_->ResizeVolume(context_, {.volume_id = kVolume, .size_bytes = -1}).status(),
            InvalidArgumentError("size_bytes: -1 is negative"));
}

TEST_F(BadInputTest, TextFieldsLimitLengthAndCharacters) {
  const auto map = [&](const std::string& username, const std::string& password) {
    return Map({.remote_path = kShare, .username = username, .password = password});
  };
  const auto stage = [&](const std::string& username, const std::string& password) {
    return storage_
        ->StageShare(context_, {.remote_path = kShare,
                                .target_path = Below("s"),
                                .username = username,
                                .password = password})
        .status();
  };
  const struct {
    Field field;
    // The maximum length in bytes.
    size_t longest;
    bool may_be_empty = false;
  } rows[] = {
      {{"disk_name",
        [&](auto& text) {
          return disk_->GetDiskNumberByName(context_, {.disk_name = text}).status();
        }},
       1024},
      {{"username", [&](auto& text) { return map(text, "p"); }}, 512},
      {{"password", [&](auto& text) { return map("u", text); }}, 1024, true},
      {{"username", [&](auto& text) { return stage(text, "p"); }}, 512},
      {{"password", [&](auto& text) { return stage("u", text); }}, 1024, true},
      {{"name", [&](auto& text) { return system_->GetService(context_, {.name = text}).status(); }},
       256},
      {{"name",
        [&](auto& text) { return system_->StartService(context_, {.name = text}).status(); }},
       256},
      {{"name",
        [&](auto& text) { return system_->StopService(context_, {.name = text}).status(); }},
       256},
  };
  for (const auto& [field, longest, may_be_empty] : rows) {
    const auto& [name, call] = field;
    SCOPED_TRACE(name);
    const absl::Status empty = InvalidArgumentError(absl::StrCat(name, ": must not be empty"));
    EXPECT_EQ(call("") == empty, !may_be_empty) << call("");
    EXPECT_EQ(call(std::string(longest + 1, 'a')),
              InvalidArgumentError(absl::StrCat(name, ": is longer than ", longest, " bytes")));
    EXPECT_FALSE(absl::IsInvalidArgument(call(std::string(longest, 'a'))));
    EXPECT_EQ(call("a\nb"),
              InvalidArgumentError(absl::StrCat(name, ": holds a control character")));
    if (absl::string_view(name) != "name") continue;
    for (const char* slash : {"a/b", "a\\b"}) {
      EXPECT_EQ(call(slash),
                InvalidArgumentError("name: a service's name must not contain a slash"));
    }
  }
  EXPECT_EQ(disk_->GetDiskNumberByName(context_, {.disk_name = "none"}).status(),
            absl::NotFoundError("disk_name: no disk has that page 83 identifier"));
}

TEST_F(BadInputTest, AnErrorInAShareNamesTheField) {
  for (const absl::Status& refused :
       {Map({.remote_path = "data", .username = "u"}),
        storage_
            ->StageShare(context_,
                         {.remote_path = "data", .target_path = Below("s"), .username = "u"})
            .status(),
        storage_->UnstageShare(context_, {.target_path = Below("s"), .remote_path = "data"})
            .status(),
        smb_->RemoveSmbGlobalMapping(context_, {.remote_path = "data"}).status()}) {
    EXPECT_EQ(refused, InvalidArgumentError(
                           R"(remote_path: "data": it is not a share: it must be \\host\share)"));
  }
  EXPECT_EQ(smb_->RemoveSmbGlobalMapping(context_, {.remote_path = kShare}).status(),
            absl::NotFoundError(absl::StrCat(kShare, " is not mapped")));
}

TEST_F(BadInputTest, AnErrorInAPortalNamesTheField) {
  using Call = std::function<absl::Status(const iscsi::TargetPortal&)>;
  const Call calls[] = {
      [&](auto& portal) {
        return iscsi_->AddTargetPortal(context_, {.target_portal = portal}).status();
      },
      [&](auto& portal) {
        return iscsi_->RemoveTargetPortal(context_, {.target_portal = portal}).status();
      },
      [&](auto& portal) {
        return iscsi_->DiscoverTargetPortal(context_, {.target_portal = portal}).status();
      },
      [&](auto& portal) {
        return iscsi_->ConnectTarget(context_, {.target_portal = portal, .iqn = kIqn}).status();
      },
      [&](auto& portal) {
        return iscsi_->DisconnectTarget(context_, {.target_portal = portal, .iqn = kIqn}).status();
      },
      [&](auto& portal) {
        return iscsi_->GetTargetDisks(context_, {.target_portal = portal, .iqn = kIqn}).status();
      },
  };
  const auto address = [](const std::string& text) {
    return iscsi::TargetPortal{.target_address = text};
  };
  for (size_t i = 0; i < std::size(calls); ++i) {
    const Call& call = calls[i];
    SCOPED_TRACE(i);
    EXPECT_EQ(call(address("")),
              InvalidArgumentError("target_portal.target_address: must not be empty"));
    EXPECT_EQ(call(address(std::string(256, 'a'))),
              InvalidArgumentError("target_portal.target_address: is longer than 255 bytes"));
    EXPECT_EQ(
        call(address("10.0.0.5/x")),
        InvalidArgumentError("target_portal.target_address: is not a host name or an IP address"));
    EXPECT_EQ(call({.target_address = "a", .target_port = 65536}),
              InvalidArgumentError(
                  "target_portal.target_port: 65536 is not from 1 to 65535, or 0 for 3260"));
    for (const char* good : {"a-b.example", "[fe80::1%eth_0]"}) {
      EXPECT_FALSE(absl::IsInvalidArgument(call({.target_address = good, .target_port = 65535})));
    }
    EXPECT_FALSE(absl::IsInvalidArgument(call(address(std::string(255, 'a')))));
  }
}

// RFC 3720, sections 3.2.6.1 and 3.2.6.3, and RFC 3980: names of three kinds (iqn, eui, naa), at
// most 223 bytes, of any script.
TEST_F(BadInputTest, TargetNamesMustFollowRfc3720) {
  const iscsi::TargetPortal portal{.target_address = "10.0.0.5"};
  const Field calls[] = {
      {"ConnectTarget",
       [&](auto& iqn) {
         return iscsi_->ConnectTarget(context_, {.target_portal = portal, .iqn = iqn}).status();
       }},
      {"DisconnectTarget",
       [&](auto& iqn) {
         return iscsi_->DisconnectTarget(context_, {.target_portal = portal, .iqn = iqn}).status();
       }},
      {"GetTargetDisks",
       [&](auto& iqn) {
         return iscsi_->GetTargetDisks(context_, {.target_portal = portal, .iqn = iqn}).status();
       }},
  };
  const std::string longest = "iqn." + std::string(219, 'a');
  for (const auto& [rpc, call] : calls) {
    SCOPED_TRACE(rpc);
    EXPECT_EQ(call(""), InvalidArgumentError("iqn: must not be empty"));
    EXPECT_EQ(call(longest + "a"), InvalidArgumentError("iqn: is longer than 223 bytes"));
    for (const char* bad : {"disk1", "iqn.a b", "iqn.2026-01.example:a/b", "xiqn.a"}) {
      EXPECT_EQ(call(bad),
                InvalidArgumentError(
                    "iqn: is not an iSCSI name such as iqn.2026-01.example.storage:disk1"))
          << bad;
    }
    for (const std::string& good :
         {longest, std::string("naa.52004567BA64678D"), std::string("eui.02004567A425678D"),
          std::string("IQN.2026-01.example:a_b-c"), std::string("iqn.2026-01.example:\u00e4")}) {
      EXPECT_TRUE(absl::IsNotFound(call(good))) << good << call(good);
    }
  }
}

TEST_F(BadInputTest, InvalidCredentialsOfATargetAreRefused) {
  using enum AuthenticationType;
  const std::string secret = "twelve-bytes";
  for (const auto& [username, password] :
       {std::pair<std::string, std::string>("node", ""), {"", secret}, {"node", secret}}) {
    EXPECT_EQ(Connect(kNone, username, password),
              InvalidArgumentError("auth_type: NONE allows no chap_username and chap_secret"));
  }
  EXPECT_TRUE(absl::IsNotFound(Connect(kNone, "", "")));
  const absl::Status length = InvalidArgumentError("chap_secret: must have 12 to 16 bytes");
  for (const AuthenticationType type : {kOneWayChap, kMutualChap}) {
    EXPECT_EQ(Connect(type, "", secret), InvalidArgumentError("chap_username: must not be empty"));
    EXPECT_EQ(Connect(type, std::string(224, 'a'), secret),
              InvalidArgumentError("chap_username: is longer than 223 bytes"));
    for (const size_t size : {0, 11, 17}) {
      EXPECT_EQ(Connect(type, "node", std::string(size, 's')), length) << size;
    }
    EXPECT_EQ(Connect(type, "node", "twelve\nbytes"),
              InvalidArgumentError("chap_secret: holds a control character"));
    for (const size_t size : {12, 16}) {
      EXPECT_TRUE(absl::IsNotFound(Connect(type, std::string(223, 'a'), std::string(size, 's'))));
    }
  }
  for (const size_t size : {0, 11, 17}) {
    EXPECT_EQ(iscsi_->SetMutualChapSecret(context_, {.mutual_chap_secret = std::string(size, 's')})
                  .status(),
              InvalidArgumentError("mutual_chap_secret: must have 12 to 16 bytes"));
  }
}

}  // namespace
}  // namespace csi_proxy::groups
