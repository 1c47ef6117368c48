// SPDX-License-Identifier: BSL-1.0
#include "dialects/memory/errors.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace idem::inline v1::memory::detail {

namespace {

struct known_code {
  code number;
  meaning means;
  char const* text;
};

constexpr known_code table[] = {
    {code::not_a_statement,
     {errc::statement_failed, advice::never},
     "the in-memory engine takes no SQL: see idem/memory.h for what it takes"},
    {code::wrong_parameters,
     {errc::statement_failed, advice::never},
     "the statement takes other parameters"},
    {code::null_refused,
     {errc::constraint_violation, advice::never},
     "a parameter that must not be NULL is NULL"},
    {code::out_of_range,
     {errc::constraint_violation, advice::never},
     "the counter would leave the range of 64 bits"},
    {code::no_savepoint, {errc::statement_failed, advice::never}, "there is no such savepoint"},
    {code::no_transaction,
     {errc::transaction_not_open, advice::never},
     "there is no transaction to commit"},
    {code::transaction_open,
     {errc::session_not_idle, advice::never},
     "a transaction is open already"},
    {code::transaction_failed,
     {errc::transaction_aborted, advice::never},
     "the transaction has failed and can only be rolled back"},
    {code::transaction_aborted_by_statement,
     {errc::statement_failed, advice::never},
     "the statement failed and its transaction with it, as it was asked to"},
    {code::read_only, {errc::read_only, advice::never}, "the transaction is read-only"},
    {code::isolation_unknown,
     {errc::unsupported, advice::never},
     "the in-memory engine has READ COMMITTED only"},
    {code::tables_missing,
     {errc::schema_missing, advice::never},
     "idem's tables are not there: call idem::schema::install"},
    {code::row_exists, {errc::unique_violation, advice::never}, "the table has this row already"},
    {code::lock_timeout,
     {errc::lock_timeout, advice::new_transaction},
     "another transaction kept the row beyond the wait limit"},
    {code::deadlock,
     {errc::deadlock, advice::new_transaction},
     "transactions wait for each other in a circle: this one was rolled back"},
    {code::commit_conflict,
     {errc::serialization_failure, advice::new_transaction},
     "the commit was refused, as fail_next_commit asked"},
    {code::commit_constraint,
     {errc::constraint_violation, advice::never},
     "a constraint failed at the commit, as fail_next_commit asked"},
    {code::connection_lost,
     {errc::connection_lost, advice::new_connection},
     "the connection is lost: the database was restarted, or a COMMIT was made to lose it"},
};

known_code const* find(std::int64_t number) noexcept {
  auto const* const found = std::ranges::find_if(
      table, [number](known_code const& k) { return std::to_underlying(k.number) == number; });
  return found == std::end(table) ? nullptr : found;
}

}  // namespace

meaning classify(native_error const& native) noexcept {
  auto const* const known = find(native.code);
  return known == nullptr ? meaning{} : known->means;
}

std::unexpected<error> fail(code number) {
  auto const* const known = find(std::to_underlying(number));
  error e;
  e.what = known->means.what;
  e.advice = known->means.advice;
  e.message = known->text;
  e.native.code = std::to_underlying(number);
  e.native.message = known->text;
  return std::unexpected(std::move(e));
}

std::unexpected<error> refuse(errc what, std::string message) {
  error e;
  e.what = what;
  e.message = std::move(message);
  return std::unexpected(std::move(e));
}

}  // namespace idem::inline v1::memory::detail
