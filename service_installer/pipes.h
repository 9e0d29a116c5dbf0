// Asks whether the service's pipes answer.
#pragma once

#include <set>
#include <string>

namespace csi_proxy::installer {

// Asks every released version's pipe for its health, all at once; the names of those that answer.
std::set<std::string> AnsweringPipes();

}  // namespace csi_proxy::installer
