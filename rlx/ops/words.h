// 64-bit integers in two 32-bit words, on devices that have no wider ones. Words are a u32 tensor
// with one more axis, of two: the low word and the high one.
#pragma once

#include "rlx/ir/graph.h"

namespace rlx {

const OpDef& words_op();

// Can an op on single elements be computed in words?
bool has_words(const OpDef& op);

// Does an op of many elements take and give words, where its attribute of that name says so?
bool takes_words(const OpDef& op);

// The op of that name on 64-bit integers; each operand is words, or an i64 that fits 32 bits. `to`
// is u32 for words, i64 where the result is known to fit 32 bits, or what a comparison gives.
Value in_words(const std::string& op, const Values& inputs, DType to);
// A number as words (to = u32), or words as an i64, f32, i32. An i64 that does not fit is an Error.
Value cast_words(Value x, DType to);
// Words as i64 that leaves the program: it may be any. And such an input as words.
Value words_leave(Value words);
Value words_enter(Value x);
bool is_words_leaving(const Node& node);
bool is_words_entering(const Node& node);

// Element i of a tensor of words.
int64_t number_in_words(const Tensor& words, int64_t i);
void set_number_in_words(Tensor& words, int64_t i, int64_t number);

// What the device keeps for an i64 tensor.
TensorType words_type(const TensorType& type);

}  // namespace rlx
