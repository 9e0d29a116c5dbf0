#include "server/simulator/wmi/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/simulator/storage.h"
#include "server/simulator/wmi/instances.h"
#include "server/simulator/wmi/methods.h"
#include "server/simulator/wmi/testing.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using testing::UnorderedElementsAre;
using enum cim::Namespace;

TEST(SchemaTest, NamesAreFoundInAnyCase) {
  const Class* disk = FindClass(kStorage, "msft_DISK");
  ASSERT_NE(disk, nullptr);
  EXPECT_STREQ(disk->name, "MSFT_Disk");
  EXPECT_STREQ(disk->FindProperty("ISOFFLINE")->name, "IsOffline");
  EXPECT_STREQ(disk->FindMethod("initialize")->FindIn("partitionstyle")->name, "PartitionStyle");
}

TEST(SchemaTest, UnknownNamesAreNotFound) {
  EXPECT_EQ(FindClass(kStorage, "MSFT_Disks"), nullptr);
  EXPECT_EQ(FindClass(kStorage, ""), nullptr);
  // The SMB classes are in another namespace.
  EXPECT_EQ(FindClass(kSmb, "MSFT_Disk"), nullptr);
  EXPECT_EQ(FindClass(kStorage, "MSFT_SmbGlobalMapping"), nullptr);
  const Class* disk = FindClass(kStorage, "MSFT_Disk");
  EXPECT_EQ(disk->FindProperty("DiskNumber"), nullptr);
  EXPECT_EQ(disk->FindMethod("Format"), nullptr);
  // Out parameters cannot be passed in.
  EXPECT_EQ(disk->FindMethod("Online")->FindIn("ExtendedStatus"), nullptr);
}

TEST(SchemaTest, TheNameOfAnAbstractClassFindsItsSubclass) {
  EXPECT_EQ(FindClass(kCimV2, "CIM_BIOSElement"), FindClass(kCimV2, "Win32_BIOS"));
  EXPECT_EQ(FindClass(kStorage, "CIM_BIOSElement"), nullptr);
}

TEST(SchemaTest, StaticMethodsMatchTheDocumentation) {
  std::vector<std::string> names;
  for (const Class& of : Classes()) {
    for (const Method& method : of.methods) {
      if (method.is_static) names.push_back(absl::StrCat(of.name, ".", method.name));
    }
  }
  EXPECT_THAT(names, UnorderedElementsAre("MSFT_StorageSetting.UpdateHostStorageCache",
                                          "MSFT_StorageSetting.Get", "MSFT_StorageSetting.Set",
                                          "MSFT_iSCSITargetPortal.New", "MSFT_iSCSITarget.Connect",
                                          "MSFT_iSCSISession.SetCHAPSecret",
                                          "MSFT_SmbGlobalMapping.Create"));
}

TEST(SchemaTest, RequiredParametersMatchTheDocumentation) {
  std::vector<std::string> names;
  for (const Class& of : Classes()) {
    for (const Method& method : of.methods) {
      for (const Parameter& parameter : method.parameters) {
        if (!parameter.is_required) continue;
        names.push_back(absl::StrCat(of.name, ".", method.name, ".", parameter.name));
      }
    }
  }
  EXPECT_THAT(names, UnorderedElementsAre("MSFT_Partition.Resize.Size",
                                          "MSFT_Partition.RemoveAccessPath.AccessPath",
                                          "MSFT_iSCSISession.SetCHAPSecret.ChapSecret",
                                          "MSFT_SmbGlobalMapping.Create.RemotePath",
                                          "MSFT_SmbGlobalMapping.Remove.Force"));
}

