// What a machine answers against its own rules makes an operation fail, and never ends the process.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/unicode.h"
#include "server/host/operations_testing.h"
#include "server/machine/little_endian.h"
#include "server/machine/reparse_point.h"
#include "server/machine/simulated/win32/os_double.h"
#include "server/machine/simulated/wmi/session.h"

namespace csi_proxy::host {
namespace {

// The simulated WMI, but one property of one class, or out-parameter of a method, has another
// value, or is not there.
class OddSession final : public machine::simulated::wmi::SimulatedSession {
 public:
  using Property = std::pair<std::string, std::string>;

  // Notes the properties that it gives.
  OddSession(Machine& node, Property odd, std::optional<cim::Value> value,
             std::set<Property>* given)
      : SimulatedSession(node.core()),
        odd_(std::move(odd)),
        value_(std::move(value)),
        given_(*given) {}

  absl::StatusOr<std::vector<cim::Object>> DoQuery(const CallContext& context, cim::Namespace space,
                                                   const std::string& wql) override {
    auto objects = SimulatedSession::DoQuery(context, space, wql);
    if (!objects.ok()) return objects;
    for (cim::Object& object : *objects) object = Changed(object, object.class_name());
    return objects;
  }
  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext& context, cim::Namespace space,
                                             const std::string& path, const std::string& method,
                                             const cim::Arguments& arguments) override {
    auto result = SimulatedSession::DoInvoke(context, space, path, method, arguments);
    if (result.ok()) result->out = Changed(result->out, method);
    return result;
  }

 private:
  cim::Object Changed(const cim::Object& object, const std::string& of) {
    cim::Properties properties;
    for (const auto& [name, value] : object.properties()) {
      given_.emplace(of, name);
      if (Property(of, name) != odd_) {
        properties[name] = value;
      } else if (value_.has_value()) {
        properties[name] = *value_;
      }
    }
    return cim::Object(object.class_name(), object.path(), std::move(properties));
  }

  const Property odd_;
  const std::optional<cim::Value> value_;
  std::set<Property>& given_;
};

TEST(OddAnswersTest, NoValueOfWmiEndsTheProcess) {
  const NodeState prepared = PreparedNode();
  const std::optional<cim::Value> odd_values[] = {
      std::nullopt,
      cim::Value(),
      cim::Value::String("odd"),
      cim::Value::Uint32(4711),
      cim::Value::Boolean(true),
      cim::Value::Array(cim::Type::kUint32, {cim::Value::Uint32(7)})};
  // What an operation does with this value in the property's place.
  const auto run = [&](const Operation& operation, const OddSession::Property& property,
                       const std::optional<cim::Value>& value,
                       std::set<OddSession::Property>* given) {
    const std::unique_ptr<Machine> node = *Machine::Create(prepared);
    return operation.run(*NewHost(std::make_unique<OddSession>(*node, property, value, given),
                                  machine::simulated::NewSimulatedOs(node->core())),
                         CallContext().WithTimeout(absl::Milliseconds(200)));
  };
  int failures = 0;
  for (const Operation& operation : HostOperations()) {
    std::set<OddSession::Property> given;
    EXPECT_THAT(run(operation, {}, {}, &given), IsOk()) << operation.name;
    const std::set<OddSession::Property> properties = given;
    for (const OddSession::Property& property : properties) {
      for (const std::optional<cim::Value>& value : odd_values) {
        SCOPED_TRACE(absl::StrCat(operation.name, ", ", property.first, ".", property.second, ", ",
                                  value.has_value() ? value->DebugString() : "no such property"));
        const absl::Status status = run(operation, property, value, &given);
        if (status.ok()) continue;
        ++failures;
        EXPECT_FALSE(status.message().empty());
      }
    }
  }
  EXPECT_GT(failures, 50);
}

// Of these kinds, none holds a volume that anybody mounts
// (learn.microsoft.com/windows-hardware/drivers/storage/msft-partition, GptType).
TEST(OddAnswersTest, PartitionsOfTheSystemHoldNoData) {
  std::set<OddSession::Property> given;
  const auto is_basic = [&](const char* type) {
    const std::unique_ptr<Machine> node = *Machine::Create(PreparedNode());
    const auto layout = NewHost(std::make_unique<OddSession>(
                                    *node, OddSession::Property("MSFT_Partition", "GptType"),
                                    cim::Value::String(type), &given),
                                machine::simulated::NewSimulatedOs(node->core()))
                            ->disk()
                            .GetLayout(CallContext(), 2);
    EXPECT_THAT(layout, IsOk());
    return layout.ok() && layout->partitions.back().is_basic;
  };
  EXPECT_TRUE(is_basic("{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}"));
  for (const char* type :
       {"{E3C9E316-0B5C-4DB8-817D-F92DF00215AE}", "{c12a7328-f81f-11d2-ba4b-00a0c93ec93b}",
        "{de94bba4-06d1-4d40-a16a-bfd50179d6ac}", "{5808c8aa-7e8f-42e0-85d2-e1e90434cfb3}",
        "{af9b60a0-1431-4f62-bc68-3311714a69ad}"}) {
    EXPECT_FALSE(is_basic(type)) << type;
  }
}

// A file of the simulated Win32, but every reparse point below it has other bytes.
class OddFile final : public machine::File {
 public:
  OddFile(std::unique_ptr<machine::File> file, machine::Bytes link)
      : file_(std::move(file)), link_(std::move(link)) {}

