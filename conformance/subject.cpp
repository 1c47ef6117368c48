// SPDX-License-Identifier: BSL-1.0
#include <idem/conformance/subject.h>

#include <utility>

namespace idem::inline v1::conformance {

namespace {

std::unexpected<error> cannot(std::string what) {
  error e;
  e.what = errc::unsupported;
  e.message = std::move(what);
  return std::unexpected(std::move(e));
}

}  // namespace

result<std::unique_ptr<session>> subject::connect_by(std::uint16_t, call_limits const&) {
  return cannot("there is no wire between client and engine");
}
result<std::string> subject::isolation_of(session&) {
  return cannot("this engine does not tell a transaction's isolation level");
}
result<> subject::conflict_at_commit(transaction&) {
  return cannot("this engine's commits do not conflict");
}
result<> subject::kill_session(session&) {
  return cannot("this engine has no server that could end a session");
}
result<bool> subject::has_session(std::string const&) {
  return cannot("this engine does not tell which sessions there are");
}
result<> subject::watch_writes(std::function<void()>) {
  return cannot("this engine does not write its files inside this process");
}
result<> subject::leave_unread(session&) {
  return cannot("this engine's sessions leave nothing unread");
}
result<> subject::make_dirty(session&, session_setting const&) {
  return cannot("this engine's sessions have no such setting");
}
result<std::string> subject::setting(session&, session_setting const&) {
  return cannot("this engine's sessions have no such setting");
}
result<> subject::alter_table(session&, bool) {
  return cannot("this engine's tables cannot be altered");
}
result<std::size_t> subject::read_altered(transaction&) {
  return cannot("this engine's tables cannot be altered");
}
result<> subject::hold_schema(session&) {
  return cannot("nothing keeps another from installing the schema here");
}
result<std::int64_t> subject::named_locks(session&) {
  return cannot("this engine has no locks by name");
}
result<std::unique_ptr<subject>> subject::restored_elsewhere() {
  return cannot("this engine has no other default collation to restore into");
}
result<std::string> subject::default_collation(session&) {
  return cannot("this engine has no default collation");
}

}  // namespace idem::inline v1::conformance
