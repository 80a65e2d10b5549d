#include "rlx/backend/cpu/fast_halves.h"

#include <algorithm>

#include "rlx/backend/cpu/fast_products.h"

namespace rlx::detail {
namespace {

void widen(const CpuEngine& engine, const Tensor& x, int64_t first, Tensor& wide) {
  if (wide.count() == 0) return;
  const std::byte* from = x.bytes().data() + first * bytes_of(x.dtype());
  float* to = wide.mutable_data<float>().data();
  const vector::Element element = *half_of(x.dtype());
  engine.team.run(wide.count(), CpuEngine::kGrain, [&](int64_t begin, int64_t end) {
    engine.elementwise.widen(element, from + 2 * begin, to + begin, end - begin);
  });
}

void narrow(const CpuEngine& engine, const Tensor& wide, Tensor& y) {
  if (y.count() == 0) return;
  const float* from = wide.data<float>().data();
  std::byte* to = y.mutable_bytes().data();
  const vector::Element element = *half_of(y.dtype());
  engine.team.run(y.count(), CpuEngine::kGrain, [&](int64_t begin, int64_t end) {
    engine.elementwise.narrow(from + begin, element, to + 2 * begin, end - begin);
  });
}

class WideningKernel : public image::CallKernel {
 public:
  struct Options {
    std::vector<bool> kept = {};  // by own operand
    bool packs = false;
    bool has_tile = false, leaves_floats = false;  // in the place of the first result
  };
  WideningKernel(CpuEnginePtr engine, std::unique_ptr<image::CallKernel> kernel, Options options)
      : engine_(std::move(engine)),
        kernel_(std::move(kernel)),
        options_(std::move(options)),
        marks_(options_.kept.size()) {}
  ~WideningKernel() override { engine_->wide.count(-kept_bytes_); }

  bool run(image::CallSite& site) override {
    if (run_once(site)) return true;
    if (!options_.packs) return false;
    options_.packs = false;  // perhaps it takes all operands as f32
    return run_once(site);
  }

  bool hold(const image::CallSite& site, image::Holdings& holdings) override {
    if (!kernel_->hold(as_floats(site), holdings)) {
      if (!options_.packs) return false;
      options_.packs = false;
      return hold(site, holdings);
    }
    for (size_t i = 0; i < site.inputs.size(); ++i) {
      const image::Argument& x = site.inputs[i];
      if (!is_widened(x, i)) continue;
      if (options_.kept[i]) {
        holdings.keep(4 * x.tensor.count());
        continue;
      }
      bool is_there = false;
      for (size_t j = 0; j < i; ++j)
        is_there |= is_widened(site.inputs[j], j) && !options_.kept[j] &&
                    reads_most(site.inputs[j]) && holdings.reads_the_same(i, j);
      const int64_t floats = reads_most(x) ? x.tensor.count() : reach(x).elements;
      if (!is_there) holdings.borrow(WideMemory::bytes_for(floats));
    }
    for (size_t r = 0; r < site.results.size(); ++r)
      if (is_widened(site.results[r], r))
        holdings.borrow(WideMemory::bytes_for(site.results[r].count()));
    return true;
  }
  void pack(const image::CallSite& site) override { kernel_->pack(as_floats(site)); }

 private:
  // As the kernel will see it, by types: what becomes f32 has no elements yet.
  image::CallSite as_floats(const image::CallSite& site) const {
    image::CallSite wide = site;
    for (size_t i = 0; i < wide.inputs.size(); ++i)
      if (is_widened(site.inputs[i], i))
        wide.inputs[i].tensor = Tensor(DType::f32, site.inputs[i].tensor.shape());
    for (size_t r = 0; r < wide.results.size(); ++r)
      if (is_widened(site.results[r], r))
        wide.results[r] = Tensor(DType::f32, site.results[r].shape());
    return wide;
  }

  bool run_once(image::CallSite& site) {
    const struct Lent {
      WideningKernel& self;
      ~Lent() {
        for (std::vector<Tensor>& all = self.lent_; !all.empty(); all.pop_back())
          self.engine_->wide.give(std::move(all.back()));
      }
    } lent{*this};
    wide_.inputs.resize(site.inputs.size());
    wide_.results.resize(site.results.size());
    wide_.stored = site.stored;
    wide_.symbols = site.symbols;
    for (size_t i = 0; i < site.inputs.size(); ++i) place_input(site, i);
    for (size_t r = 0; r < site.results.size(); ++r) {
      Tensor &narrow = site.results[r], &wide = wide_.results[r];
      if (is_widened(narrow, r))
        borrow(wide, narrow.shape());
      else
        wide = narrow;
    }
    if (!kernel_->run(wide_)) return false;
    for (size_t r = 0; r < site.results.size(); ++r)
      if (is_widened(site.results[r], r))
        narrow(*engine_, wide_.results[r], site.results[r]);
      else if (site.results[r].identity() != wide_.results[r].identity())
        site.results[r] = wide_.results[r];  // it gave another
    return true;
  }

  bool is_widened(const image::Argument& x, size_t i) const {
    const bool is_half = i < options_.kept.size() && x.present && half_of(x.tensor.dtype());
    return is_half && !(i == 1 && options_.packs && options_.kept[i]);
  }
  bool is_widened(const Tensor& result, size_t r) const {
    if (!half_of(result.dtype())) return false;
    return options_.has_tile ? r == 0 && options_.leaves_floats : true;
  }