TEST(SchemaTest, KeysMatchTheDocumentation) {
  const auto keys = [](const char* name, cim::Namespace space = kStorage) {
    std::vector<std::string> names;
    for (const Property& property : FindClass(space, name)->properties) {
      if (property.is_key) names.push_back(property.name);
    }
    return names;
  };
  EXPECT_THAT(keys("MSFT_Disk"), UnorderedElementsAre("ObjectId"));
  EXPECT_THAT(keys("MSFT_Partition"), UnorderedElementsAre("ObjectId"));
  EXPECT_THAT(keys("MSFT_Volume"), UnorderedElementsAre("ObjectId"));
  EXPECT_THAT(keys("MSFT_StorageSetting"), UnorderedElementsAre());
  EXPECT_THAT(keys("MSFT_iSCSITargetPortal"), UnorderedElementsAre("TargetPortalAddress"));
  EXPECT_THAT(keys("MSFT_iSCSITarget"), UnorderedElementsAre("NodeAddress"));
  EXPECT_THAT(keys("MSFT_iSCSISession"), UnorderedElementsAre("SessionIdentifier"));
  EXPECT_THAT(keys("MSFT_iSCSIConnection"), UnorderedElementsAre("ConnectionIdentifier"));
  EXPECT_THAT(keys("MSFT_PartitionToVolume"), UnorderedElementsAre("Partition", "Volume"));
}

TEST(SchemaTest, RolesAndResourcesNameExistingProperties) {
  for (const Class& of : Classes()) {
    for (const Property& property : of.properties) {
      EXPECT_EQ(property.type == cim::Type::kReference, *property.class_name != '\0');
      if (*property.class_name == '\0') continue;
      EXPECT_NE(FindClass(of.space, property.class_name), nullptr) << of.name;
    }
    for (const char* resource : of.resource) {
      EXPECT_NE(of.FindProperty(resource), nullptr) << of.name << "." << resource;
    }
  }
}

TEST(SchemaTest, EachImplementationBelongsToAMethodOfTheSchema) {
  std::set<std::string> seen;
  for (const auto methods : {StorageMethods(), SmbMethods(), IscsiMethods(), ServiceMethods()}) {
    for (const Implementation& one : methods) {
      const cim::Namespace space = absl::StartsWith(one.class_name, "MSFT_Smb") ? kSmb
                                   : absl::StartsWith(one.class_name, "Win32_") ? kCimV2
                                                                                : kStorage;
      const Class* of = FindClass(space, one.class_name);
      ASSERT_NE(of, nullptr) << one.class_name;
      ASSERT_NE(of->FindMethod(one.method), nullptr) << one.method;
      EXPECT_STREQ(of->FindMethod(one.method)->name, one.method);
      EXPECT_TRUE(seen.insert(InvokeOperation(*of, *of->FindMethod(one.method))).second);
    }
  }
  EXPECT_EQ(seen.size(), 25U);
}

}  // namespace
namespace {

using testing::ElementsAre;

constexpr char kServers[] = R"(
  disk {
    number: 4 size_bytes: 1073741824 style: MBR location: "Integrated : Adapter 1"
    page83: "60022480A1B2C3D4E5F60718293A4B5C"
    partition { size_bytes: 104857600 volume { file_system: "FAT32" drive_letter: "E" } }
  }
  smb_server { name: "files" user { name: "u" password: "p" } share { name: "data" }
               share { name: "more" } share { name: "idle" } }
  smb_mapping { remote_path: "\\\\files\\data" username: "u" }
  smb_mapping { remote_path: "\\\\files\\more" username: "u" broken: true }
  smb_mapping { remote_path: "\\\\files\\idle" username: "u" idle: true }
  iscsi_portal {
    address: "10.0.0.5" registered: true
    target { iqn: "iqn.a" connected: true persistent: true disk { number: 10 size_bytes: 1048576 } }
    target { iqn: "iqn.b" disk { number: 11 size_bytes: 1048576 } }
  }
  iscsi_portal { address: "10.0.0.6" target { iqn: "iqn.c" } }
)";

class InstancesTest : public WmiTest {
 protected:
  InstancesTest() : WmiTest(kServers) {}
};

