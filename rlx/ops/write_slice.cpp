// write_slice(x, update, starts): x with the block from `starts` on replaced by `update`; in place
// where x is not read again.

#include "rlx/codegen/elementwise.h"
#include "rlx/codegen/render.h"
#include "rlx/ops/kernel.h"
#include "rlx/ops/ops_core.h"
#include "rlx/ops/views.h"

namespace rlx {

const OpDef& write_slice_op();

namespace {

void check_fits(size_t d, int64_t start, int64_t extent, const TensorType& update,
                const TensorType& x, ErrorKind kind) {
  if (start < 0 || start > extent - update.shape[d].number())
    fail(kind, "write_slice: dim ", d, " of ", update, " at ", start, " does not fit ", x, " (",
         extent, ")");
}

Types infer(const InferSite& site) {
  const TensorType &x = site.in(0), &update = site.in(1), &starts = site.in(2);
  require(update.dtype == x.dtype && rank(update) == rank(x), "write_slice: ", update,
          " does not fit ", x);
  require(is_integer(starts.dtype) && rank(starts) == 1,
          "write_slice: starts must be a list of integers, got ", starts);
  site.equal(starts.shape[0], rank(x), text("number of starts and rank of ", x));
  const auto& elements = site.host(2).elements;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (elements[d].is_number() && x.shape[d].is_number() && update.shape[d].is_number())
      check_fits(d, elements[d].number(), x.shape[d].number(), update, x, ErrorKind::invalid_graph);
    // Where it starts is data, and for the kernel to flag; that it fits at all is not.
    site.at_most(update.shape[d], x.shape[d], text("dim ", d, " of ", update, " does not fit ", x));
  }
  return {x};
}

void reference(const ReferenceSite& site) {
  const Tensor &x = site.in(0), &update = site.in(1), &starts = site.in(2);
  const Shape strides = strides_of(x.shape()), &block = update.shape();
  int64_t at = 0;
  for (size_t d = 0; d < block.size(); ++d) {
    const int64_t start = starts.integer_at(static_cast<int64_t>(d));
    check_fits(d, start, x.shape()[d], update.type(), x.type(), ErrorKind::invalid_input);
    at += start * strides[d];
  }
  copy_elements(x, 0, site.out(), 0, x.count());
  const int64_t run = block.empty() ? 1 : block.back();
  Shape index(block.size(), 0);
  for (int64_t k = 0; k < update.count(); k += run) {
    copy_elements(update, k, site.out(), at, run);
    for (size_t d = block.size();
         d-- > 1;) {  // counts like an odometer, over all dims but the last
      at += strides[d - 1];
      if (++index[d - 1] < block[d - 1]) break;
      at -= strides[d - 1] * block[d - 1];
      index[d - 1] = 0;
    }
  }
}

// The block, moved inside x if a run puts it outside, and by how much it had to be moved.
struct Block {
  Dims starts;
  Dim offset = 0, outside = 0;
};

Block block_of(const LowerSite& site) {
  const Dims &x = site.in(0).shape, &update = site.in(1).shape, strides = strides_of(x);
  const auto& elements = site.host(2).elements;
  Block block;
  for (size_t d = 0; d < x.size(); ++d) {
    const Dim start = smaller(larger(elements[d], 0), larger(x[d] - update[d], 0));
    block.outside = block.outside + larger(elements[d] - start, start - elements[d]);
    block.offset = block.offset + start * strides[d];
    block.starts.push_back(start);
  }
  return block;
}

Dispatch write_elements(const LowerSite& site, const Block& block) {
  const ViewDims view = collapse(site.in(1).shape, {0, strides_of(site.in(0).shape)});
  Dims entries;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    entries.push_back(view.shape[d]);
    entries.push_back(view.strides[d]);
  }
  if (entries.empty()) entries = {1, 0};
  const Dim elements = count(site.in(1).shape);
  return {
      .kernel = kernel("write_slice"),
      .operands = {site.read("update", 1), site.update("y")},
      .constants = {{"DIMS", static_cast<int64_t>(entries.size() / 2)}},
      .params = {{"view", entries},
                 {"offset", block.offset},
                 {"count", elements},
                 {"outside", block.outside}},
      .workgroups = ceil_div(elements, 64),
      .flags_errors = true,
  };
}

Dispatch write_words(const LowerSite& site, const Block& block) {
  const Dims &x = site.in(0).shape, &update = site.in(1).shape, strides = strides_of(x);
  const DeviceStorage storage = device_storage(site.out().dtype, site.traits);
  Dims entries;
  Dim last = block.offset;
  for (size_t d = 0; d < x.size(); ++d) {
    for (const Dim& entry : {strides[d], x[d], block.starts[d], update[d]})
      entries.push_back(entry);
    last = last + (update[d] - 1) * strides[d];
  }
  if (entries.empty()) entries = {1, 1, 0, 1};
  const Dim first_word = floor_div(block.offset, storage.elements_per_word);
  const Dim end_word = floor_div(last, storage.elements_per_word) + 1;
  return {
      .kernel = kernel("write_slice_words"),
      .operands = {site.read("update", 1), site.update("y")},
      .constants = {{"DIMS", static_cast<int64_t>(entries.size() / 4)},
                    {"PER_WORD", storage.elements_per_word}},
      .params = {{"block", entries},
                 {"first_word", first_word},
                 {"end_word", end_word},
                 {"count", count(x)},
                 {"outside", block.outside}},
      .prelude = {text("alias Element = ", storage.compute, ';')},
      // Nothing to do for an empty update, whose words would still be counted.
      .workgroups = ceil_div((end_word - first_word) * min(count(update), 1), 64),
      .flags_errors = true,
      .writes_words = true,
  };
}

Steps lower(const LowerSite& site) {
  const bool packed = is_packed(site.out().dtype, site.traits);
  const Block block = block_of(site);
  Dispatch dispatch = packed ? write_words(site, block) : write_elements(site, block);
  const ValueId x = site.inputs[0].value, y = site.results[0].value;
  Steps steps;
  if (is_whole(site, 0)) {
    steps.add(Copy{x, y});
    if (site.inputs[1].value != x) dispatch.in_place = {{x, y}};
  } else {
    steps.add(copy_view(site.inputs[0], site.results[0], site.traits));
  }
  steps.add(std::move(dispatch));
  return steps;
}

// The block's gradient is the update's; x has none there.
Gradients gradient(const GradientSite& site) {
  const Value update = site.in(1), starts = site.in(2);
  const auto& known = starts.producer().host_values[size_t(starts.result)];
  Value block = site.dy();
  for (size_t d = 0; d < update.shape().size(); ++d)
    block = slice_axis(block, d, known->elements[d], known->elements[d] + update.shape()[d]);
  return {write_slice(site.dy(), zeros(update, update.shape()), starts),
          reshape(block, update.shape()), std::nullopt};
}

}  // namespace

const OpDef& write_slice_op() {
  static const OpDef op{
      .name = "write_slice",
      .family = "indexing",
      .inputs = {3, 3, {"x", "update", "starts"}},
      .host_inputs = {2},
      .infer = infer,
      .reference = reference,
      .lower = lower,
      .gradient = gradient,
      .in_place = {0},
  };
  return op;
}

Value write_slice(Value x, Value update, Value starts) {
  return x.apply(write_slice_op(), {x, update, starts});
}

}  // namespace rlx
