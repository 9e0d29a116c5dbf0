#include "client/cpp/pipe_path.h"
#include "server/pipe/pipe.h"

namespace csi_proxy::client {

std::string PipePath(const ClientOptions&, absl::string_view name) { return pipe::Path(name); }

bool PipeExists(const std::string& path) { return pipe::Exists(path); }

}  // namespace csi_proxy::client
