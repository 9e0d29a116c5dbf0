// A service that runs, serves nothing and never completes a stop.
#include <windows.h>

namespace {

SERVICE_STATUS_HANDLE handle;
HANDLE stop;

void Report(DWORD state) {
  SERVICE_STATUS status{};
  status.dwServiceType = SERVICE_WIN32_OWN_PROCESS;
  status.dwCurrentState = state;
  status.dwControlsAccepted = state == SERVICE_RUNNING ? SERVICE_ACCEPT_STOP : 0;
  SetServiceStatus(handle, &status);
}

DWORD WINAPI OnControl(DWORD control, DWORD, void*, void*) {
  if (control == SERVICE_CONTROL_STOP) Report(SERVICE_STOP_PENDING);
  return NO_ERROR;
}

void WINAPI Main(DWORD, wchar_t** arguments) {
  handle = RegisterServiceCtrlHandlerExW(arguments[0], &OnControl, nullptr);
  Report(SERVICE_RUNNING);
  WaitForSingleObject(stop, INFINITE);
}

}  // namespace

int main() {
  stop = CreateEventW(nullptr, TRUE, FALSE, nullptr);
  wchar_t name[] = L"";
  const SERVICE_TABLE_ENTRYW table[] = {{name, &Main}, {nullptr, nullptr}};
  return StartServiceCtrlDispatcherW(table) ? 0 : 1;
}