  // Memory for the time of the call; the tensor of the last one where that is the same.
  void borrow(Tensor& wide, const Shape& shape) {
    Tensor memory = engine_->wide.take(count(shape));
    if (wide.identity() != memory.identity() || wide.shape() != shape) wide = memory.first(shape);
    lent_.push_back(std::move(memory));
  }

  void place_input(const image::CallSite& site, size_t i) {
    const image::Argument& x = site.inputs[i];
    image::Argument& wide = wide_.inputs[i];
    wide.present = x.present;
    wide.is_view = x.is_view;
    wide.shape = x.shape;
    wide.offset = x.offset;
    wide.strides = x.strides;
    if (!is_widened(x, i)) {
      wide.tensor = x.tensor;
      return;
    }
    if (options_.kept[i]) {
      const Tensor::Mark mark = x.tensor.mark();
      if (mark == marks_[i] && wide.tensor.shape() == x.tensor.shape()) return;
      if (wide.tensor.dtype() != DType::f32 || wide.tensor.shape() != x.tensor.shape()) {
        if (marks_[i] != Tensor::Mark{}) count_kept(-wide.tensor.count());
        wide.tensor = Tensor(DType::f32, x.tensor.shape());
        count_kept(wide.tensor.count());
      }
      widen(*engine_, x.tensor, 0, wide.tensor);
      marks_[i] = mark;
      return;
    }
    // Operands may be views of one value.
    for (size_t j = 0; j < i; ++j)
      if (const image::Argument& other = site.inputs[j];
          other.present && other.tensor.bytes().data() == x.tensor.bytes().data() &&
          other.tensor.shape() == x.tensor.shape() &&
          wide_.inputs[j].tensor.count() == x.tensor.count() &&
          wide_.inputs[j].tensor.dtype() == DType::f32) {
        wide.tensor = wide_.inputs[j].tensor;
        return;
      }
    if (reads_most(x)) {
      borrow(wide.tensor, x.tensor.shape());
      widen(*engine_, x.tensor, 0, wide.tensor);
      return;
    }
    const auto [first, elements] = reach(x);
    part_.assign(1, elements);
    borrow(wide.tensor, part_);
    widen(*engine_, x.tensor, first, wide.tensor);
    wide.offset = x.offset - first;
  }

  void count_kept(int64_t floats) {
    kept_bytes_ += 4 * floats;
    engine_->wide.count(4 * floats);
  }

  struct Reach {
    int64_t first, elements;
  };
  static Reach reach(const image::Argument& x) {
    if (!x.is_view || count(x.shape) == 0) return {0, x.tensor.count()};
    int64_t first = x.offset, last = x.offset;
    for (size_t d = 0; d < x.shape.size(); ++d)
      (x.strides[d] < 0 ? first : last) += (x.shape[d] - 1) * x.strides[d];
    return {first, last - first + 1};
  }

  // A view may be a small part of its value.
  static bool reads_most(const image::Argument& x) {
    return reach(x).elements >= x.tensor.count() / 2;
  }

  CpuEnginePtr engine_;
  std::unique_ptr<image::CallKernel> kernel_;
  Options options_;
  image::CallSite wide_;
  std::vector<Tensor::Mark> marks_;  // of the kept operands that wide_ has
  std::vector<Tensor> lent_;         // to the call under way
  int64_t kept_bytes_ = 0;           // of weights
  Shape part_;
};

}  // namespace

bool has_halves(const image::Call& call, const image::Image& image) {
  const auto is_half = [&](image::ValueId value) {
    return value >= 0 && half_of(image.values[static_cast<size_t>(value)].dtype).has_value();
  };
  for (const image::Operand& input : call.inputs)
    if (is_half(input.value)) return true;
  return std::any_of(call.results.begin(), call.results.end(), is_half);
}

Tensor as_f32(const Tensor& x, const CpuEngine& engine) {
  if (!half_of(x.dtype())) return x.aligned();
  Tensor wide(DType::f32, x.shape());
  widen(engine, x.aligned(), 0, wide);
  return wide;
}

std::unique_ptr<image::CallKernel> widening(std::unique_ptr<image::CallKernel> kernel,
                                            const image::Call& call, const image::Image& image,
                                            CpuEnginePtr engine, bool packs) {
  if (!kernel || !has_halves(call, image)) return kernel;
  const bool has_tile = !call.tile.empty();
  WideningKernel::Options options{.packs = packs, .has_tile = has_tile};
  options.leaves_floats = has_tile && (call.tile.code[0].dtype == DType::f32 ||
                                       half_of(call.tile.code[0].dtype).has_value());
  const size_t own = has_tile ? static_cast<size_t>(call.tile.own_inputs) : call.inputs.size();
  for (size_t i = 0; i < own; ++i) options.kept.push_back(is_kept(call, i, image));
  return std::make_unique<WideningKernel>(std::move(engine), std::move(kernel), std::move(options));
}

image::Implementation widened(const image::Implementation& implementation, CpuEnginePtr engine) {
  return {.name = implementation.name + " in f32",
          .reads_views = implementation.reads_views,
          .prepare =
              [prepare = implementation.prepare, engine = std::move(engine)](
                  const image::Call& call, const image::Image& image) {
                // Results whose extents only the call can tell have no place yet.
                if (!has_halves(call, image) || !call.told.empty())
                  return std::unique_ptr<image::CallKernel>();
                return widening(prepare(call, image), call, image, engine, false);
              },
          .stores = implementation.stores};
}

}  // namespace rlx::detail