  absl::StatusOr<std::unique_ptr<machine::File>> Open(const std::string& name,
                                                      machine::Access access) override {
    auto file = file_->Open(name, access);
    if (file.ok()) *file = std::make_unique<OddFile>(*std::move(file), link_);
    return file;
  }
  absl::StatusOr<machine::Bytes> ReadReparsePoint() override {
    const absl::Status read = file_->ReadReparsePoint().status();
    if (!read.ok()) return read;
    return link_;
  }

  absl::StatusOr<machine::FileAttributes> GetAttributes() override {
    return file_->GetAttributes();
  }
  absl::StatusOr<std::unique_ptr<machine::File>> CreateDirectory(const std::string& name) override {
    return file_->CreateDirectory(name);
  }
  absl::StatusOr<std::vector<std::string>> List() override { return file_->List(); }
  absl::Status Delete() override { return file_->Delete(); }
  absl::Status WriteReparsePoint(const machine::Bytes& data) override {
    return file_->WriteReparsePoint(data);
  }
  absl::Status DeleteReparsePoint(uint32_t tag) override { return file_->DeleteReparsePoint(tag); }

 private:
  const std::unique_ptr<machine::File> file_;
  const machine::Bytes link_;
};

// The simulated Win32, but one answer of a device, or the table of the firmware, has other bytes.
class OddOs final : public machine::Os {
 public:
  // It is the answer after so many others.
  OddOs(Machine& node, int others, machine::Bytes odd)
      : os_(machine::simulated::NewSimulatedOs(node.core())),
        others_(others),
        odd_(std::move(odd)) {}
  // All reparse points have these bytes.
  OddOs(Machine& node, machine::Bytes link) : OddOs(node, -1, {}) { link_ = std::move(link); }
  bool answered() const { return others_ < 0; }

  absl::StatusOr<machine::Bytes> Control(const std::string& device, machine::DeviceAccess access,
                                         uint32_t code, const machine::Bytes& input,
                                         size_t max_output) override {
    return Changed(os_->Control(device, access, code, input, max_output));
  }
  absl::StatusOr<machine::Bytes> GetSmbiosTable() override {
    return Changed(os_->GetSmbiosTable());
  }

  absl::StatusOr<std::unique_ptr<machine::File>> OpenRoot(const std::string& root) override {
    auto file = os_->OpenRoot(root);
    if (file.ok() && !link_.empty()) *file = std::make_unique<OddFile>(*std::move(file), link_);
    return file;
  }
  absl::Status Reach(const std::string& path) override { return os_->Reach(path); }
  absl::StatusOr<std::vector<std::string>> ListVolumes() override { return os_->ListVolumes(); }
  absl::StatusOr<std::string> GetVolumeOfDrive(char drive) override {
    return os_->GetVolumeOfDrive(drive);
  }
  absl::StatusOr<std::string> GetFileSystem(const std::string& volume) override {
    return os_->GetFileSystem(volume);
  }
  absl::StatusOr<machine::VolumeSpace> GetSpace(const std::string& volume) override {
    return os_->GetSpace(volume);
  }
  absl::Status Flush(const std::string& volume) override { return os_->Flush(volume); }
  absl::Status SetMountPoint(const std::string& directory, const std::string& volume) override {
    return os_->SetMountPoint(directory, volume);
  }
  absl::Status DeleteMountPoint(const std::string& directory) override {
    return os_->DeleteMountPoint(directory);
  }
  absl::StatusOr<machine::ServiceInfo> GetService(const std::string& name) override {
    return os_->GetService(name);
  }
  absl::StatusOr<std::vector<std::string>> ListActiveDependents(const std::string& name) override {
    return os_->ListActiveDependents(name);
  }
  absl::Status StartService(const std::string& name) override { return os_->StartService(name); }
  absl::Status StopService(const std::string& name) override { return os_->StopService(name); }

