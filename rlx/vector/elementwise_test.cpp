#include "rlx/vector/elementwise.h"

#include <gtest/gtest.h>

#include "rlx/vector/testing.h"

namespace rlx::vector {
namespace {

struct Claim {
  const char* name;
  Elementwise::Function Elementwise::*function;
  double (*exact)(double x);
  float low, high;
  double ulps, absolute;  // either suffices; the second is per max(1, |x|)
};
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5)); }
double gelu_tanh(double x) { return x * sigmoid(std::sqrt(8 / M_PI) * (x + 0.044715 * x * x * x)); }
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::abs(x))); }
const Claim kClaims[] = {
    {"exp", &Elementwise::exp, [](double x) { return std::exp(x); }, -104, 89, 2, 0},
    {"log", &Elementwise::log, [](double x) { return std::log(x); }, 0, 10, 2, 0},
    {"log", &Elementwise::log, [](double x) { return std::log(x); }, 0, 3e38f, 2, 0},
    {"sin", &Elementwise::sin, [](double x) { return std::sin(x); }, -10, 10, 2, 1e-7},
    {"sin", &Elementwise::sin, [](double x) { return std::sin(x); }, -9000, 9000, 2, 1.2e-7},
    {"cos", &Elementwise::cos, [](double x) { return std::cos(x); }, -10, 10, 2, 1e-7},
    {"tanh", &Elementwise::tanh, [](double x) { return std::tanh(x); }, -1, 1, 4, 0},
    {"tanh", &Elementwise::tanh, [](double x) { return std::tanh(x); }, -12, 12, 6, 0},
    {"sigmoid", &Elementwise::sigmoid, sigmoid, -87, 100, 4, 0},
    {"silu", &Elementwise::silu, [](double x) { return x * sigmoid(x); }, -87, 100, 5, 0},
    {"erf", &Elementwise::erf, [](double x) { return std::erf(x); }, -0.1f, 0.1f, 4, 0},
    {"erf", &Elementwise::erf, [](double x) { return std::erf(x); }, -5, 5, 0, 4e-7},
    {"gelu", &Elementwise::gelu, gelu, -12.5f, 12.5f, 16, 0},
    {"gelu_quick", &Elementwise::gelu_quick, gelu, -10, 10, 0, 4e-7},
    {"gelu_tanh", &Elementwise::gelu_tanh, gelu_tanh, -3, 10, 32, 0},
    {"relu", &Elementwise::relu, [](double x) { return x > 0 ? x : 0; }, -1, 1, 0, 0},
    {"square", &Elementwise::square, [](double x) { return x * x; }, -9, 9, 0.5, 0},
    {"rsqrt", &Elementwise::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.001f, 100, 2, 0},
    {"expm1", &Elementwise::expm1, [](double x) { return std::expm1(x); }, -1, 1, 4, 0},
    {"expm1", &Elementwise::expm1, [](double x) { return std::expm1(x); }, -90, 88, 4, 0},
    {"log1p", &Elementwise::log1p, [](double x) { return std::log1p(x); }, -1, 1, 4, 0},
    {"log1p", &Elementwise::log1p, [](double x) { return std::log1p(x); }, 0, 3e38f, 4, 0},
    {"softplus", &Elementwise::softplus, softplus, -87, 100, 4, 0},
    {"softplus", &Elementwise::softplus, softplus, -3, 3, 4, 0},
    {"mish", &Elementwise::mish, [](double x) { return x * std::tanh(softplus(x)); }, -80, 100, 12,
     0},
    {"mish", &Elementwise::mish, [](double x) { return x * std::tanh(softplus(x)); }, -3, 3, 12, 0},
    {"softsign", &Elementwise::softsign, [](double x) { return x / (1 + std::abs(x)); }, -9, 9, 2,
     0},
    {"floor", &Elementwise::floor, [](double x) { return std::floor(x); }, -9, 9, 0, 0},
    {"floor", &Elementwise::floor, [](double x) { return std::floor(x); }, -2e7f, 2e7f, 0, 0},
    {"ceil", &Elementwise::ceil, [](double x) { return std::ceil(x); }, -9, 9, 0, 0},
    {"ceil", &Elementwise::ceil, [](double x) { return std::ceil(x); }, -2e7f, 2e7f, 0, 0},
    {"round", &Elementwise::round, [](double x) { return std::nearbyint(x); }, -9, 9, 0, 0},
    {"round", &Elementwise::round, [](double x) { return std::nearbyint(x); }, -2e7f, 2e7f, 0, 0},
    {"sign", &Elementwise::sign, [](double x) { return x > 0 ? 1.0 : -1.0; }, -9, 9, 0, 0},
    {"sqrt", &Elementwise::sqrt, [](double x) { return std::sqrt(x); }, 0, 100, 0.5, 0},
};

