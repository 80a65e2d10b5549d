// Quads: kernels that load and store four neighbouring elements at once, from a multiple of 4 on.
// Where operands allow that is an expression over symbols, so such a kernel stands beside the one
// that goes element by element, and a run takes the first whose guard holds.
#pragma once

#include <optional>

#include "rlx/lower/site.h"

namespace rlx {

// Are the four neighbours one element? It is then loaded by load_<name>, as everywhere.
bool is_repeated(const Operand& operand);

// Not 0 where the four always lie side by side from a multiple of 4 on, or are one element; none
// where they do not whatever the extents are.
std::optional<Dim> quads_guard(const std::vector<Operand>& operands);

// Lets a dispatch that has a kernel in quads take it: instead of its own where that is always
// right, else where a run finds that it is.
void take_quads(Dispatch& dispatch, const Choices& choices);
// Its kernel becomes that in quads, whatever was chosen; false where that is not always right.
bool always_in_quads(Dispatch& dispatch);
Variants quads_variants();  // 0: one by one, 1: in quads

// What render writes for an operand of a dispatch in quads: the element of its array,
//   fn load4_x(i: u32) -> vec4<f32>    fn store4_y(i: u32, v: vec4<f32>)
// `at` is where element i lies, as an expression over i.
std::string quad_element(const DeviceStorage& storage);
std::string quad_load(const Operand& operand, const DeviceStorage& storage, const std::string& at);
std::string quad_store(const Operand& operand, const DeviceStorage& storage, const std::string& at);

}  // namespace rlx
