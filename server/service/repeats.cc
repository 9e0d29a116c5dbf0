#include "server/service/repeats.h"

#include <utility>

namespace csi_proxy::observability {

void Repeats::EndPeriod(absl::Time now, std::vector<Count>* ended) {
  if (now < end_) return;
  for (auto& [kind, count] : kinds_) {
    if (count.times <= kWritten) continue;
    count.times -= kWritten;
    ended->push_back(std::move(count));
  }
  if (beyond_ > 0) ended->push_back({.what = "", .image_path = "", .times = beyond_});
  kinds_.clear();
  beyond_ = 0;
  counting_ = false;
  end_ = now + kPeriod;
}

bool Repeats::Admit(const char* what, const Peer& peer, absl::StatusCode code, absl::Time now,
                    std::vector<Count>* ended) {
  const std::lock_guard<Mutex> lock(mutex_);
  EndPeriod(now, ended);
  const Kind kind{.what = what, .process_id = peer.process_id, .code = code};
  auto found = kinds_.find(kind);
  if (found == kinds_.end()) {
    if (kinds_.size() >= kMaxKinds) {
      ++beyond_;
      counting_ = true;
      return false;
    }
    Count count{
        .what = what, .process_id = peer.process_id, .image_path = peer.image_path, .code = code};
    found = kinds_.emplace(kind, std::move(count)).first;
  }
  if (++found->second.times <= kWritten) return true;
  counting_ = true;
  return false;
}

std::vector<Repeats::Count> Repeats::TakeEnded(absl::Time now) {
  std::vector<Count> ended;
  const std::lock_guard<Mutex> lock(mutex_);
  if (counting_) EndPeriod(now, &ended);
  return ended;
}

}  // namespace csi_proxy::observability
