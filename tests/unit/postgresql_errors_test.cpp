// SPDX-License-Identifier: BSL-1.0
#include "dialects/postgresql/errors.h"

#include <boost/test/unit_test.hpp>

namespace {

using idem::advice;
using idem::errc;

struct row {
  char const* state;
  errc what;
  idem::advice next;
};

// https://www.postgresql.org/docs/18/errcodes-appendix.html
constexpr row table[] = {
    {"00000", errc::statement_failed, advice::never},
    {"08000", errc::connection_lost, advice::new_connection},
    {"08006", errc::connection_lost, advice::new_connection},
    {"08P01", errc::statement_failed, advice::never},
    {"22012", errc::statement_failed, advice::never},
    {"2201G", errc::save_unmatched, advice::never},
    {"22P02", errc::statement_failed, advice::never},
    {"23502", errc::constraint_violation, advice::never},
    {"23503", errc::constraint_violation, advice::never},
    {"23505", errc::unique_violation, advice::never},
    {"23514", errc::constraint_violation, advice::never},
    {"23P01", errc::constraint_violation, advice::never},
    {"25006", errc::read_only, advice::never},
    {"25P02", errc::transaction_aborted, advice::never},
    {"25P03", errc::connection_lost, advice::new_connection},
    {"26000", errc::statement_failed, advice::new_transaction},
    {"28P01", errc::connection_failed, advice::never},
    {"3D000", errc::connection_failed, advice::never},
    {"40001", errc::serialization_failure, advice::new_transaction},
    {"40003", errc::commit_in_doubt, advice::resolve_first},
    {"40P01", errc::deadlock, advice::new_transaction},
    {"42501", errc::permission_denied, advice::never},
    {"42601", errc::statement_failed, advice::never},
    {"42P01", errc::statement_failed, advice::never},
    {"53100", errc::resource_exhausted, advice::never},
    {"53300", errc::resource_exhausted, advice::new_connection},
    {"55P03", errc::lock_timeout, advice::new_transaction},
    {"57014", errc::cancelled, advice::never},
    {"57P01", errc::connection_lost, advice::new_connection},
    {"57P03", errc::connection_failed, advice::new_connection},
    {"XX001", errc::corrupt, advice::never},
    {"P0001", errc::statement_failed, advice::never},
    {"", errc::statement_failed, advice::never},
    {"4", errc::statement_failed, advice::never},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(postgresql_errors)

BOOST_AUTO_TEST_CASE(mean_what_the_appendix_says) {
  for (auto const& r : table) {
    BOOST_TEST_CONTEXT(r.state) {
      auto const means = idem::postgresql::detail::classify({r.state, 0, "in any language"});
      BOOST_TEST((means.what == r.what));
      BOOST_TEST((means.advice == r.next));
    }
  }
}

BOOST_AUTO_TEST_CASE(every_known_one_is_a_state_or_a_class) {
  for (auto const& known : idem::postgresql::detail::known_states())
    BOOST_TEST((known.state.size() == 5U || known.state.size() == 2U), known.state);
}

BOOST_AUTO_TEST_SUITE_END()
