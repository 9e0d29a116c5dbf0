// A machine that returns constant answers immediately, so that a call over it shows the product's
// own cost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/machine/cim/session.h"
#include "server/machine/layouts.h"
#include "server/machine/os_wrapper_testing.h"
#include "server/names/win32_error.h"
#include "server/simulator/win32/layouts_encode.h"

namespace csi_proxy::integration {

inline absl::Status No() { return Win32Status(win32_error::kNotSupported, "an idle machine"); }

// Returns an error instead of making the call.
struct Refuse {
  template <typename Call>
  auto operator()(Call call) const -> decltype(call()) {
    return No();
  }
};

class IdleFile final : public machine::FileWrapper<Refuse> {
 public:
  IdleFile() : FileWrapper(nullptr) {}

  absl::StatusOr<machine::FileAttributes> GetAttributes() override {
    return machine::FileAttributes{.is_directory = true};
  }
  absl::StatusOr<std::unique_ptr<machine::File>> Open(const std::string&,
                                                      machine::Access) override {
    return std::make_unique<IdleFile>();
  }
  absl::StatusOr<std::unique_ptr<machine::File>> OpenBelow(const std::vector<std::string>&,
                                                           machine::Access) override {
    return std::make_unique<IdleFile>();
  }
};

// Every path is a directory and every disk is online. All other calls fail as not supported.
class IdleOs final : public machine::OsWrapper<Refuse> {
 public:
  IdleOs() : OsWrapper(nullptr) {}

  absl::StatusOr<std::unique_ptr<machine::File>> OpenRoot(const std::string&) override {
    return std::make_unique<IdleFile>();
  }
  absl::StatusOr<machine::Bytes> Control(const std::string&, machine::DeviceAccess, uint32_t code,
                                         const machine::Bytes&, size_t) override {
    if (code != machine::control::kGetDiskAttributes) return No();
    return attributes_;
  }
  uint64_t DeviceChanges() override { return 0; }
  void AwaitDeviceChange(uint64_t, absl::Duration) override {}

 private:
  const machine::Bytes attributes_ = machine::MakeDiskAttributes({});
};

class IdleSession final : public cim::Session {
 public:
  absl::StatusOr<std::vector<cim::Object>> DoQuery(const CallContext&, cim::Namespace,
                                                   const std::string&) override {
    return std::vector<cim::Object>();
  }
  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext&, cim::Namespace, const std::string&,
                                             const std::string&, const cim::Arguments&) override {
    return No();
  }
};

}  // namespace csi_proxy::integration
