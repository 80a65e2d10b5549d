#include "rlx/conformance/model_graphs.h"

#include <cmath>

#include "rlx/ops/ops_core.h"
#include "rlx/ops/ops_math.h"

namespace rlx {

const OpDef& batch_norm_op();
const OpDef& conv_op();
const OpDef& max_pool_op();

namespace {

class Net {
 public:
  Graph graph;

  Value weight(const Dims& shape) {
    return graph.weight(text('w', weights_++), TensorType{DType::f32, shape});
  }
  Value constant(const Shape& shape, std::initializer_list<double> elements) {
    return graph.constant(Tensor::of(DType::f32, shape, elements));
  }
  Value number(double value) { return constant({}, {value}); }
  Value whole(int64_t value) {
    return graph.constant(Tensor::of(DType::i64, {}, {static_cast<double>(value)}));
  }
  static Value extent(Value x, int64_t axis) { return squeeze(shape_of(x, axis, axis + 1), {0}); }

 private:
  int weights_ = 0;
};

// ---- Text ----

class Encoder : public Net {
 public:
  Graph made(int64_t layers) {
    const auto input = [&](const char* name) {
      return graph.input(name, i64({"batch", "sequence"}));
    };
    const Value ids = input("input_ids"), mask = input("attention_mask"),
                types = input("token_type_ids");
    const Value places = range(whole(0), extent(ids, 1), whole(1));
    const Value words = gather(weight({30522, kWidth}), ids, 0),
                kinds = gather(weight({2, kWidth}), types, 0),
                positions = gather(weight({512, kWidth}), places, 0);
    Value x = norm(words + kinds + positions);
    const Value kept = cast(unsqueeze(unsqueeze(mask, {1}), {2}), DType::f32);
    const Value hidden = (number(1) - kept) * number(-3.4028234663852886e38);
    for (int64_t i = 0; i < layers; ++i) x = layer(x, hidden);
    graph.output("last_hidden_state", x);
    return std::move(graph);
  }

 private:
  static constexpr int64_t kWidth = 384, kHeads = 12, kSize = kWidth / kHeads;

  Value dense(Value x, int64_t from, int64_t to) {
    const Value y = matmul(x, weight({from, to}));
    return weight({to}) + y;
  }
  Value norm(Value x) {
    const Value distance = x - mean(x, {-1}, true);
    const Value variance = mean(pow(distance, number(2)), {-1}, true);
    const Value deviation = sqrt(variance + number(1e-12)), y = distance / deviation;
    const Value gamma = weight({kWidth});
    return y * gamma + weight({kWidth});
  }
  Value gelu(Value x) {
    const Value bell = erf(x / number(std::sqrt(2.0)));
    const Value both = x * (bell + number(1));
    return both * number(0.5);
  }
  Value heads(Value x, const Ints& order) {
    const Value y = dense(x, kWidth, kWidth);
    return transpose(reshape(y, Dims{"batch", "sequence", kHeads, kSize}), order);
  }
  Value layer(Value x, Value hidden) {
    const Value q = heads(x, {0, 2, 1, 3}), k = heads(x, {0, 2, 3, 1}), v = heads(x, {0, 2, 1, 3});
    const Value scores = matmul(q, k) / number(std::sqrt(double{kSize}));
    const Value mixed = transpose(matmul(softmax(scores + hidden), v), {0, 2, 1, 3});
    const Value joined = reshape(mixed, Dims{"batch", "sequence", kWidth});
    const Value first = norm(dense(joined, kWidth, kWidth) + x);
    const Value wide = gelu(dense(first, kWidth, 4 * kWidth));
    return norm(dense(wide, 4 * kWidth, kWidth) + first);
  }
};

class Decoder : public Net {
 public:
  Graph made(int64_t layers) {
    const Value ids = graph.input("input_ids", i64({"batch", "sequence"}));
    Value x = gather(weight({8000, kWidth}), ids, 0);
    Values pasts;
    for (int64_t i = 0; i < 2 * layers; ++i)
      pasts.push_back(graph.input(text(i % 2 == 0 ? "past_key" : "past_value", i / 2),
                                  f32({"batch", kShared, "past", kSize})));
    const Value past = extent(pasts[0], 2), length = extent(ids, 1);
    const Value places = range(past, past + length, whole(1));
    Tensor rates(DType::f32, {1, kSize / 2});
    for (int64_t i = 0; i < rates.count(); ++i)
      rates.set(i, std::pow(10000.0, -2.0 * static_cast<double>(i) / double{kSize}));
    const Value half = unsqueeze(cast(places, DType::f32), {1}) * graph.constant(rates);
    const Value angles = concat({half, half}, -1), cosines = cos(angles), sines = sin(angles);
    const Value keys = range(whole(0), past + length, whole(1));
    const Value hidden =
        where(less_equal(keys, unsqueeze(places, {1})), number(0), number(-3.4028234663852886e38));
    for (int64_t i = 0; i < layers; ++i)
      x = layer(x, {cosines, sines, hidden, pasts[size_t(2 * i)], pasts[size_t(2 * i + 1)]}, i);
    const Value last = norm(x);
    graph.output("logits", matmul(last, weight({kWidth, 8000})));
    return std::move(graph);
  }

 private:
  static constexpr int64_t kWidth = 256, kHeads = 8, kShared = 2, kSize = 32, kGate = 704;

  struct Around {
    Value cosines, sines, hidden, past_key, past_value;
  };

