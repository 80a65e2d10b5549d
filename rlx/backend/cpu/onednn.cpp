#include "rlx/backend/cpu/onednn.h"

#ifdef RLX_ONEDNN

#include <dlfcn.h>

#include <algorithm>
#include <list>
#include <oneapi/dnnl/dnnl.hpp>

namespace rlx::detail {
namespace {

using dnnl::memory;

// A primitive has the number of threads that OpenMP would give to whoever makes it. Ours are made
// for one: a team of our own works at several of them, and nothing waits in OpenMP's busy loops.
void use_one_thread() {
  using Set = void (*)(int);
  static const Set set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set) set(1);
}

memory::desc described(const Shape& dims, const Shape& strides) {
  return {dims, memory::data_type::f32, strides};
}
memory::desc described(const Shape& dims) { return described(dims, strides_of(dims)); }
// In whichever order of memory suits the primitive.
memory::desc any_order(const Shape& dims) {
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

// One primitive and its memory, for one set of extents. Operands are given in the order of
// `arguments`, the result last, all in row-major order.
class Work {
 public:
  Work(const dnnl::engine& engine, const dnnl::primitive& primitive)
      : engine_(engine), primitive_(primitive) {}

  // What is `kept` changes with its mark only.
  void operand(int argument, const memory::desc& as, const memory::desc& wanted,
               bool kept = false) {
    add(argument, as, wanted, false);
    places_.back().kept = kept;
  }
  void result(const memory::desc& as, const memory::desc& made) {
    add(DNNL_ARG_DST, as, made, true);
  }

  void run(dnnl::stream& stream, std::initializer_list<const Tensor*> operands, Tensor& y) {
    size_t next = 0;
    for (const Tensor* operand : operands) {
      if (!operand) continue;
      Place& place = places_[next++];
      place.given.set_data_handle(const_cast<float*>(operand->data<float>().data()));
      const Tensor::Mark mark = operand->mark();
      if (place.reorder && !(place.kept && place.mark == mark)) execute(place, stream);
      place.mark = mark;
    }
    places_[next].given.set_data_handle(y.mutable_data<float>().data());
    // Through the C interface: the other one collects the arguments in new memory.
    if (dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()),
                               arguments_.data()) != dnnl_success)
      throw dnnl::error(dnnl_runtime_error, "oneDNN could not run a primitive");
    for (const Place& place : places_)
      if (place.reorder && place.is_result) execute(place, stream);
    stream.wait();
  }

 private:
  struct Place {
    memory given, ordered;  // as the caller has it; as the primitive wants it
    dnnl::primitive reorder = {};
    bool is_result = false, kept = false;
    Tensor::Mark mark = {};  // of what is in order
  };

  void add(int argument, const memory::desc& as, const memory::desc& wanted, bool is_result) {
    Place place{memory(as, engine_, DNNL_MEMORY_NONE), {}, {}, is_result, false, {}};
    place.ordered = as == wanted ? place.given : memory(wanted, engine_);
    if (as != wanted) {
      const dnnl::reorder::primitive_desc description(engine_, is_result ? wanted : as, engine_,
                                                      is_result ? as : wanted);
      place.reorder = dnnl::reorder(description);
    }
    arguments_.push_back({argument, place.ordered.get()});
    places_.push_back(std::move(place));
  }

  static void execute(const Place& place, dnnl::stream& stream) {
    const memory& from = place.is_result ? place.ordered : place.given;
    const memory& to = place.is_result ? place.given : place.ordered;
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
    if (dnnl_primitive_execute(place.reorder.get(), stream.get(), 2, arguments) != dnnl_success)
      throw dnnl::error(dnnl_runtime_error, "oneDNN could not reorder an operand");
  }

  dnnl::engine engine_;
  dnnl::primitive primitive_;
  std::vector<Place> places_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

bool is_f32(const Tensor* tensor) { return !tensor || tensor->dtype() == DType::f32; }

template <class Description>
Work convolving(const dnnl::engine& engine, const Description& description, const Tensor& x,
                const memory::desc& windows, bool kept, const Tensor* bias, const Tensor& y) {
  Work work(engine, dnnl::primitive(description.get()));
  work.operand(DNNL_ARG_SRC, described(x.shape()), description.src_desc());
  work.operand(DNNL_ARG_WEIGHTS, windows, description.weights_desc(), kept);
  if (bias) work.operand(DNNL_ARG_BIAS, described(bias->shape()), description.bias_desc());
  work.result(described(y.shape()), description.dst_desc());
  return work;
}

}  // namespace

