// The calls on named pipes that decide who serves a name and when the name goes: between them and
// Windows lies nothing but code, and tests put a model of Windows' pipes in its place.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/rpc/pipe/object_security.h"

namespace csi_proxy::pipe {

enum class Creation {
  kFirst,  // fails with ERROR_ACCESS_DENIED when the pipe is there
  kFurther,
  kInheriting,  // a further one, by which the pipe's owner and DACL can be changed
};

// Named pipes as one process sees them. Failures carry the Win32 code. Thread-safe.
class PipeCalls {
 public:
  virtual ~PipeCalls() = default;

  // Makes an instance, which clients can open at once (CreateNamedPipeW). The first one gives the
  // pipe the owner and the DACL of `ours`; those of a pipe that is there stay.
  virtual absl::StatusOr<void*> Create(const std::string& path, Creation creation) = 0;
  virtual const ObjectSecurity& ours() const = 0;

  // Opens the pipe as a client does, closes it again, and says which process served it, or 0
  // (CreateFileW). ERROR_FILE_NOT_FOUND: nobody serves it, though the name may be there.
  // ERROR_PIPE_BUSY: it is served, and all instances are taken.
  virtual absl::StatusOr<uint32_t> Look(const std::string& path) = 0;

  // The pipe's own, whoever made it.
  virtual absl::StatusOr<ObjectSecurity> Security(void* instance) = 0;
  // Gives the pipe of an inheriting instance our owner and our DACL.
  virtual absl::Status MakeOurs(void* instance) = 0;

  // Returns when the client has read everything, has gone, or has been disconnected
  // (FlushFileBuffers).
  virtual void Flush(void* instance) = 0;
  virtual void Disconnect(void* instance) = 0;
  virtual void Close(void* instance) = 0;
};

}  // namespace csi_proxy::pipe