  Value norm(Value x) {
    const Value square = mean(pow(x, number(2)), {-1}, true);
    const Value y = x * rsqrt(square + number(1e-6));
    return weight({kWidth}) * y;
  }
  Value heads(Value x, int64_t count) {
    const Value y = matmul(x, weight({kWidth, count * kSize}));
    return transpose(reshape(y, Dims{"batch", "sequence", count, kSize}), {0, 2, 1, 3});
  }
  static Value turned(Value x, const Around& around) {
    const Value low = slice(x, {0}, {kSize / 2}, {-1}), high = slice(x, {kSize / 2}, {kSize}, {-1});
    const Value rotated = concat({-high, low}, -1);
    return x * around.cosines + rotated * around.sines;
  }
  static Value repeated(Value x) {
    const Dim keys = x.shape()[2];
    const Value many = expand(unsqueeze(x, {2}), {"batch", kShared, kHeads / kShared, keys, kSize});
    return reshape(many, Dims{"batch", kHeads, keys, kSize});
  }
  Value layer(Value x, const Around& around, int64_t number_of_it) {
    const Value in = norm(x);
    const Value q = turned(heads(in, kHeads), around), k = turned(heads(in, kShared), around),
                v = heads(in, kShared);
    const Value keys = concat({around.past_key, k}, 2), values = concat({around.past_value, v}, 2);
    graph.output(text("key", number_of_it), keys);
    graph.output(text("value", number_of_it), values);
    const Value dots = matmul(q, transpose(repeated(keys), {0, 1, 3, 2}));
    const Value weights = softmax(dots * number(1 / std::sqrt(double{kSize})) + around.hidden);
    const Value mixed = matmul(weights, repeated(values));
    const Value joined = reshape(transpose(mixed, {0, 2, 1, 3}), Dims{"batch", "sequence", kWidth});
    const Value first = matmul(joined, weight({kWidth, kWidth})) + x;
    const Value wide = norm(first);
    const Value gate = matmul(wide, weight({kWidth, kGate}));
    const Value up = matmul(wide, weight({kWidth, kGate}));
    const Value open = gate * sigmoid(gate) * up;
    return matmul(open, weight({kGate, kWidth})) + first;
  }
};

// ---- Pictures ----

class PictureNet : public Net {
 public:
  Graph resnet18() {
    Value x = relu(normal(window(picture(), 3, 64, {.size = 7, .stride = 2}), 64));
    x = x.apply(max_pool_op(), {x},
                {{"window", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
    int64_t from = 64;
    for (const int64_t to : {64, 128, 256, 512}) {
      x = block(block(x, from, to, to == 64 ? 1 : 2), to, to, 1);
      from = to;
    }
    return classes(x, 512);
  }

  Graph mobilenetv2() {
    struct Stage {
      int64_t factor, to, repeats, stride;
    };
    constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    Value x = bounded(window(picture(), 3, 32, {.stride = 2, .bias = true}));
    int64_t from = 32;
    for (const Stage& stage : kStages)
      for (int64_t i = 0; i < stage.repeats; ++i) {
        const int64_t stride = i == 0 ? stage.stride : 1, inner = from * stage.factor;
        Value y = x;
        if (stage.factor != 1) y = bounded(window(y, from, inner, {.size = 1, .bias = true}));
        y = bounded(window(y, inner, inner, {.stride = stride, .groups = inner, .bias = true}));
        y = window(y, inner, stage.to, {.size = 1, .bias = true});
        x = stride == 1 && from == stage.to ? x + y : y;
        from = stage.to;
      }
    return classes(bounded(window(x, from, 1280, {.size = 1, .bias = true})), 1280);
  }

 private:
  struct Window {
    int64_t size = 3, stride = 1, groups = 1;
    bool bias = false;
  };

  Value picture() { return graph.input("input", f32({"batch", 3, 224, 224})); }
  Value window(Value x, int64_t from, int64_t to, const Window& of) {
    const Value w = weight({to, from / of.groups, of.size, of.size}),
                bias = of.bias ? weight({to}) : Value{};
    return x.apply(conv_op(), {x, w, bias},
                   {{"strides", Ints{of.stride, of.stride}},
                    {"pads", Ints(4, of.size / 2)},
                    {"groups", of.groups}});
  }
  Value normal(Value x, int64_t channels) {
    const Value gamma = weight({channels}), beta = weight({channels}), centre = weight({channels}),
                variance = weight({channels});
    return x.apply(batch_norm_op(), {x, gamma, beta, centre, variance});
  }
  static Value bounded(Value x) { return clip(x, 0, 6); }
  Value block(Value x, int64_t from, int64_t to, int64_t stride) {
    const Value inner = relu(normal(window(x, from, to, {.stride = stride}), to));
    const Value y = normal(window(inner, to, to, {}), to);
    const Value skip =
        from == to ? x : normal(window(x, from, to, {.size = 1, .stride = stride}), to);
    return relu(y + skip);
  }
  Graph classes(Value x, int64_t from) {
    const Value w = weight({1000, from});
    graph.output("logits", linear(mean(x, {2, 3}), w, weight({1000}), "", true));
    return std::move(graph);
  }
};

}  // namespace

std::vector<ModelGraph> model_graphs() {
  std::vector<ModelGraph> models;
  models.push_back({"minilm", Encoder().made(2)});
  models.push_back({"resnet18", PictureNet().resnet18()});
  models.push_back({"mobilenetv2", PictureNet().mobilenetv2()});
  models.push_back({"decoder", Decoder().made(2)});
  return models;
}

}  // namespace rlx
