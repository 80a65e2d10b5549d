#include "rlx/import/onnx/heads.h"

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_rope.h"

namespace rlx::onnx {

int64_t head_count(const NodeSite& site, const char* attribute) {
  constexpr int64_t kMost = 1 << 20;
  const int64_t heads = site.integer(attribute);
  if (heads < 1 || heads > kMost) site.fail_node(attribute, " is ", heads);
  return heads;
}

Value part_heads(const NodeSite& site, Value x, int64_t heads) {
  const Dims& dims = x.shape();
  if (dims.size() != 3) site.fail_node("needs [B, S, heads * size], it is given ", x.type());
  if (heads < 1 || (dims[2].is_number() && dims[2].number() % heads != 0))
    site.fail_node(x.type(), " cannot be parted into ", heads, " heads");
  return reshape(x, {dims[0], dims[1], Dim(heads), floor_div(dims[2], heads)});
}

Value join_heads(Value x) {
  const Dims& dims = x.shape();
  return reshape(x, {dims[0], dims[1], dims[2] * dims[3]});
}

Value rotate(Value x, const Rotation& rotation) {
  const auto rows = [&](Value table) {
    return rotation.positions ? gather(table, rotation.positions, 0) : table;
  };
  return rope(x, rows(rotation.cos), rows(rotation.sin), rotation.interleaved, rotation.layout);
}

Value rotary_embedding(const NodeSite& site, Value x, Rotation rotation) {
  rotation.interleaved = site.flag("interleaved");
  const int64_t turned = site.integer("rotary_embedding_dim", 0);
  if (rotation.cos.shape().empty()) site.fail_node("a table is ", rotation.cos.type());
  const Dim& half = rotation.cos.shape().back();
  if (turned > 0 && !half.is(turned / 2))
    site.fail_node("rotary_embedding_dim ", turned, " needs tables of ", turned / 2,
                   " columns, they are ", rotation.cos.type());
  if (rank(x.type()) == 4) {
    rotation.layout = "bhsd";
    return rotate(x, rotation);
  }
  int64_t heads = site.integer("num_heads", 0);
  if (heads == 0) {
    if (turned > 0 || !half.is_number() || half.is(0) || !x.shape().back().is_number())
      site.fail_node("num_heads must be given");
    const int64_t width = x.shape().back().number(), size = 2 * half.number();
    if (width % size != 0) site.fail_node(x.type(), " cannot be parted into heads of ", size);
    heads = width / size;
  }
  return join_heads(rotate(part_heads(site, x, heads), rotation));
}

Value as_bias(const NodeSite& site, Value kept, DType dtype, double score) {
  return where(kept, site.scalar(dtype, 0), site.scalar(dtype, score));
}

}  // namespace rlx::onnx