TEST(VectorElementwise, ErrorsAreAsStated) {
  for (const Isa isa : isas())
    for (const Claim& claim : kClaims) {
      SCOPED_TRACE(std::string(name_of(isa)) + " " + claim.name);
      const std::vector<float> x = random_floats(100'003, claim.low, claim.high);
      std::vector<float> y(x.size());
      (elementwise(isa).*claim.function)(x.data(), y.data(), static_cast<int64_t>(x.size()));
      double worst = 0, worst_absolute = 0, at = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = claim.exact(static_cast<double>(x[i]));
        const double absolute = std::abs(static_cast<double>(y[i]) - want) /
                                std::max(1.0, std::abs(static_cast<double>(x[i])));
        if (absolute <= claim.absolute) continue;
        const double steps = ulps(y[i], want);
        if (steps > worst) worst = steps, at = static_cast<double>(x[i]), worst_absolute = absolute;
      }
      EXPECT_LE(worst, claim.ulps) << "at " << at << ", absolute " << worst_absolute;
    }
}

TEST(VectorElementwise, EveryCountIsCovered) {
  for (const Isa isa : isas())
    for (const int64_t count : {0, 1, 3, 4, 15, 16, 17, 255}) {
      std::vector<float> x(static_cast<size_t>(count) + 1, -3);
      elementwise(isa).relu(x.data(), x.data(), count);
      for (int64_t i = 0; i < count; ++i) EXPECT_EQ(x[static_cast<size_t>(i)], 0);
      EXPECT_EQ(x.back(), -3) << "beyond the end";
    }
}

TEST(VectorElementwise, NumbersThatAreNoneStayAndInfinitiesHaveTheirLimits) {
  constexpr float kInf = INFINITY;
  for (const Isa isa : isas()) {
    const Elementwise code = elementwise(isa);
    const auto of = [](Elementwise::Function f, float x) {
      f(&x, &x, 1);
      return x;
    };
    for (const Claim& claim : kClaims)
      EXPECT_TRUE(std::isnan(of(code.*claim.function, NAN))) << claim.name << name_of(isa);
    EXPECT_EQ(of(code.exp, kInf), kInf);
    EXPECT_EQ(of(code.exp, -kInf), 0);
    EXPECT_EQ(of(code.exp, -200), 0);
    EXPECT_EQ(of(code.exp, 0), 1);
    EXPECT_EQ(of(code.log, kInf), kInf);
    EXPECT_EQ(of(code.log, 0), -kInf);
    EXPECT_TRUE(std::isnan(of(code.log, -1)));
    EXPECT_EQ(of(code.tanh, kInf), 1);
    EXPECT_EQ(of(code.tanh, -kInf), -1);
    EXPECT_EQ(of(code.sigmoid, kInf), 1);
    EXPECT_EQ(of(code.sigmoid, -kInf), 0);
    EXPECT_EQ(of(code.erf, kInf), 1);
    EXPECT_EQ(of(code.erf, -kInf), -1);
    EXPECT_EQ(of(code.gelu, kInf), kInf);
    EXPECT_TRUE(std::isnan(of(code.gelu, -kInf)));  // -infinity times 0
    EXPECT_TRUE(std::isnan(of(code.sin, kInf)));
    EXPECT_EQ(of(code.expm1, kInf), kInf);
    EXPECT_EQ(of(code.expm1, -kInf), -1);
    EXPECT_EQ(of(code.log1p, kInf), kInf);
    EXPECT_EQ(of(code.log1p, -1), -kInf);
    EXPECT_EQ(of(code.softplus, kInf), kInf);
    EXPECT_EQ(of(code.softplus, -kInf), 0);
    EXPECT_EQ(of(code.floor, -kInf), -kInf);
    EXPECT_EQ(of(code.ceil, kInf), kInf);
    EXPECT_EQ(of(code.round, 2.5f), 2);
    EXPECT_EQ(of(code.round, -3.5f), -4);
    EXPECT_EQ(of(code.sign, 0), 0);
    EXPECT_EQ(of(code.rsqrt, 0), kInf);
    EXPECT_TRUE(std::signbit(of(code.sin, -0.0f)));
    EXPECT_TRUE(std::signbit(of(code.tanh, -0.0f)));
  }
}