struct OneDnn::Cache {
  static constexpr size_t kMost = 8;
  struct Entry {
    std::vector<int64_t> key;
    Work work;
  };
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::list<Entry> entries;  // the most recently used first
  std::vector<int64_t> key;  // of the call under way

  void begin_key(std::initializer_list<const Tensor*> tensors) {
    key.clear();
    for (const Tensor* tensor : tensors) {
      key.push_back(tensor ? static_cast<int64_t>(tensor->shape().size()) : -1);
      if (tensor) key.insert(key.end(), tensor->shape().begin(), tensor->shape().end());
    }
  }
  Work* find() {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const Entry& entry) { return entry.key == key; });
    if (found == entries.end()) return nullptr;
    entries.splice(entries.begin(), entries, found);
    return &entries.front().work;
  }
  Work& keep(Work work) {
    entries.push_front({key, std::move(work)});
    if (entries.size() > kMost) entries.pop_back();
    return entries.front().work;
  }
};

OneDnn::OneDnn() = default;
OneDnn::~OneDnn() = default;
OneDnn::OneDnn(OneDnn&& other) noexcept = default;
OneDnn& OneDnn::operator=(OneDnn&& other) noexcept = default;

bool OneDnn::convolution(const Tensor& x, const Tensor& w, bool kept, const Tensor* bias,
                         const ConvolutionWindow& window, Tensor& y) try {
  if (!is_f32(&x) || !is_f32(&w) || !is_f32(bias) || y.count() == 0 || x.count() == 0) return false;
  use_one_thread();
  if (!cache_) cache_ = std::make_unique<Cache>();
  cache_->begin_key({&x, &w, bias, &y});  // the window is an attribute of the call
  if (Work* work = cache_->find()) {
    work->run(cache_->stream, {&x, &w, bias}, y);
    return true;
  }
  const size_t axes = x.shape().size() - 2;
  const int64_t groups = window.groups;
  // [out, in / groups, ..] as [groups, out / groups, in / groups, ..]; transposed, [in, out /
  // groups, ..] as the same.
  Shape dims = {groups, w.shape()[0] / groups, w.shape()[1]};
  dims.insert(dims.end(), w.shape().begin() + 2, w.shape().end());
  Shape strides = strides_of(dims);
  if (window.transposed) {
    std::swap(dims[1], dims[2]);
    std::swap(strides[1], strides[2]);
  }
  Shape gaps, pads_after;  // dilations count from 0 there
  for (size_t d = 0; d < axes; ++d) {
    const int64_t tap = (w.shape()[2 + d] - 1) * window.dilations[d];
    const Shape &larger = window.transposed ? y.shape() : x.shape(),
                &smaller = window.transposed ? x.shape() : y.shape();
    gaps.push_back(window.dilations[d] - 1);
    pads_after.push_back((smaller[2 + d] - 1) * window.strides[d] + tap + 1 - larger[2 + d] -
                         window.pads_before[d]);
  }
  if (groups == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  const memory::desc windows = described(dims, strides), in = any_order(x.shape()),
                     out = any_order(y.shape()), taps = any_order(dims),
                     added = bias ? described(bias->shape()) : memory::desc();
  const auto kind = dnnl::prop_kind::forward_inference;
  const dnnl::engine& engine = cache_->engine;
  if (window.transposed) {
    const dnnl::deconvolution_forward::desc wanted(kind, dnnl::algorithm::deconvolution_direct, in,
                                                   taps, added, out, window.strides, gaps,
                                                   window.pads_before, pads_after);
    cache_->keep(convolving(engine, dnnl::deconvolution_forward::primitive_desc(wanted, engine), x,
                            windows, kept, bias, y));
  } else {
    const dnnl::convolution_forward::desc wanted(kind, dnnl::algorithm::convolution_direct, in,
                                                 taps, added, out, window.strides, gaps,
                                                 window.pads_before, pads_after);
    cache_->keep(convolving(engine, dnnl::convolution_forward::primitive_desc(wanted, engine), x,
                            windows, kept, bias, y));
  }
  cache_->entries.front().work.run(cache_->stream, {&x, &w, bias}, y);
  return true;
} catch (const dnnl::error&) {
  return false;
}

}  // namespace rlx::detail

#else

namespace rlx::detail {

struct OneDnn::Cache {};
OneDnn::OneDnn() = default;
OneDnn::~OneDnn() = default;
OneDnn::OneDnn(OneDnn&& other) noexcept = default;
OneDnn& OneDnn::operator=(OneDnn&& other) noexcept = default;

bool OneDnn::convolution(const Tensor&, const Tensor&, bool, const Tensor*,
                         const ConvolutionWindow&, Tensor&) {
  return false;
}

}  // namespace rlx::detail

#endif
