// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <idem/conformance/contract.h>
#include <idem/conformance/kept_statement.h>
#include <idem/conformance/subject.h>

namespace idem::inline v1::conformance {

/// Which of the protocol's statements a text is. A store renders them once, from the dialect of
/// the session it was opened on, so a session recognises them by their text.
enum class statement_kind : std::uint8_t {
  other,
  claim,
  read,  ///< find or read_winner
  save,
  discard,
  savepoint,
  rollback_to_savepoint,
  release_savepoint,
};

constexpr bool is_savepoint(statement_kind kind) noexcept {
  using enum statement_kind;
  return kind == savepoint || kind == rollback_to_savepoint || kind == release_savepoint;
}

class protocol_texts {
 public:
  protocol_texts(dialect const&, table_names const&);
  statement_kind kind_of(std::string_view sql) const noexcept;
  std::string const& find() const noexcept { return find_; }
  std::string const& savepoint() const noexcept { return savepoint_; }
  std::string const& rollback_to_savepoint() const noexcept { return rollback_to_savepoint_; }

 private:
  std::string claim_, find_, read_winner_, save_, discard_;
  std::string savepoint_, rollback_to_savepoint_, release_savepoint_;
};

/// The three parameters of an identity, at `first`, as one comparable text.
std::string identity_text(statement const&, std::size_t first);

constexpr std::size_t identity_in_claim = 0;
constexpr std::size_t identity_in_save = 6;

/// Takes batches and COMMIT apart, so that a saboteur says what becomes of one statement.
class protocol_session : public session_decorator {
 public:
  protocol_session(std::unique_ptr<session>, subject&);

  result<std::vector<rows>> execute(std::span<statement const>, call_limits const&) override;
  result<> commit(std::span<statement const> last, call_limits const&) override;
  /// One by one, as the statements of any effect are.
  result<whole_answer> run_whole(whole_transaction const& t, call_limits const& l) override {
    return session::run_whole(t, l);
  }

 protected:
  virtual result<rows> one(statement_kind, statement const& s, call_limits const& l) {
    return pass(s, l);
  }
  /// What is left of COMMIT when the last statements are done.
  virtual result<> finish(call_limits const& l) { return real().commit({}, l); }

  result<rows> pass(statement const&, call_limits const&);
  result<rows> pass(kept_statement const&, call_limits const&);
  /// The claim's answer for a taken key, as the engine's own.
  result<rows> conflict() const;
  protocol_texts const& texts() const noexcept { return texts_; }

 private:
  protocol_texts texts_;
};

/// Puts one kind of session under a contract that is otherwise the real one.
template <class Session>
class on_sessions : public contract_decorator {
 public:
  on_sessions(std::unique_ptr<contract> real, subject& s)
      : contract_decorator(std::move(real)), subject_(s) {}

  std::unique_ptr<session> adapt(std::unique_ptr<session> s) override {
    return std::make_unique<Session>(contract_decorator::adapt(std::move(s)), subject_);
  }

 private:
  subject& subject_;
};

/// An answer that says that one row was written.
rows one_row();

}  // namespace idem::inline v1::conformance
