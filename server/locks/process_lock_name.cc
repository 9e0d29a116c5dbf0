#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/locks/process_locks.h"

namespace csi_proxy {

std::string ProcessLockName(absl::string_view name) {
  const boost::uuids::name_generator_sha1 id_of(boost::uuids::ns::oid());
  return absl::StrCat("csi-proxy-", boost::uuids::to_string(id_of(name.data(), name.size())));
}

}  // namespace csi_proxy
