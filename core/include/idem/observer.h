// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <exception>
#include <string_view>

#include <idem/error.h>
#include <idem/outcome.h>

namespace idem::inline v1 {

/// Told what happens, by the thread it happens on. Every member does nothing by default.
///
/// What a member throws does not change the operation: it is handed to `on_hook_failure`.
/// An observer used by several threads must be thread-safe and outlive its users.
class observer {
 public:
  virtual ~observer() = default;
  /// An attempt starts; `number` counts from 1 within one run.
  virtual void on_attempt(attempt_id const&, int /*number*/) {}
  /// The transaction is tried again after `delay`.
  virtual void on_retry(error const&, std::chrono::milliseconds /*delay*/) {}
  /// The claim came back after waiting for another transaction (or giving up).
  virtual void on_wait(std::chrono::microseconds) {}
  virtual void on_outcome(outcome const&) {}
  virtual void on_error(error const&) {}
  /// COMMIT was sent and its answer lost; the run goes on to find out.
  virtual void on_in_doubt(error const&) {}
  /// A destructor or clean-up could not do its work; `where` says which.
  virtual void on_destructor_failure(std::string_view /*where*/, error const&) noexcept {}
  virtual void on_hook_failure(std::string_view /*hook*/, std::exception_ptr) noexcept {}
};

}  // namespace idem::inline v1
