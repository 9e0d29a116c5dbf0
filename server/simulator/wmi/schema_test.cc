#include "server/simulator/wmi/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/simulator/wmi/methods.h"

namespace csi_proxy::machine::simulator::wmi {
namespace {

using testing::UnorderedElementsAre;
using enum cim::Namespace;

TEST(SchemaTest, NamesHaveNoCase) {
  const Class* disk = FindClass(kStorage, "msft_DISK");
  ASSERT_NE(disk, nullptr);
  EXPECT_STREQ(disk->name, "MSFT_Disk");
  EXPECT_STREQ(disk->FindProperty("ISOFFLINE")->name, "IsOffline");
  EXPECT_STREQ(disk->FindMethod("initialize")->FindIn("partitionstyle")->name, "PartitionStyle");
}

TEST(SchemaTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(FindClass(kStorage, "MSFT_Disks"), nullptr);
  EXPECT_EQ(FindClass(kStorage, ""), nullptr);
  // The SMB and iSCSI classes are in other namespaces.
  EXPECT_EQ(FindClass(kSmb, "MSFT_Disk"), nullptr);
  EXPECT_EQ(FindClass(kStorage, "MSFT_SmbGlobalMapping"), nullptr);
  const Class* disk = FindClass(kStorage, "MSFT_Disk");
  EXPECT_EQ(disk->FindProperty("DiskNumber"), nullptr);
  EXPECT_EQ(disk->FindMethod("Format"), nullptr);
  // Out parameters cannot be passed in.
  EXPECT_EQ(disk->FindMethod("Online")->FindIn("ExtendedStatus"), nullptr);
}

TEST(SchemaTest, InstancesAreFoundByTheAbstractClassToo) {
  EXPECT_EQ(FindClass(kCimV2, "CIM_BIOSElement"), FindClass(kCimV2, "Win32_BIOS"));
  EXPECT_EQ(FindClass(kStorage, "CIM_BIOSElement"), nullptr);
}

TEST(SchemaTest, StaticMethods) {
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

TEST(SchemaTest, RequiredParameters) {
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

TEST(SchemaTest, Keys) {
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

TEST(SchemaTest, RolesAndResourcesAreThere) {
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

TEST(SchemaTest, ImplementationsAreOfMethodsThereAre) {
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
}  // namespace csi_proxy::machine::simulator::wmi
