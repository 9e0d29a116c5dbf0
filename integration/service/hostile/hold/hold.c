// A client of a socket with the smallest possible process.
//
//   hold PATH dial COUNT  sends its standard input on COUNT connections and keeps them until it is
//                         killed or its parent ends
//   hold PATH pass COUNT  does the same, but each connection is dialled by a child process that
//                         passes the connection on and exits
//
// Prints a line when it is ready for the input, and then the number of connections.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int Dial(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  return connect(fd, (struct sockaddr*)&address, sizeof(address)) == 0 ? fd : -1;
}

// Sends `fd` over the socket `over`; if `fd` is negative, receives a descriptor and returns it.
static int Pass(int over, int fd) {
  char one = 0;
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr header;
  } control = {{0}};
  struct iovec data = {.iov_base = &one, .iov_len = 1};
  struct msghdr message = {.msg_iov = &data,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof(control)};
  if (fd < 0) {
    const struct cmsghdr* const received =
        recvmsg(over, &message, 0) == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (received != NULL) memcpy(&fd, CMSG_DATA(received), sizeof(fd));
    return fd;
  }
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
  return sendmsg(over, &message, 0) == 1 ? fd : -1;
}

static int DialFromChild(const char* path) {
  int over[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, over) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const int fd = Dial(path);
    _exit(fd >= 0 && Pass(over[1], fd) >= 0 ? 0 : 1);
  }
  close(over[1]);
  const int fd = child > 0 ? Pass(over[0], -1) : -1;
  close(over[0]);
  waitpid(child, NULL, 0);
  return fd;
}

int main(int argc, char** argv) {
  static char bytes[1 << 16];
  if (argc < 4) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Raises the limit of descriptors, one of which each connection takes.
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  puts("ready");
  fflush(stdout);
  const size_t size = fread(bytes, 1, sizeof(bytes), stdin);
  int made = 0;
  for (int i = 0; i < atoi(argv[3]); ++i) {
    const int fd = strcmp(argv[2], "pass") == 0 ? DialFromChild(argv[1]) : Dial(argv[1]);
    if (fd >= 0 && send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size) ++made;
  }
  printf("%d\n", made);
  fflush(stdout);
  pause();
}
