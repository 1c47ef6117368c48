// SPDX-License-Identifier: BSL-1.0
#include <idem/session.h>

#include <utility>

namespace idem::inline v1 {

result<whole_answer> session::run_whole(whole_transaction const&, call_limits const&) {
  error e;
  e.what = errc::unsupported;
  e.phase = phase::preflight;
  e.message = "this session cannot run a whole transaction in one round trip";
  return std::unexpected(std::move(e));
}

result<session_lease> session_lease::acquire(session_source& source, call_limits const& limits) {
  auto acquired = source.acquire(limits);
  if (!acquired) {
    acquired.error().phase = phase::connect;
    return std::unexpected(std::move(acquired).error());
  }
  return session_lease(source, **acquired);
}

session_lease::session_lease(session_source& source, session& s) : source_(&source), session_(&s) {}

session_lease::session_lease(session_lease&& other) noexcept
    : source_(other.source_),
      session_(std::exchange(other.session_, nullptr)),
      reusable_(other.reusable_) {}

session_lease::~session_lease() {
  if (session_ != nullptr) source_->release(session_, reusable_);
}

result<session*> lone_session::acquire(call_limits const&) {
  error e;
  e.phase = phase::connect;
  if (out_.exchange(true)) {
    e.what = errc::session_not_idle;
    e.message = "the session is in use by another run: give a nested run a session of its own";
    return std::unexpected(std::move(e));
  }
  if (broken_) {
    out_ = false;
    e.what = errc::connection_lost;
    e.message = "the session's connection is not usable and there is no second one";
    return std::unexpected(std::move(e));
  }
  return session_;
}

void lone_session::release(session*, bool reusable) noexcept {
  broken_ = !reusable;
  out_ = false;
}

}  // namespace idem::inline v1
