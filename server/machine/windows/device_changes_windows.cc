#include "server/machine/windows/device_changes_windows.h"

#include <windows.h>

#include <algorithm>

#include "csi_proxy/steady_time.h"

namespace csi_proxy::machine {
namespace {

// GUID_DEVINTERFACE_DISK and GUID_DEVINTERFACE_VOLUME
// (learn.microsoft.com/windows-hardware/drivers/install/guid-devinterface-disk and
// .../guid-devinterface-volume).
constexpr GUID kInterfaces[] = {
    {0x53F56307, 0xB6BF, 0x11D0, {0x94, 0xF2, 0x00, 0xA0, 0xC9, 0x1E, 0xFB, 0x8B}},
    {0x53F5630D, 0xB6BF, 0x11D0, {0x94, 0xF2, 0x00, 0xA0, 0xC9, 0x1E, 0xFB, 0x8B}},
};

// CM_NOTIFY_FILTER, which MinGW's headers lack
// (learn.microsoft.com/windows/win32/api/cfgmgr32/ns-cfgmgr32-cm_notify_filter).
struct NotifyFilter {
  DWORD size = sizeof(NotifyFilter);
  DWORD flags = 0;
  DWORD type = 0;  // CM_NOTIFY_FILTER_TYPE_DEVICEINTERFACE
  DWORD reserved = 0;
  union {
    GUID interface_class;
    HANDLE target;
    WCHAR instance_id[200];  // MAX_DEVICE_ID_LEN
  } u = {};
};
static_assert(sizeof(NotifyFilter) == 416);

// CM_NOTIFY_CALLBACK. `action` is ignored, because arrivals and departures have one effect.
using Callback = DWORD(CALLBACK*)(void* registration, void* context, int action, void* data,
                                  DWORD size);
using RegisterFunction = DWORD(WINAPI*)(NotifyFilter*, void* context, Callback,
                                        void** registration);
using UnregisterFunction = DWORD(WINAPI*)(void* registration);

// Returns a function of cfgmgr32.dll, or null if the DLL lacks it, as before Windows 8 and Wine 9.
FARPROC Find(const char* name) {
  static const HMODULE module =
      LoadLibraryExW(L"cfgmgr32.dll", nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
  return module != nullptr ? GetProcAddress(module, name) : nullptr;
}

DWORD CALLBACK Notified(void*, void* context, int, void*, DWORD) {
  static_cast<DeviceChanges*>(context)->Announce();
  return ERROR_SUCCESS;
}

}  // namespace

DeviceChanges::~DeviceChanges() {
  const auto unregister = reinterpret_cast<UnregisterFunction>(
      reinterpret_cast<void*>(Find("CM_Unregister_Notification")));
  // CM_Unregister_Notification returns once no notification runs
  // (learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_unregister_notification).
  for (void* const registration : registrations_) unregister(registration);
}

uint64_t DeviceChanges::Count() {
  const MutexLock lock(mutex_);
  if (!registered_) Register();
  return count_;
}

void DeviceChanges::Await(uint64_t seen, absl::Duration limit) {
  const SteadyTime until = SteadyTime::Now() + limit;
  const MutexLock lock(mutex_);
  while (count_ == seen && changed_.WaitUntil(mutex_, until)) {
  }
}

void DeviceChanges::Announce() {
  {
    const MutexLock lock(mutex_);
    ++count_;
  }
  changed_.NotifyAll();
}

void DeviceChanges::Register() {
  registered_ = true;
  const auto register_one =
      reinterpret_cast<RegisterFunction>(reinterpret_cast<void*>(Find("CM_Register_Notification")));
  if (register_one == nullptr) return;
  for (const GUID& interface_class : kInterfaces) {
    NotifyFilter filter;
    filter.u.interface_class = interface_class;
    void* registration = nullptr;
    constexpr DWORD kSuccess = 0;  // CR_SUCCESS
    if (register_one(&filter, this, &Notified, &registration) == kSuccess) {
      registrations_.push_back(registration);
    }
  }
}

}  // namespace csi_proxy::machine
