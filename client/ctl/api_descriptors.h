// A serialised google.protobuf.FileDescriptorSet, with comments, of all API files.
#pragma once

#include <cstddef>

namespace csi_proxy::ctl {

extern const unsigned char kApiDescriptors[];
extern const size_t kApiDescriptorsSize;

}  // namespace csi_proxy::ctl
