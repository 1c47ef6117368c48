// SPDX-License-Identifier: BSL-1.0
// MIS-06 and MIS-08: records of another rule's version, and what an answer says of a record.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "conformance/scenarios/answers.h"
#include "conformance/scenarios/mismatch_parts.h"
#include "conformance/scenarios/replay_parts.h"

namespace idem::inline v1::conformance {

namespace {

constexpr fingerprint_version unknown_version = 2;

/// Writes what an idem of a later version would: a claim under a rule that this one does not
/// know. It is the only statement that binds the rehearsal's version.
class later_writer final : public session_decorator {
 public:
  using session_decorator::session_decorator;

  result<std::vector<rows>> execute(std::span<statement const> all,
                                    call_limits const& limits) override {
    std::vector<std::vector<parameter>> bound;
    std::vector<statement> sent;
    for (auto const& s : all) {
      auto& own = bound.emplace_back(s.parameters.begin(), s.parameters.end());
      if (is_claim(own)) own[version_parameter] = unknown_version;
    }
    for (std::size_t i = 0; i < all.size(); ++i) sent.push_back({all[i].sql, bound[i]});
    return session_decorator::execute(sent, limits);
  }

 private:
  static constexpr std::size_t version_parameter = 4;
  static bool is_claim(std::vector<parameter> const& bound) {
    if (bound.size() < 7) return false;
    auto const* n = std::get_if<std::int64_t>(&bound[version_parameter].get());
    return n != nullptr && *n == rehearsal_fingerprint_version;
  }
};

run_options under(fingerprint_version v) {
  run_options options;
  options.write_version = v;
  return options;
}

void known_versions(context& c, session& s, fingerprint_version written,
                    fingerprint_version reader) {
  std::string const key = "written under " + std::to_string(written);
  auto const op = c.make_operation(key, "the content");
  auto const other = c.make_operation(key, "other content");
  auto const first = c.run(s, op, under(written));
  check_executed(c, first, key);
  auto const found = c.must(c.idem().find(s, op.request.identity()), "the record is read");
  c.require(found.has_value(), "there is a record");
  auto const own = c.must(c.idem().fingerprint_of(op.request, written), "its fingerprint is made");
  if (c.check(found->fingerprint == own, key + ": the record says so")) c.mark("version_stored");
  auto const before = c.record_row(op);
  for (auto const v : {reader, written}) {
    check_replayed(c, c.run(s, op, under(v)), first, key + ", the same content");
    check_mismatched(c, c.run(s, other, under(v)), key + ", other content");
  }
  c.check(c.body_calls(op) == 1 && before && c.record_row(op) == before,
          key + ": one effect, and the record is as it was");
}

// The digests of two rules differ, so that a comparison across them must fail.
void check_rules_differ(context& c) {
  auto const op = c.make_operation("rules");
  auto const current = c.idem().fingerprint_of(op.request, current_fingerprint_version);
  auto const other = c.idem().fingerprint_of(op.request, rehearsal_fingerprint_version);
  c.check(current && other && current->digest != other->digest,
          "the two known rules give two digests");
  auto const none = c.idem().fingerprint_of(op.request, unknown_version);
  c.check(!none && none.error().what == errc::fingerprint_unknown,
          "rule 2 is not known: a fingerprint under it is fingerprint_unknown");
}

void unknown_rule(context& c, session& s) {
  auto const op = c.make_operation("written later", "the content");
  later_writer later(c.must(c.engine().connect(), "a session is opened"));
  check_executed(c, c.run(later, op, under(rehearsal_fingerprint_version)), "a later idem's call");
  auto const found = c.must(c.idem().find(s, op.request.identity()), "the record is read");
  if (c.check(found && found->fingerprint.version == unknown_version, "it wrote under rule 2"))
    c.mark("unknown_version_stored");
  auto const before = c.record_row(op);
  for (std::string_view const content : {"the content", "other content"}) {
    auto const asked = c.make_operation("written later", content);
    auto const called = c.run(s, asked);
    check_failed(c, called, errc::fingerprint_unknown, "a call with " + std::string(content));
    c.check(!called.answered && called.answered.error().certainty == certainty::not_executed &&
                called.answered.error().advice == advice::never,
            "it says that nothing was executed and that trying again does not help");
    stepwise step(c, s, asked);
    c.must(step.begin(), "a transaction begins");
    auto const claimed = step.claim();
    c.check(!claimed && claimed.error().what == errc::fingerprint_unknown,
            "a claim is fingerprint_unknown as well");
    c.must(step.rollback(), "it rolls back");
  }
  c.check(c.body_calls(op) == 1 && before && c.record_row(op) == before,
          "no effect ran and the record is as it was");
  c.check_stored(op, 1, true);
  auto const fresh = c.make_operation("not written");
  check_failed(c, c.run(s, fresh, under(unknown_version)), errc::invalid_argument,
               "writing under a rule that is not known");
  c.check(c.body_calls(fresh) == 0, "it does not run the effect");
}

}  // namespace

void versions_of_the_rule(context& c) {
  auto& s = c.connect();
  check_rules_differ(c);
  known_versions(c, s, current_fingerprint_version, rehearsal_fingerprint_version);
  known_versions(c, s, rehearsal_fingerprint_version, current_fingerprint_version);
  unknown_rule(c, s);
}

namespace {

// A mismatch cannot tell anything: there is no room for it.
static_assert(std::is_empty_v<mismatched> && std::is_empty_v<resolved::mismatched>);

/// Texts that must stay inside the record, and texts that were told.
class secrets {
 public:
  explicit secrets(context& c) : context_(c), mark_(std::to_string(c.random()())) {}