// Instances() must return every wanted instance, and must leave out all other instances of a class
// that may have many.
TEST_F(InstancesTest, InstancesReturnsOnlyTheWantedObjectsOfALargeClass) {
  node_->core()->Change([](NodeState& state) {
    size_t narrowed = 0;
    for (const Class& of : Classes()) {
      const std::vector<cim::Object> all = Instances(state, of);
      for (const cim::Object& object : all) {
        const absl::StatusOr<ObjectPath> path = ParsePath(of.space, object.path());
        ASSERT_THAT(path, IsOk()) << object.path();
        const absl::StatusOr<cim::Object> found = FindInstance(state, *path);
        ASSERT_THAT(found, IsOk()) << object.path();
        EXPECT_EQ(found->path(), object.path());
        if (Instances(state, of, path->keys).size() < all.size()) ++narrowed;
        // A query for any property finds the object.
        for (const auto& [name, value] : object.properties()) {
          if (value.is_null()) continue;
          EXPECT_THAT(Instances(state, of, {{name, value}}), testing::Contains(object))
              << of.name << "." << name;
        }
      }
    }
    // The numbers of disks, partitions, volumes and mappings that WMI shows.
    EXPECT_EQ(narrowed, 6u + 5u + 3u + 3u);
  });
  const auto count = [&](const char* of, const char* property, const Value& value,
                         cim::Namespace space = kStorage) {
    return node_->core()->Change([&](NodeState& state) {
      return Instances(state, *FindClass(space, of), {{property, value}}).size();
    });
  };
  EXPECT_EQ(count("MSFT_Disk", "Number", Value::Uint32(2)), 1u);
  EXPECT_EQ(count("MSFT_Disk", "Number", Value::Uint32(99)), 0u);
  EXPECT_EQ(count("MSFT_Partition", "DiskNumber", Value::Uint32(0)), 3u);
  EXPECT_EQ(count("MSFT_Volume", "UniqueId", Value::String(TestVolume(2).ToString())), 1u);
  EXPECT_EQ(count("MSFT_SmbGlobalMapping", "RemotePath", Value::String("\\\\FILES\\More"), kSmb),
            1u);
}

std::vector<std::string> Texts(const std::vector<cim::Object>& objects, const char* property) {
  std::vector<std::string> texts;
  for (const cim::Object& object : objects) texts.push_back(*object.GetString(property));
  return texts;
}

TEST_F(InstancesTest, EveryObjectHasThePropertiesOfItsClass) {
  size_t seen = 0;
  for (const Class& of : Classes()) {
    const auto objects = All(Query(of.name), of.space);
    ASSERT_THAT(objects, IsOk()) << of.name;
    for (const cim::Object& object : *objects) {
      ++seen;
      EXPECT_EQ(object.class_name(), of.name);
      EXPECT_EQ(object.properties().size(), of.properties.size()) << of.name;
      for (const Property& property : of.properties) {
        const auto value = object.Get(property.name);
        ASSERT_THAT(value, IsOk());
        EXPECT_EQ(value->type(), property.type) << of.name << "." << property.name;
        EXPECT_EQ(value->is_array(), property.is_array) << of.name << "." << property.name;
        EXPECT_FALSE(property.is_key && value->is_null()) << of.name << "." << property.name;
      }
      // The path must find the object, unless several share the path.
      EXPECT_THAT(session_->Get(context_, of.space, object.path()), Yields(object));
    }
  }
  EXPECT_GT(seen, 25U);
}

TEST_F(InstancesTest, ObjectPathsAreEscaped) {
  EXPECT_EQ(Volume(TestVolume(2)).path(),
            R"(MSFT_Volume.ObjectId="{1}\\\\NODE\\root/Microsoft/Windows/Storage/Providers_v2\\)"
            R"(WSP_Volume.ObjectId=\"{0c5a3f7e-2b61-11ee-a1f4-806e6f6e6963}:VO:)"
            R"(\\\\?\\Volume{00000000-0000-0000-0000-000000000002}\\\"")");
}

TEST_F(InstancesTest, PortalsWithOneAddressHaveTheSamePath) {
  node_->core()->Change([](NodeState& state) {
    state.iscsi_portals[1].portal = {"10.0.0.5", 3261};
    state.iscsi_portals[1].registered = true;
  });
  const cim::Object second =
      One(Query("MSFT_iSCSITargetPortal").Where("TargetPortalPortNumber", Value::Uint16(3261)));
  EXPECT_THAT(session_->Get(context_, kStorage, second.path())->GetUint32("TargetPortalPortNumber"),
              Yields(3260U));
  const auto targets =
      session_->Associators(context_, kStorage, second.path(),
                            {"MSFT_iSCSITargetToiSCSITargetPortal", "MSFT_iSCSITarget",
                             "iSCSITarget", "iSCSITargetPortal"});
  EXPECT_THAT(Texts(*targets, "NodeAddress"), ElementsAre("iqn.a", "iqn.b", "iqn.c"));
}

}  // namespace

}  // namespace csi_proxy::machine::simulator::wmi
