// ONNX operators on signals: Fourier transforms, windows, the mel scale.

#include "rlx/ops/ops_signal.h"

#include <algorithm>
#include <cmath>

#include "rlx/import/onnx/site.h"

namespace rlx::onnx {
namespace {

using Site = const NodeSite&;

DType dtype_attribute(Site site, const char* name) {
  const std::optional<DType> dtype = dtype_of(static_cast<int>(site.integer(name, 1)));
  if (!dtype) site.fail_node("the dtype is none of rlx");
  return *dtype;
}

Items dft_operator(Site site) {
  const Value x = site.in(0);
  // From opset 20 on the axis is an operand, and the last but one where it is absent.
  int64_t axis = site.integer("axis", 1);
  if (site.opset >= 20) axis = site.has(2) ? site.known_ints(2).at(0) : -2;
  return {dft(x, axis,
              {.length = site.has(1) ? site.known_ints(1).at(0) : 0,
               .inverse = site.flag("inverse"),
               .onesided = site.flag("onesided")})};
}

Items stft_operator(Site site) {
  const Value window = site.maybe(2);
  int64_t length = 0;
  if (site.has(3))
    length = site.known_ints(3).at(0);
  else if (window && window.shape().at(0).is_number())
    length = window.shape()[0].number();
  else
    site.fail_node("needs the length of a frame, or a window that has it");
  return {stft(site.in(0), site.known_ints(1).at(0), length, window, site.flag("onesided", true))};
}

Items window(Site site, const Floats& terms) {
  if (const auto size = site.maybe_ints(0); size && !size->empty() && size->at(0) < 0)
    site.fail_node("the size ", size->at(0), " is negative");
  return {cosine_window(site.in(0), terms, site.flag("periodic", true),
                        dtype_attribute(site, "output_datatype"))};
}
Items hann(Site site) { return window(site, {0.5, 0.5}); }
Items hamming(Site site) { return window(site, {25.0 / 46, 21.0 / 46}); }
Items blackman(Site site) { return window(site, {0.42, 0.5, 0.08}); }

// Triangles, equally wide on the mel scale, over the frequencies of a spectrogram.
Items mel_weight_matrix(Site site) {
  const int64_t bins = site.known_ints(0).at(0), length = site.known_ints(1).at(0),
                rate = site.known_ints(2).at(0), rows = length / 2 + 1;
  constexpr int64_t kMost = int64_t{1} << 28;  // elements
  if (bins < 0 || length < 0 || rate <= 0 || bins > kMost / rows)
    site.fail_node(bins, " bins of ", length, " samples at a rate of ", rate,
                   " are none, or more than ", kMost, " weights");
  const auto mel = [&](size_t i) { return 2595 * std::log10(1 + site.known_number(i) / 700); };
  const double low = mel(3), step = (mel(4) - low) / static_cast<double>(bins + 2);
  const auto place = [&](int64_t i) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(i) * step) / 2595) - 1);
    const double row =
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(std::abs(row) < 0x1p53)) site.fail_node("a bin at ", hertz, " hertz has no place");
    return static_cast<int64_t>(row);
  };
  site.spend_elements(rows * bins);
  Tensor weights(dtype_attribute(site, "output_datatype"), {rows, bins});
  const auto set = [&](int64_t row, int64_t bin, double weight) {
    if (row >= 0 && row < rows) weights.set(row * bins + bin, weight);
  };
  for (int64_t bin = 0; bin < bins; ++bin) {
    const int64_t from = place(bin), top = place(bin + 1), to = place(bin + 2);
    if (from == top) set(top, bin, 1);
    const int64_t first = std::max<int64_t>(from, 0), middle = std::max<int64_t>(top, 0);
    for (int64_t row = first; from < top && row <= std::min(top, rows - 1); ++row)
      set(row, bin, static_cast<double>(row - from) / static_cast<double>(top - from));
    for (int64_t row = middle; row < std::min(to, rows); ++row)
      set(row, bin, static_cast<double>(to - row) / static_cast<double>(to - top));
  }
  return {site.constant(weights)};
}

}  // namespace

std::span<const Operator> signal_operators() {
  static constexpr Operator kOperators[] = {
      {"BlackmanWindow", blackman}, {"DFT", dft_operator},   {"HammingWindow", hamming},
      {"HannWindow", hann},         {"STFT", stft_operator}, {"MelWeightMatrix", mel_weight_matrix},
  };
  return kOperators;
}

}  // namespace rlx::onnx