TEST(VectorElementwise, CombinesOperandsOfAnyStep) {
  using Of = float (*)(float, float);
  const std::pair<Binary, Of> kinds[] = {
      {Binary::add, [](float a, float b) { return a + b; }},
      {Binary::sub, [](float a, float b) { return a - b; }},
      {Binary::mul, [](float a, float b) { return a * b; }},
      {Binary::div, [](float a, float b) { return a / b; }},
      {Binary::max, [](float a, float b) { return a != a || a >= b ? a : b; }},
      {Binary::min, [](float a, float b) { return a != a || a <= b ? a : b; }},
      {Binary::lt, [](float a, float b) { return a < b ? 1.0f : 0.0f; }},
      {Binary::le, [](float a, float b) { return a <= b ? 1.0f : 0.0f; }},
      {Binary::gt, [](float a, float b) { return a > b ? 1.0f : 0.0f; }},
      {Binary::ge, [](float a, float b) { return a >= b ? 1.0f : 0.0f; }},
      {Binary::eq, [](float a, float b) { return a == b ? 1.0f : 0.0f; }},
      {Binary::ne, [](float a, float b) { return a != b ? 1.0f : 0.0f; }}};
  for (const Isa isa : isas())
    for (const auto& kind : kinds)
      for (const int64_t a_step : {0, 1, 3})
        for (const int64_t b_step : {0, 1, 2})
          for (const int64_t count : {0, 1, 3, 17, 255}) {
            std::vector<float> a = random_floats(3 * count + 1, -1, 1, 1),
                               b = random_floats(3 * count + 1, -1, 1, 2);
            if (count > 10)
              a[static_cast<size_t>(a_step * 5)] = NAN, b[static_cast<size_t>(b_step * 7)] = NAN;
            std::vector<float> y(static_cast<size_t>(count) + 1, 7);
            elementwise(isa).combine(kind.first, a.data(), a_step, b.data(), b_step, y.data(),
                                     count);
            for (int64_t i = 0; i < count; ++i) {
              const float want = kind.second(a[static_cast<size_t>(i * a_step)],
                                             b[static_cast<size_t>(i * b_step)]);
              const float got = y[static_cast<size_t>(i)];
              ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
                  << name_of(isa) << got << want;
            }
            ASSERT_EQ(y.back(), 7);
          }
}

TEST(VectorElementwise, ChoosesBetweenOperandsOfAnyStep) {
  const float a[] = {1, 2, NAN, 4, 5, 6, 7, 8, 9}, b[] = {-1, -2, -3, NAN, -5, -6, -7, -8, -9};
  const float c[] = {1, 0, 1, 0, 0, 1, 0, 1, 1};
  for (const Isa isa : isas())
    for (const int64_t c_step : {0, 1})
      for (const int64_t a_step : {0, 1, 2})
        for (const int64_t b_step : {0, 1})
          for (const int64_t count : {0, 1, 4}) {
            float y[] = {7, 7, 7, 7, 7};
            elementwise(isa).choose(c, c_step, a, a_step, b, b_step, y, count);
            for (int64_t i = 0; i < count; ++i) {
              const float want = c[i * c_step] != 0 ? a[i * a_step] : b[i * b_step];
              ASSERT_TRUE(y[i] == want || (std::isnan(y[i]) && std::isnan(want))) << name_of(isa);
            }
            ASSERT_EQ(y[count], 7);
          }
}

