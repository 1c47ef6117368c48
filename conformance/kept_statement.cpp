// SPDX-License-Identifier: BSL-1.0
#include <idem/conformance/kept_statement.h>

namespace idem::inline v1::conformance {

namespace {

struct to_value {
  value operator()(std::monostate) const { return {}; }
  value operator()(std::int64_t n) const { return n; }
  value operator()(double d) const { return d; }
  value operator()(std::string_view s) const { return std::string(s); }
  value operator()(blob_view b) const { return blob{std::string(b.bytes)}; }
};

struct to_parameter {
  parameter operator()(std::monostate) const { return {}; }
  parameter operator()(std::int64_t n) const { return n; }
  parameter operator()(double d) const { return d; }
  parameter operator()(std::string const& s) const { return s; }
  parameter operator()(blob const& b) const { return blob_view{b.bytes}; }
};

}  // namespace

parameter as_parameter(value const& v) { return std::visit(to_parameter{}, v); }

kept_statement::kept_statement(statement const& s) : sql_(s.sql) {
  for (auto const& p : s.parameters) values_.push_back(std::visit(to_value{}, p.get()));
}

std::vector<parameter> kept_statement::parameters() const {
  std::vector<parameter> all;
  all.reserve(values_.size());
  for (auto const& v : values_) all.push_back(as_parameter(v));
  return all;
}

}  // namespace idem::inline v1::conformance
