// SPDX-License-Identifier: BSL-1.0
#include "conformance/mortality.h"

#include <unistd.h>

#include <csignal>
#include <utility>

#include <idem/conformance/contract.h>

namespace idem::inline v1::conformance {

namespace {

class stepping_session final : public session_decorator {
  // First, for its type is deduced.
  template <class Call>
  auto around(std::string_view what, Call const& call) {
    life_.reach("before " + std::string(what));
    auto answered = call();
    life_.reach("after " + std::string(what));
    return answered;
  }

 public:
  stepping_session(std::unique_ptr<session> real, mortality& life)
      : session_decorator(std::move(real)), life_(life) {}

  result<> begin(begin_options const& o) override {
    return around("begin", [&] { return real().begin(o); });
  }
  result<std::vector<rows>> execute(std::span<statement const> all, call_limits const& l) override {
    return around("execute", [&] { return real().execute(all, l); });
  }
  result<> commit(std::span<statement const> last, call_limits const& l) override {
    return around("COMMIT", [&] { return real().commit(last, l); });
  }
  result<> rollback() noexcept override {
    return around("rollback", [&] { return real().rollback(); });
  }

 private:
  mortality& life_;
};

void die(std::string const& where) {
  say_at_once("dies " + where);
  std::raise(SIGKILL);
}

}  // namespace

void mortality::reach(std::string_view step) {
  if (!counts_) return;
  last_step_ = step;
  if (++steps_ == dies_at_step_) die(last_step_);
}

void mortality::reach_write() {
  if (counts_ && ++writes_ == dies_at_write_) die("writing, " + last_step_);
}

void say_at_once(std::string_view line) {
  auto const text = std::string(line) + "\n";
  for (std::string_view left = text; !left.empty();) {
    auto const count = ::write(STDOUT_FILENO, left.data(), left.size());
    if (count <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::unique_ptr<session> stepping(std::unique_ptr<session> real, mortality& life) {
  return std::make_unique<stepping_session>(std::move(real), life);
}

}  // namespace idem::inline v1::conformance
