// SPDX-License-Identifier: BSL-1.0
#include "tests/support/scripted_store.h"

#include <boost/test/unit_test.hpp>

namespace idem_test {

scripted_bench::scripted_bench(flavour f) : kind(std::move(f)), store(open()) {}

idem::store scripted_bench::open() {
  scripted_world world(kind);
  scripted_session session(world);
  idem::store_options options;
  options.max_response_bytes = most_response_bytes;
  options.observer = &log;
  return idem::store::open(session, options).value();
}

idem::run_options quick(idem::refusal_policy refusals) {
  idem::run_options options;
  options.refusals = refusals;
  options.retry = {5, std::chrono::milliseconds(0), std::chrono::milliseconds(0)};
  return options;
}

void call_later(scripted_bench& b, scripted_world& world, run_judge& judge) {
  scripted_source source(world);
  auto const effect = [](idem::transaction& tx) -> idem::result<idem::answer> {
    auto written = tx.execute("EFFECT ?", {later});
    if (!written) return std::unexpected(written.error());
    return the_response();
  };
  judge.later_call(b.store.run(source, the_request(), effect, quick()));
}

void report_tally(tally const& total, std::size_t kinds_expected) {
  for (auto const& [what, seen] : total.complaints)
    BOOST_ERROR(what << " (" << seen.times << " times, first in " << seen.first << ")");
  BOOST_TEST(total.complaints.empty());
  std::string counts = "cases: " + std::to_string(total.cases);
  std::size_t kinds = 0;
  for (std::size_t i = 0; i < fault_kinds; ++i) {
    counts += std::string(", ") + name_of(static_cast<fault_kind>(i)) + " " +
              std::to_string(total.fired[i]);
    if (total.fired[i] > 0) ++kinds;
  }
  BOOST_TEST_MESSAGE(counts);
  BOOST_TEST(kinds == kinds_expected, "a kind of fault never fired: " << counts);
}

}  // namespace idem_test
