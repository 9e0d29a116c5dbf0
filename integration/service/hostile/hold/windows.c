// A client of a named pipe with the smallest possible process: sends its standard input and keeps
// the connection until it is killed.
//
//   hold PATH
//
// Prints a line when it is ready for the input, and then the number of connections.
#include <stdio.h>
#include <windows.h>

int main(int argc, char** argv) {
  static char bytes[1 << 16];
  if (argc < 2) return 2;
  puts("ready");
  fflush(stdout);
  const DWORD size = (DWORD)fread(bytes, 1, sizeof(bytes), stdin);
  HANDLE pipe;
  while ((pipe = CreateFileA(argv[1], GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0,
                             NULL)) == INVALID_HANDLE_VALUE &&
         GetLastError() == ERROR_PIPE_BUSY) {
    WaitNamedPipeA(argv[1], 1000);
  }
  DWORD written;
  printf("%d\n", WriteFile(pipe, bytes, size, &written, NULL) ? 1 : 0);
  fflush(stdout);
  Sleep(INFINITE);
}
