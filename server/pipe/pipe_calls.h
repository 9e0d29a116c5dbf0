// The calls on named pipes that decide which process serves a name and how long the name exists.
// The implementation only calls Windows; tests replace it with a model of Windows' pipes.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/pipe/object_security.h"

namespace csi_proxy::pipe {

enum class Creation {
  kFirst,  // Fails with ERROR_ACCESS_DENIED if the pipe exists.
  kFurther,
  kInheriting,  // A further instance, with the rights to change the pipe's owner and DACL.
};

// Named pipes as one process sees them. Failures contain the Win32 code. Thread-safe.
class PipeCalls {
 public:
  virtual ~PipeCalls() = default;

  // Makes an instance for clients to open (CreateNamedPipeW; NtCreateNamedPipeFile for
  // kInheriting). The first instance gives the pipe the owner and the DACL of ours(); an existing
  // pipe keeps its own.
  virtual absl::StatusOr<void*> Create(const std::string& path, Creation creation) = 0;
  virtual const ObjectSecurity& ours() const = 0;

  // Opens the pipe as a client, closes it, and returns the id of the server's process, or 0 if the
  // id is unknown (CreateFileW). The error is ERROR_FILE_NOT_FOUND if no process serves the pipe,
  // even if the name exists, and ERROR_PIPE_BUSY if all instances of a served pipe are taken.
  virtual absl::StatusOr<uint32_t> Look(const std::string& path) = 0;

  // Returns the owner and the DACL of the instance's pipe.
  virtual absl::StatusOr<ObjectSecurity> Security(void* instance) = 0;
  // Gives the pipe of an inheriting instance the owner and the DACL of ours().
  virtual absl::Status MakeOurs(void* instance) = 0;

  // Waits until the client has read everything, has gone, or is disconnected (FlushFileBuffers).
  virtual void Flush(void* instance) = 0;
  virtual void Disconnect(void* instance) = 0;
  virtual void Close(void* instance) = 0;
};

}  // namespace csi_proxy::pipe
