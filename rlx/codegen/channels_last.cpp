#include "rlx/codegen/channels_last.h"

#include <algorithm>

namespace rlx {

Layout channels_last_layout(const Dims& shape) {
  Layout layout{0, Dims(shape.size(), Dim(1))};
  Dim step = shape[1];
  for (size_t d = shape.size(); d-- > 2; step = step * shape[d]) layout.strides[d] = step;
  layout.strides[0] = step;
  return layout;
}

Dims channels_last_memory(const Dims& shape) {
  Dims memory{shape[0]};
  memory.insert(memory.end(), shape.begin() + 2, shape.end());
  memory.push_back(shape[1]);
  return memory;
}

bool has_channels_last(const Dims& shape) {
  return (shape.size() == 3 || shape.size() == 4) && !shape[1].is(1) &&
         std::any_of(shape.begin() + 2, shape.end(), [](const Dim& dim) { return !dim.is(1); });
}

bool is_channels_last(const Operand& operand) {
  return operand.value >= 0 && has_channels_last(operand.shape) &&
         operand.layout == channels_last_layout(operand.shape);
}

bool is_tile_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

bool flows_channels_last(DType dtype) {
  return is_tile_float(dtype) || dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i32;
}

bool gives_channels_last(const CallTraits& traits, const Dims& result,
                         const std::vector<Operand>& operands) {
  if (!has_channels_last(result)) return false;
  if (traits.channels_last != CallTraits::ChannelsLast::if_operands_are)
    return traits.channels_last == CallTraits::ChannelsLast::always;
  return std::any_of(operands.begin(), operands.end(), is_channels_last) &&
         std::none_of(operands.begin(), operands.end(), [](const Operand& operand) {
           return operand.value >= 0 && has_channels_last(operand.shape) &&
                  !is_channels_last(operand);
         });
}

}  // namespace rlx
