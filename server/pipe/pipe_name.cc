#include "server/pipe/pipe_name.h"

#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/names/win32_error.h"

namespace csi_proxy::pipe {
namespace {

// Returns true if a call was refused because the pipe exists.
bool IsTaken(const absl::Status& status) {
  return HasWin32Code(
      status, {win32_error::kAccessDenied, win32_error::kPipeBusy, win32_error::kAlreadyExists});
}

absl::Status CheckUnserved(PipeCalls& calls, const std::string& path) {
  const absl::StatusOr<uint32_t> server = calls.Look(path);
  if (HasWin32Code(server.status(), win32_error::kFileNotFound)) return absl::OkStatus();
  // Windows looks for a server before it checks rights (ReactOS, drivers/filesystems/npfs/create.c,
  // NpFsdCreate). So a refusal also shows that the pipe is served.
  if (!server.ok() && !IsTaken(server.status())) return Prefixed(path, server.status());
  const std::string process =
      server.ok() && *server != 0 ? absl::StrCat(", process ", *server) : "";
  return absl::FailedPreconditionError(absl::StrCat(
      path, " is served already: another csi-proxy is running, or another program has ",
      "taken the name", process, ". End that process first."));
}

absl::Status LeftOverError(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(
      path, " is left over from a server that has ended and kept by processes that have it open; ",
      why, ". End those processes (on a node: restart the pods of the CSI drivers)."));
}

absl::Status CheckInherited(PipeCalls& calls, const std::string& path, void* instance,
                            bool* is_ours) {
  const absl::StatusOr<ObjectSecurity> security = calls.Security(instance);
  if (!security.ok()) return Prefixed(path, security.status());
  const bool own = security->owner == calls.ours().owner;
  // The pipe's owner could grant itself the right to serve the pipe at any time.
  if (!own && !OwnedByAdministrators(*security)) {
    return LeftOverError(path, absl::StrCat("it belongs to ", security->owner,
                                            " rather than to SYSTEM or the administrators"));
  }
  const bool same_dacl = SameDacl(*security, calls.ours());
  *is_ours = own && same_dacl;
  if (!same_dacl && !OnlyAdministratorsServe(*security)) {
    return LeftOverError(path, "others than SYSTEM and the administrators may serve it");
  }
  return absl::OkStatus();
}

absl::StatusOr<void*> Inherit(PipeCalls& calls, const std::string& path) {
  const absl::StatusOr<void*> instance = calls.Create(path, Creation::kInheriting);
  if (!instance.ok()) {
    return LeftOverError(
        path, absl::StrCat("no instance can be made of it: ", instance.status().message()));
  }
  const auto end = [&calls](void* made) {
    calls.Disconnect(made);
    calls.Close(made);
  };
  bool is_ours = false;
  absl::Status status = CheckInherited(calls, path, *instance, &is_ours);
  if (status.ok() && is_ours) return instance;
  // The pipe comes, for example, from the Go release, or from a service with another --pipe-sddl.
  if (status.ok()) status = calls.MakeOurs(*instance);
  if (status.ok()) status = CheckInherited(calls, path, *instance, &is_ours);
  if (status.ok() && !is_ours) {
    status = LeftOverError(path, "its owner and access list cannot be changed to ours");
  }
  if (!status.ok()) {
    end(*instance);
    return status;
  }
  // A client may have opened this instance under the old DACL, so another instance replaces it. The
  // new instance is made before this one is closed, so that the name stays.
  absl::StatusOr<void*> next = calls.Create(path, Creation::kFurther);
  end(*instance);
  return next;
}

}  // namespace

absl::StatusOr<void*> TakeName(PipeCalls& calls, const std::string& path,
                               const absl::Status& alone) {
  // Wine makes a first instance of an existing pipe, so without this check two services could serve
  // the pipe.
  ABSL_RETURN_IF_ERROR(CheckUnserved(calls, path));
  absl::StatusOr<void*> first = calls.Create(path, Creation::kFirst);
  if (first.ok() || !IsTaken(first.status())) return first;
  // A server may have started since the first check.
  ABSL_RETURN_IF_ERROR(CheckUnserved(calls, path));
  if (!alone.ok()) {
    return LeftOverError(path,
                         absl::StrCat("it is not taken, because another csi-proxy might take it ",
                                      "at the same time: ", alone.message()));
  }
  return Inherit(calls, path);
}

}  // namespace csi_proxy::pipe
