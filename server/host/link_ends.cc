#include "server/host/link_ends.h"

#include "server/base/status_macros.h"
#include "server/host/mount_point.h"
#include "server/host/resolve_path.h"

namespace csi_proxy::host {

LinkEnd LinkEnds::EndAt(const VolumeId& volume) {
  const auto [known, is_new] = volumes_.try_emplace(volume, LinkEnd::kUnknown);
  if (!is_new) return known->second;
  const absl::StatusOr<bool> is_gone = IsKnownGone(deps_, context_, volume);
  if (is_gone.ok()) known->second = *is_gone ? LinkEnd::kNowhere : LinkEnd::kThere;
  return known->second;
}

absl::Status LinkEnds::Follow(const ConfinedPath& path, FoundLink* link) {
  const absl::StatusOr<ResolvedPath> end =
      ResolvePath(*deps_.os, context_, path,
                  {.follow_last = true, .access = machine::Access::kPeek, .is_patient = false});
  ABSL_RETURN_IF_ERROR(context_.Check());
  if (!end.ok()) {
    if (HasTooManyLinks(end.status())) link->end = LinkEnd::kNowhere;
    return absl::OkStatus();
  }
  if (end->server.has_value()) {
    link->end = LinkEnd::kOnServer;
    link->share = end->server->Share();
    link->folder = end->server->ToString();
  } else if (end->found() && end->link.has_value() && end->link->volume.has_value()) {
    link->end = EndAt(*end->link->volume);
  } else {
    link->end = end->found() && end->is_directory() ? LinkEnd::kThere : LinkEnd::kNowhere;
  }
  return absl::OkStatus();
}

}  // namespace csi_proxy::host
