// Makes responses of released methods, for tests of their output.
#pragma once

#include <google/protobuf/text_format.h>

#include <memory>
#include <string>

#include "client/ctl/catalog.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {

class ResponseTest : public testing::Test {
 protected:
  // Returns the response of a method with the given content.
  std::unique_ptr<pb::Message> Response(const std::string& group, const std::string& method,
                                        const std::string& textproto) {
    auto response = catalog_.New(catalog_.Find(group, method, "")->descriptor->output_type());
    EXPECT_TRUE(pb::TextFormat::ParseFromString(textproto, response.get()));
    return response;
  }

  Catalog catalog_;
};

}  // namespace csi_proxy::ctl
