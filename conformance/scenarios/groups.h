// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>

#include <idem/conformance/suite.h>

namespace idem::inline v1::conformance {

// One function a group, in the catalogue's order of groups.
std::span<scenario const> self_scenarios();
std::span<scenario const> replay_scenarios();
std::span<scenario const> mismatch_scenarios();
std::span<scenario const> rollback_scenarios();
std::span<scenario const> concurrency_scenarios();
std::span<scenario const> isolation_scenarios();
std::span<scenario const> identity_scenarios();
std::span<scenario const> size_scenarios();
std::span<scenario const> empty_scenarios();
std::span<scenario const> fixed_scenarios();
std::span<scenario const> unknown_scenarios();
std::span<scenario const> crash_scenarios();
std::span<scenario const> pool_scenarios();
std::span<scenario const> throughput_scenarios();

}  // namespace idem::inline v1::conformance
