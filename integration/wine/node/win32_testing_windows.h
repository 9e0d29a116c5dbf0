// The fixture of tests that call Win32 through the product's Os and directly.
#pragma once

#include "server/machine/windows/os_files_windows.h"
// Included separately: the header above undefines names that these must not define again.
#include <memory>
#include <string>
#include <vector>

#include "integration/wine/node/testing_windows.h"
#include "server/base/win32_error.h"
#include "server/machine/os.h"

namespace csi_proxy::node_double {

inline constexpr char kSystemVolume[] = R"(\\?\Volume{00000000-c511-4c0d-9000-000000000001}\)";

class Win32DoubleTest : public NodeTest {
 protected:
  // Opens an entry by its names below the root of a drive or volume; the last one with `access`.
  std::unique_ptr<machine::File> Open(const std::string& root,
                                      const std::vector<std::string>& names,
                                      machine::Access access = machine::Access::kRead) {
    auto file = os_->OpenRoot(root);
    for (size_t i = 0; i < names.size() && file.ok(); ++i) {
      auto next = (*file)->Open(names[i], i + 1 == names.size() ? access : machine::Access::kRead);
      file = std::move(next);
    }
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? *std::move(file) : nullptr;
  }
  static uint32_t ErrorOf(const absl::Status& status) { return Win32CodeOf(status).value_or(0); }

  std::unique_ptr<machine::Os> os_ = machine::NewOs();
};

}  // namespace csi_proxy::node_double