  std::string make(std::string_view name) {
    hidden_.push_back("canary-" + std::string(name) + "-" + mark_);
    return hidden_.back();
  }
  void hide_digest(fingerprint const& print) {
    std::string hex;
    for (auto const b : print.digest) {
      hex += "0123456789abcdef"[std::to_integer<unsigned>(b) >> 4];
      hex += "0123456789abcdef"[std::to_integer<unsigned>(b) & 0xF];
    }
    hidden_.push_back(std::move(hex));
  }
  /// What a caller would write into a log.
  void check_error(error const& e, std::string const& what) {
    check_text(describe(e), what + ": its description");
    check_text(e.message, what + ": its message");
  }
  void check_text(std::string text, std::string const& what) {
    std::ranges::transform(text, text.begin(), [](char ch) {
      return ch >= 'A' && ch <= 'F' ? static_cast<char>(ch - 'A' + 'a') : ch;
    });
    bool const silent = std::ranges::none_of(
        hidden_, [&](auto const& h) { return text.find(h) != std::string::npos; });
    context_.check(silent && !text.empty(), what + " holds nothing of request or response");
  }

 private:
  context& context_;
  std::string mark_;
  std::vector<std::string> hidden_;
};

operation secret_operation(context& c, secrets& hidden, std::string_view key,
                           std::string_view payload) {
  auto op = c.make_operation(key, payload);
  hidden.hide_digest(c.must(c.idem().fingerprint_of(op.request, current_fingerprint_version),
                            "a fingerprint is made"));
  return op;
}

void check_stored_secrets(context& c, session& s, operation const& op, response const& answer,
                          std::string const& payload) {
  auto const found = c.must(c.idem().find(s, op.request.identity()), "the record is read");
  auto const row = c.record_row(op);
  bool const there = found && found->response == answer && found->canonical_request == payload &&
                     row && row->find(payload) != std::string::npos &&
                     row->find(*answer.body) != std::string::npos;
  if (c.check(there, "the stored row holds request and response")) c.mark("canary_stored");
}

}  // namespace

void nothing_is_told(context& c) {
  auto& s = c.connect();
  secrets hidden(c);
  auto const payload = hidden.make("request"), other_payload = hidden.make("other");
  response const answer{200, {{"x-secret", hidden.make("header")}}, hidden.make("body")};
  run_options audit;
  audit.store_canonical_request = true;
  auto const op = secret_operation(c, hidden, "told", payload);
  check_executed(c, run_answering(c, s, op, answer, audit), "the first call");
  check_stored_secrets(c, s, op, answer, payload);

  auto const other = secret_operation(c, hidden, "told", other_payload);
  auto const called = c.run(s, other);
  check_mismatched(c, called, "other content");
  hidden.check_text(called.name(), "the mismatch");
  std::array<attempt_id, 1> const attempts{attempt_id::random()};
  auto const resolved = c.idem().resolve(s, other.request, attempts);
  c.check(resolved && std::holds_alternative<resolved::mismatched>(*resolved),
          "resolved, it is a mismatch");

  later_writer later(c.must(c.engine().connect(), "a session is opened"));
  auto options = audit;
  options.write_version = rehearsal_fingerprint_version;
  auto const unknown = secret_operation(c, hidden, "unknown rule", payload);
  check_executed(c, run_answering(c, later, unknown, answer, options), "a later idem's call");
  auto const refused = c.run(s, secret_operation(c, hidden, "unknown rule", other_payload));
  check_failed(c, refused, errc::fingerprint_unknown, "an unknown rule");
  if (!refused.answered) hidden.check_error(refused.answered.error(), "an unknown rule");

  auto const half = secret_operation(c, hidden, "half", payload);
  leave_half_record(c, s, half, false);
  auto const incomplete = c.run(s, half);
  check_failed(c, incomplete, errc::incomplete, "a half record");
  if (!incomplete.answered) hidden.check_error(incomplete.answered.error(), "a half record");
  c.must(c.idem().settle(s, half.request.identity(), settle_discard{}), "it is discarded");
}

}  // namespace idem::inline v1::conformance