TEST(VectorElementwise, ClampKeepsWhatIsNoNumber) {
  for (const Isa isa : isas()) {
    float x[] = {-5, 0.5f, 5, NAN, INFINITY};
    elementwise(isa).clamp(x, -1, 1, x, 5);
    EXPECT_EQ(x[0], -1);
    EXPECT_EQ(x[1], 0.5f);
    EXPECT_EQ(x[2], 1);
    EXPECT_TRUE(std::isnan(x[3]));
    EXPECT_EQ(x[4], 1);
  }
}

TEST(VectorElementwise, ExponentialsBelow0AreAsTheirFormulas) {
  const std::vector<float> x = random_floats(10'003, -20, 5);
  constexpr float kSlope = 1.7f, kScale = 1.05f;
  const auto below = [](double v, double slope, double by) {
    return v > 0 ? v : slope * std::expm1(v / by);
  };
  for (const Isa isa : isas()) {
    const Elementwise code = elementwise(isa);
    const auto all = [&](Elementwise::Shaped f, float a, float b) {
      std::vector<float> y(x.size());
      f(x.data(), a, b, y.data(), static_cast<int64_t>(x.size()));
      return y;
    };
    const auto elus = all(code.elu, kSlope, 0), selus = all(code.selu, kSlope, kScale),
               celus = all(code.celu, kSlope, 0);
    for (size_t i = 0; i < x.size(); ++i) {
      const auto v = static_cast<double>(x[i]), slope = static_cast<double>(kSlope);
      ASSERT_LE(ulps(elus[i], below(v, slope, 1)), 6) << name_of(isa) << v;
      ASSERT_LE(ulps(selus[i], static_cast<double>(kScale) * below(v, slope, 1)), 8)
          << name_of(isa) << v;
      ASSERT_LE(ulps(celus[i], below(v, slope, slope)), 8) << name_of(isa) << v;
    }
  }
}

TEST(VectorElementwise, EveryF16AndBf16IsReadAndWrittenAsItIs) {
  for (const Isa isa : isas())
    for (const Element element : {Element::f16, Element::bf16}) {
      std::vector<uint16_t> words(65536), back(words.size());
      for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint16_t>(i);
      std::vector<float> numbers(words.size());
      elementwise(isa).widen(element, words.data(), numbers.data(), 65536);
      elementwise(isa).narrow(numbers.data(), element, back.data(), 65536);
      for (size_t i = 0; i < words.size(); ++i) {
        const float want = Elements::number(element, words[i]);
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(numbers[i])) << name_of(isa) << " " << i;
          ASSERT_TRUE(std::isnan(Elements::number(element, back[i]))) << name_of(isa) << " " << i;
        } else {
          ASSERT_EQ(numbers[i], want) << name_of(isa) << " " << i;
          ASSERT_EQ(back[i], words[i]) << name_of(isa);
        }
      }
    }
}

TEST(VectorElementwise, NumbersBetweenTwoOfANarrowDtypeGoToTheNearest) {
  for (const Isa isa : isas())
    for (const Element element : {Element::f16, Element::bf16})
      for (uint16_t word = 0; word < (element == Element::f16 ? 0x7bff : 0x7f7f); ++word) {
        const float low = Elements::number(element, word),
                    high = Elements::number(element, static_cast<uint16_t>(word + 1));
        const float middle = low + (high - low) / 2;
        const float between[] = {std::nextafter(middle, low), middle, std::nextafter(middle, high)};
        uint16_t got[3];
        elementwise(isa).narrow(between, element, got, 3);
        ASSERT_EQ(got[0], word) << name_of(isa);
        ASSERT_EQ(got[1], word + (word & 1)) << name_of(isa);
        ASSERT_EQ(got[2], word + 1) << name_of(isa);
      }
}

}  // namespace
}  // namespace rlx::vector
