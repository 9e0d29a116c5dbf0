/* Lives for two hours. While one program runs, Wine keeps its services. */
#include <windows.h>

int main(void) {
  Sleep(2 * 60 * 60 * 1000);
  return 0;
}
