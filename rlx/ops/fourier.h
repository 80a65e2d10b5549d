// The Fourier transform of the host, in double, for references and tables.
#pragma once

#include <complex>
#include <vector>

namespace rlx {

// sum over t of x_t exp(-2 pi i k t / n), or + where it is inverse; n is smooth (base/fourier.h).
std::vector<std::complex<double>> transformed(const std::vector<std::complex<double>>& x,
                                              bool inverse);

}  // namespace rlx
