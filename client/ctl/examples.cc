#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/ctl/commands.h"
#include "client/ctl/request.h"

namespace csi_proxy::ctl {
namespace {

// A flag's value in examples of one method, or of all methods if `method` is empty. A flag without
// a row is left out; nullptr means a boolean flag without a value.
struct Value {
  absl::string_view method, flag;
  const char* value;
};

// Rows for one method come before rows for all. Examples read secrets from standard input.
constexpr Value kValues[] = {
    {"AttachDisk", "choose-number", nullptr},
    {"AttachDisk", "disk.size-bytes", "10737418240"},
    {"CreateSymlink", "target-path", R"(C:\var\lib\kubelet\pods\example)"},
    {"LinkPath", "target-path", R"(C:\var\lib\kubelet\pods\example)"},
    {"GrowDisk", "size-bytes", "21474836480"},
    {"InjectFault", "fault.operation", "volume.MountVolume"},
    {"InjectFault", "fault.code", "INTERNAL"},
    {"InjectFault", "fault.times", "1"},
    {"MakeLink", "target", R"(C:\var\lib\kubelet\plugins\example)"},
    {"RemoveMount", "target", R"(C:\var\lib\kubelet\plugins\gone)"},
    {"ResizeVolume", "size-bytes", "0"},
    {"ResizeVolume", "size", "0"},
    {"SetDiskReadOnly", "read-only", nullptr},
    {"SetDiskState", "is-online", nullptr},
    {"SetAttachState", "is-online", nullptr},
    {"SetServerReachable", "reachable", "false"},
    {"SetServerReachable", "server", "fileserver.example"},
    {"StageTarget", "lun-id", "0"},
    {"StageTarget", "portals", "10.0.0.5"},
    {"StageVolume", "disk.number", "1"},
    {"WriteFile", "path", R"(C:\var\lib\kubelet\plugins\example\file)"},
    {"WriteFile", "size-bytes", "1024"},
    {"AddShare", "share", "archive"},
    {"", "disk-id", "1"},
    {"", "disk-name", "60022480a1b2c3d4e5f60718293a4b5c"},
    {"", "disk-number", "1"},
    {"", "iqn", "iqn.2026-01.example.storage:open"},
    {"", "mount", R"(C:\var\lib\kubelet\plugins\example)"},
    {"", "mutual-chap-secret", "-"},
    {"", "name", "MSiSCSI"},
    {"", "password", "-"},
    {"", "path", R"(C:\var\lib\kubelet\plugins\example)"},
    {"", "remote-path", R"(\\fileserver.example\data)"},
    {"", "server", "fileserver.example"},
    {"", "share", R"(\\fileserver.example\data)"},
    {"", "source-path", R"(C:\var\lib\kubelet\plugins\example)"},
    {"", "target-path", R"(C:\var\lib\kubelet\plugins\example)"},
    {"", "target-portal.target-address", "10.0.0.5"},
    {"", "user", R"(EXAMPLE\storage)"},
    {"", "username", R"(EXAMPLE\storage)"},
    {"ListVolumeHealth", "volume-ids", R"(\\?\Volume{b20fed54-efe4-eecf-91b0-8bf688463d11}\)"},
    {"", "volume-id", R"(\\?\Volume{b20fed54-efe4-eecf-91b0-8bf688463d11}\)"},
};

std::string Quoted(absl::string_view value) {
  const bool is_plain = std::all_of(value.begin(), value.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::string_view("-_./:").find(c) != absl::string_view::npos;
  });
  return is_plain ? std::string(value) : absl::StrCat("'", value, "'");
}

}  // namespace

std::string ExampleOf(const Catalog& catalog, const Method& method) {
  const absl::string_view name = method.descriptor->name();
  std::string line = absl::StrCat("csi-proxyctl ", method.group, " ", KebabCase(name));
  const auto preferred = catalog.Find(method.group, name, "");
  if (preferred.ok() && preferred->version != method.version) {
    absl::StrAppend(&line, " --api=", method.version);
  }
  for (const FieldFlag& field : FieldsAsFlags(*method.descriptor->input_type())) {
    const std::string flag = field.flag.substr(2, field.flag.find('=') - 2);
    const auto* const found =
        std::find_if(std::begin(kValues), std::end(kValues), [&](const Value& value) {
          return value.flag == flag && (value.method.empty() || value.method == name);
        });
    if (found == std::end(kValues)) continue;
    absl::StrAppend(&line, " --", flag);
    if (found->value != nullptr) absl::StrAppend(&line, "=", Quoted(found->value));
  }
  return line;
}

}  // namespace csi_proxy::ctl