 private:
  absl::StatusOr<machine::Bytes> Changed(absl::StatusOr<machine::Bytes> bytes) {
    return bytes.ok() && others_-- == 0 ? odd_ : bytes;
  }

  const std::unique_ptr<machine::Os> os_;
  int others_;
  const machine::Bytes odd_;
  machine::Bytes link_;
};

// Bytes that are none of what was asked for: the operation fails, or does without.
TEST(OddAnswersTest, NoAnswerOfADeviceEndsTheProcess) {
  const std::set<std::string> without = {"identities",       "make writable", "online",
                                         "promised volumes", "supported",     "volumes",
                                         "volumes of 1",     "writable"};
  const NodeState prepared = PreparedNode();
  for (const Operation& operation : HostOperations()) {
    for (const machine::Bytes& odd : {machine::Bytes(), machine::Bytes(3, 0xFF)}) {
      for (int others = 0;; ++others) {
        SCOPED_TRACE(absl::StrCat(operation.name, ", ", odd.size(), " bytes after ", others));
        const std::unique_ptr<Machine> node = *Machine::Create(prepared);
        auto os = std::make_unique<OddOs>(*node, others, odd);
        const OddOs& asked = *os;
        const std::unique_ptr<Host> host =
            NewHost(machine::simulated::wmi::NewSimulatedSession(node->core()), std::move(os));
        const absl::Status status =
            operation.run(*host, CallContext().WithTimeout(absl::Seconds(5)));
        if (!asked.answered()) {
          EXPECT_THAT(status, IsOk());
          break;
        }
        EXPECT_TRUE(!status.ok() || without.contains(operation.name));
      }
    }
  }
}

// A symbolic link as others may have made it, of any text.
machine::Bytes SymlinkTo(absl::string_view target) {
  const std::vector<uint8_t> name = ToUtf16Le(target);
  const auto size = static_cast<uint16_t>(name.size());
  machine::Bytes data;
  machine::AppendLittleEndian(machine::kReparseTagSymlink, &data);
  machine::AppendLittleEndian(static_cast<uint16_t>(size + 12), &data);
  for (const uint16_t number : {0, 0, int{size}, int{size}, 0, 0, 0}) {
    machine::AppendLittleEndian(number, &data);
  }
  data.insert(data.end(), name.begin(), name.end());
  return data;
}

// Neither a path of a drive nor one of a server: nobody follows it, on either side of the roots.
TEST(OddAnswersTest, LinksToDevicesLeadNowhere) {
  const NodeState prepared = PreparedNode();
  for (const char* target :
       {R"(\??\GLOBALROOT\Device\HarddiskVolume1\Windows)", R"(\??\C:\Windows:stream)",
        R"(\??\C:\var\..\Windows)", R"(\??\PhysicalDrive0)", R"(\Device\Harddisk0\Partition1)"}) {
    SCOPED_TRACE(target);
    const std::unique_ptr<Machine> node = *Machine::Create(prepared);
    const std::unique_ptr<Host> host =
        NewHost(machine::simulated::wmi::NewSimulatedSession(node->core()),
                std::make_unique<OddOs>(*node, SymlinkTo(target)));
    EXPECT_THAT(host->filesystem().Exists(CallContext(), Kubelet("link\\p1")),
                FailsWith(kDenied, "the link C:\\var\\lib\\kubelet\\link leads to "));
    const ConfinedPath below_a_link = {Path(R"(C:\var\lib\kubelet\link\p1)"),
                                       std::make_shared<PathRoots>(std::vector<WindowsPath>{
                                           Path(R"(C:\var\lib\kubelet\link\p1)")})};
    EXPECT_THAT(host->filesystem().Exists(CallContext(), below_a_link),
                FailsWith(kPrecondition, "the link C:\\var\\lib\\kubelet\\link leads to "));
  }
}

}  // namespace
}  // namespace csi_proxy::host
