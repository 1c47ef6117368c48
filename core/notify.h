// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <string_view>

#include <idem/observer.h>

namespace idem::inline v1::detail {

/// Calls one hook. What it throws is told to the observer and goes no further: a hook after
/// COMMIT must not turn a committed operation into a failed one.
template <class Call>
void notify(observer* o, std::string_view hook, Call&& call) noexcept {
  if (o == nullptr) return;
  try {
    call(*o);
  } catch (...) {
    o->on_hook_failure(hook, std::current_exception());
  }
}

}  // namespace idem::inline v1::detail
