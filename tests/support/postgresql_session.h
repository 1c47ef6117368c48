// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tests/support/postgresql_server.h"

namespace idem_test {

/// One session of its own on the server, beside the observer.
struct postgresql_session : postgresql_world {
  std::unique_ptr<idem::session> s = connect(url);

  idem::result<idem::rows> try_query(std::string_view sql, std::span<idem::parameter const> p = {},
                                     idem::call_limits const& limits = {}) const {
    idem::statement const one{sql, p};
    auto answered = s->execute(std::span(&one, 1), limits);
    if (!answered) return std::unexpected(answered.error());
    return std::move(answered->front());
  }
  idem::value one(std::string_view sql, std::span<idem::parameter const> p = {}) const {
    return must(try_query(sql, p))[0][0];
  }
  idem::transaction_status status() const { return must(s->status()); }
};

inline bool is_text(idem::value const& v, std::string_view text) {
  auto const* t = std::get_if<std::string>(&v);
  return t != nullptr && *t == text;
}

}  // namespace idem_test
