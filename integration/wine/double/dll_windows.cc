// The DLL: replaces Windows' COM servers for CLSID_WbemLocator and for the locator of WMI's
// scripting objects. The first activation of WMI in a process creates the simulated node; from then
// on the program's Win32 calls act on the node too.
//
// CSI_PROXY_DOUBLE_SCENARIO names the node's scenario file. If it is unset, the node is the
// built-in one.
#include <cstdio>
#include <memory>
#include <string>

#include "integration/wine/double/admin_pipe_windows.h"
#include "integration/wine/double/hooks_windows.h"
#include "integration/wine/double/scripting_windows.h"
#include "integration/wine/double/simulated_node.h"
#include "integration/wine/double/wmi_calls_windows.h"
#include "server/machine/windows/cim/testing/com_objects_windows.h"

namespace csi_proxy::node_double {
namespace {

std::string ScenarioFile() {
  // The buffer is on the heap because the stacks of Go's threads have 64 KiB.
  std::wstring path(32 * 1024, L'\0');
  const DWORD length =
      GetEnvironmentVariableW(L"CSI_PROXY_DOUBLE_SCENARIO", path.data(), 32 * 1024);
  return win32::Utf8({path.data(), length});
}

absl::Status Begin() {
  // The program's imports point into this DLL, so it must never be unloaded.
  HMODULE self = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                     reinterpret_cast<LPCWSTR>(&ScenarioFile), &self);
  const absl::Status begun = BeginNode(ScenarioFile());
  if (!begun.ok()) {
    std::fprintf(stderr, "the simulated node: %s\n", std::string(begun.message()).c_str());
    return begun;
  }
  ServeAdmin(*TheNode().node);
  ReplaceImports();
  return begun;
}

class Factory final : public cim::Unknown<IClassFactory> {
 public:
  explicit Factory(bool is_scripting) : is_scripting_(is_scripting) {}

  HRESULT STDMETHODCALLTYPE CreateInstance(IUnknown* outer, REFIID iid, void** out) override {
    if (out == nullptr) return E_POINTER;
    *out = nullptr;
    if (outer != nullptr) return CLASS_E_NOAGGREGATION;
    if (is_scripting_) return NewScriptingLocator()->QueryInterface(iid, out);
    return NewLocator(TheNode().wmi.get())->QueryInterface(iid, out);
  }
  HRESULT STDMETHODCALLTYPE LockServer(BOOL) override { return S_OK; }

 private:
  const bool is_scripting_;
};

}  // namespace
}  // namespace csi_proxy::node_double

using csi_proxy::cim::ComPtr;
using csi_proxy::node_double::Factory;

STDAPI DllGetClassObject(REFCLSID clsid, REFIID iid, void** out) {
  if (out == nullptr) return E_POINTER;
  *out = nullptr;
  const bool is_scripting = clsid == csi_proxy::node_double::kScriptingLocatorClass;
  if (clsid != CLSID_WbemLocator && !is_scripting) return CLASS_E_CLASSNOTAVAILABLE;
  static const absl::Status begun = csi_proxy::node_double::Begin();
  if (!begun.ok()) return E_FAIL;
  csi_proxy::node_double::ReplaceImportsOfLibrary();
  return ComPtr<Factory>(new Factory(is_scripting))->QueryInterface(iid, out);
}

// Returns S_OK if every object has been released. The DLL stays loaded all the same.
STDAPI DllCanUnloadNow() { return csi_proxy::cim::objects_alive == 0 ? S_OK : S_FALSE; }
