// Recognises the shares that would give a client the node's own files.
#pragma once

#include "absl/strings/string_view.h"
#include "server/machine/os.h"

namespace csi_proxy::smb {

// Returns true for the shares that Windows makes for administrators: those of drives, such as `C$`,
// and `ADMIN$`, `FAX$` and `PRINT$` (learn.microsoft.com/troubleshoot/windows-server/networking/
// problems-administrative-shares-missing). Other names that end with `$` are only hidden.
bool IsAdministrativeShare(absl::string_view share);

// Returns true if Windows may treat the host as this node without a look-up in DNS. Such a host is
//
// - a name or an address of the node or of the loopback interface,
// - an address in a notation that is not parsed here,
// - a name that begins with a dot, or
// - a name with characters beyond ASCII, because Windows may convert them to ASCII.
//
// REQUIRES: `host` is a UncPath::host().
bool MayBeThisNode(absl::string_view host, const machine::NetworkNames& node);

}  // namespace csi_proxy::smb
