// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>
#include <string_view>

// Texts that some database, driver or library has taken for one another.
namespace idem::inline v1::conformance {

/// The first text and others that were taken for it.
struct attack {
  std::string_view name;
  std::span<std::string_view const> texts;
};

std::span<attack const> case_attacks();       // IDC-01
std::span<attack const> accent_attacks();     // IDC-02
std::span<attack const> padding_attacks();    // IDC-03
std::span<attack const> normal_attacks();     // IDC-04: NFC and NFD, characters without weight
std::span<attack const> code_page_attacks();  // IDC-05
std::span<attack const> number_attacks();     // IDC-08
std::span<attack const> sql_attacks();        // IDC-12

/// Texts that are no UTF-8 (IDC-07).
std::span<std::string_view const> invalid_utf8();

/// RFC 3629, written for the suite: it does not ask the library what is valid.
bool is_valid_utf8(std::string_view) noexcept;

}  // namespace idem::inline v1::conformance
