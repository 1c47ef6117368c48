// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <idem/error.h>

namespace idem::inline v1::detail {

/// The left-out JSON Pointers as one tree of their tokens, walked along with the text.
class left_out_tree {
 public:
  using node = std::size_t;
  static constexpr node root = 0;
  static constexpr node nowhere = static_cast<node>(-1);

  /// `invalid_argument` as `check_json_pointer` says.
  static result<left_out_tree> make(std::span<std::string const> pointers);

  /// Where the member or element `token` of the value at `parent` is, or `nowhere`.
  node child(node parent, std::string_view token) const;

  bool is_left_out(node at) const { return at != nowhere && entries_[at].ends_pointer; }

 private:
  struct entry {
    std::map<std::string, node, std::less<>> children;
    bool ends_pointer = false;
  };

  void add(std::string_view pointer);
  node add_child(node parent, std::string token);

  std::vector<entry> entries_ = std::vector<entry>(1);
};

}  // namespace idem::inline v1::detail
