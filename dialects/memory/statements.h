// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mutex>
#include <string_view>

#include "dialects/memory/database.h"

namespace idem::inline v1::memory::detail {

/// Where a statement is run: in an open transaction, with the engine's mutex held by `lock`.
struct place {
  engine& db;
  open_transaction& tx;
  std::unique_lock<std::mutex>& lock;
  detail::patience patience;
};

/// Runs a statement that reads or writes. Undoes what it did if it fails.
/// Errors: those of errors.h.
result<rows> run_statement(place const&, statement const&);

/// Without the white space around it.
std::string_view trimmed(std::string_view) noexcept;

}  // namespace idem::inline v1::memory::detail
