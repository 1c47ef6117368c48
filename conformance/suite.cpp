// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include <idem/conformance/suite.h>

#include "conformance/gate.h"
#include "conformance/scenarios/groups.h"

namespace idem::inline v1::conformance {

namespace {

std::vector<scenario> collect() {
  std::vector<scenario> all;
  for (auto group :
       {self_scenarios(), replay_scenarios(), mismatch_scenarios(), rollback_scenarios(),
        concurrency_scenarios(), isolation_scenarios(), identity_scenarios(), size_scenarios(),
        empty_scenarios(), fixed_scenarios(), unknown_scenarios(), crash_scenarios(),
        pool_scenarios(), throughput_scenarios()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace

std::vector<scenario> const& scenarios() {
  static std::vector<scenario> const all = collect();
  return all;
}

scenario const* find_scenario(std::string_view id) {
  auto const place = std::ranges::find(scenarios(), id, &scenario::id);
  return place == scenarios().end() ? nullptr : &*place;
}

result<std::vector<std::string>> select(selection const& wanted) {
  std::vector<std::string> ids;
  for (auto const& id : wanted.scenarios)
    if (find_entry(id) == nullptr)
      return invalid_argument("there is no scenario '" + id + "': see 'idem conformance list'");
  auto const of_profile = [&](catalogue_entry const& e) {
    return wanted.profile.empty() || e.profile == wanted.profile;
  };
  if (std::ranges::none_of(catalogue(), of_profile))
    return invalid_argument("there is no profile '" + wanted.profile +
                            "': see 'idem conformance list'");
  for (auto const& e : catalogue()) {
    bool const named = wanted.scenarios.empty() ||
                       std::ranges::find(wanted.scenarios, e.id) != wanted.scenarios.end();
    if (named && of_profile(e)) ids.push_back(e.id);
  }
  if (ids.empty()) return invalid_argument("the selection holds no scenario: nothing would be run");
  return ids;
}

namespace {

std::unexpected<error> no_saboteur(std::string const& id) {
  return invalid_argument("there is no saboteur '" + id +
                          "': see 'idem conformance list --saboteurs'");
}

result<std::unique_ptr<contract>> open_contract(subject& s, std::string const& saboteur_id) {
  auto opened = s.connect();
  if (!opened) return std::unexpected(std::move(opened).error());
  auto store = store::open(**opened, {s.names().schema, s.names().prefix});
  if (!store) return std::unexpected(std::move(store).error());
  auto real = make_contract(std::move(*store));
  if (saboteur_id.empty()) return real;
  auto const* saboteur = find_saboteur(saboteur_id);
  if (saboteur == nullptr) return no_saboteur(saboteur_id);
  return saboteur->make(std::move(real), s);
}

// What a scenario left behind is judged even if it stopped half way.
void run_body(scenario const& code, bool supported, context& c) {
  try {
    (supported ? code.body : code.probe)(c);
  } catch (scenario_stopped const&) {
    c.log("the scenario stopped at a requirement that was not met");
  }
}

scenario_result run_once(subject& s, catalogue_entry const& entry, suite_options const& options,
                         std::uint64_t seed) {
  auto const started = std::chrono::steady_clock::now();
  scenario_result r;
  r.id = entry.id;
  auto const* code = find_scenario(entry.id);
  try {
    if (code == nullptr) throw std::logic_error("the catalogue has a row without code");
    auto real = open_contract(s, options.saboteur);
    if (!real) throw std::runtime_error(describe(real.error()));
    bool const supported = !code->needs || s.declared().contains(*code->needs);
    if (!supported && code->probe == nullptr)
      throw std::logic_error("no probe proves that the engine cannot show this");
    if (auto ready = s.prepare(); !ready) throw std::runtime_error(describe(ready.error()));
    context c(s, **real, entry.id, seed, options.worker, options.saboteur);
    run_body(*code, supported, c);
    try {
      c.check_invariants();
    } catch (scenario_stopped const&) {
      c.log("the invariants could not be read");
    }
    r = judge(entry, s.name(), c, supported);
  } catch (scenario_stopped const&) {
    r.verdict = verdict::error;
    r.reason = "the scenario could not be prepared";
  } catch (std::exception const& e) {
    r.verdict = verdict::error;
    r.reason = e.what();
  }
  r.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 started);
  return r;
}

// Of several runs the worst counts: there is no "known intermittent".
scenario_result run_repeated(subject& s, catalogue_entry const& entry,
                             suite_options const& options) {
  scenario_result worst_of = run_once(s, entry, options, options.seed);
  for (int i = 1; i < options.repeat; ++i) {
    auto next = run_once(s, entry, options, options.seed + static_cast<std::uint64_t>(i));
    auto const took = worst_of.took + next.took;
    if (next.verdict > worst_of.verdict) worst_of = std::move(next);
    worst_of.took = took;
  }
  return worst_of;
}

result<> ready(subject& s) {
  if (auto prepared = s.prepare(); !prepared) return prepared;
  auto session = s.connect();
  if (!session) return std::unexpected(std::move(session).error());
  auto breaches = schema::verify(**session, s.names());
  if (!breaches) return std::unexpected(std::move(breaches).error());
  if (breaches->empty()) return {};
  error e;
  e.what = errc::schema_invalid;
  e.phase = phase::schema;
  e.message = "idem's tables are not as they must be: " + breaches->front();
  return std::unexpected(std::move(e));
}

}  // namespace

result<run_report> run_suite(subject& s, suite_options const& options) {
  auto ids = select(options.select);
  if (!ids) return std::unexpected(std::move(ids).error());
  auto const alone = options.inner ? result<std::unique_ptr<session>>(nullptr) : s.occupy();
  if (!alone) return std::unexpected(alone.error());
  if (auto possible = ready(s); !possible) return std::unexpected(std::move(possible).error());
  auto facts = s.facts();
  if (!facts) return std::unexpected(std::move(facts).error());
  run_report report;
  report.subject = s.name();
  report.target = s.target();
  report.facts = std::move(*facts);
  report.catalogue = catalogue_digest();
  report.profile = options.select.profile;
  report.seed = options.seed;
  report.repeat = options.repeat;
  report.verdict = verdict::pass;
  for (std::size_t i = 0; i < ids->size(); ++i) {
    if (options.progress) options.progress(i + 1, ids->size(), (*ids)[i], nullptr);
    auto r = run_repeated(s, *find_entry((*ids)[i]), options);
    if (options.progress) options.progress(i + 1, ids->size(), (*ids)[i], &r);
    report.verdict = worst(report.verdict, r.verdict);
    report.results.push_back(std::move(r));
  }
  auto const after = s.facts();
  judge_run(report, after ? *after : std::vector<fact>());
  return report;
}

result<std::vector<sabotage>> select_sabotage(suite_options const& options) {
  if (!options.saboteur.empty() && find_saboteur(options.saboteur) == nullptr)
    return no_saboteur(options.saboteur);
  auto ids = select(options.select);
  if (!ids) return std::unexpected(std::move(ids).error());
  std::vector<sabotage> pairs;
  for (auto const& id : *ids)
    for (auto const& saboteur : find_entry(id)->kills)
      if (options.saboteur.empty() || options.saboteur == saboteur)
        pairs.push_back({saboteur, find_entry(id)});
  if (pairs.empty())
    return invalid_argument(
        "no selected scenario names " +
        (options.saboteur.empty() ? "a saboteur" : "the saboteur " + options.saboteur) +
        ": nothing would be run; 'idem conformance list' shows who is to be killed by what");
  // The catalogue is one array: of one saboteur its order stays.
  std::ranges::sort(pairs, {}, [](sabotage const& s) {
    return std::pair(std::stoi(s.saboteur.substr(1)), s.entry);
  });
  return pairs;
}

result<sabotage_report> run_sabotage(subject& s, suite_options const& options) {
  auto const selected = select_sabotage(options);
  if (!selected) return std::unexpected(selected.error());
  auto const alone = s.occupy();
  if (!alone) return std::unexpected(alone.error());
  if (auto possible = ready(s); !possible) return std::unexpected(std::move(possible).error());
  sabotage_report report;
  report.subject = s.name();
  auto const& pairs = *selected;
  suite_options one = options;
  one.inner = true;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    auto const& [saboteur, entry] = pairs[i];
    std::string const name = saboteur + " against " + entry->id;
    if (options.progress) options.progress(i + 1, pairs.size(), name, nullptr);
    one.saboteur = saboteur;
    auto r = run_once(s, *entry, one, options.seed);
    if (options.progress) options.progress(i + 1, pairs.size(), name, &r);
    report.kills.push_back({saboteur, entry->id, r.verdict, r.reason});
  }
  judge_sabotage(report);
  return report;
}

}  // namespace idem::inline v1::conformance
