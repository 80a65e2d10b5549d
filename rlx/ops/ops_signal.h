// Spectra of signals: windows, frames, power, mel bands. See ops_fft.h for the transforms.
#pragma once

#include "rlx/ir/value.h"
#include "rlx/ops/ops_core.h"

namespace rlx {

// ---- As ONNX has them: signals whose last dim is 1, or 2 for the parts of complex numbers ----

struct DftOptions {
  int64_t length = 0;  // 0: as many as there are samples; else they are cut or zeros follow
  bool inverse = false;
  bool onesided = false;  // only the first length / 2 + 1 frequencies
};
// The discrete Fourier transform along an axis, counted with the last.
Value dft(Value x, int64_t axis, const DftOptions& options = {});
// That of frames of `length` samples, every `step`: signal [B, S, 1 or 2] to [B, frames, K, 2].
Value stft(Value signal, int64_t step, int64_t length, Value window = {}, bool onesided = true);
// a0 - a1 cos(t) + a2 cos(2 t) - .. over `size` places, one integer known on the host; t makes a
// full turn at the end, or if it is not periodic at the last place.
Value cosine_window(Value size, const Floats& terms, bool periodic = true,
                    DType dtype = DType::f32);

// ---- As SciPy and librosa have them: real signals [.., samples] ----

// A constant: "boxcar", "hann", "hamming", "blackman", "blackmanharris", "nuttall", "flattop",
// "bartlett".
Value window(Value like, const std::string& name, int64_t length, bool periodic = true);
// Frames [.., samples] to [.., frames, length].
Value frames(Value x, int64_t step, int64_t length);
// The signal again from the stft of one, [B, frames, length / 2 + 1, 2] to [B, samples]: frames
// times the window are added up and divided by the sum of its squares where that is not 0.
Value istft(Value spectrum, int64_t step, int64_t length, Value window = {});

struct SpectrumOptions {
  double rate = 1;                  // samples per second
  std::string window = "hann";      // see above; SciPy's periodogram has "boxcar"
  int64_t length = 0;               // of a segment; 0: welch has 256, or all where there are fewer
  int64_t step = 0;                 // from segment to segment; 0: half a segment
  bool detrend = true;              // the mean of each segment is taken off first
  std::string scaling = "density";  // V^2 / Hz; "spectrum": V^2; "none": |X|^2 as it is
};
// The power at each frequency of an rfft, [.., samples] to [.., bins], those but 0 and half the
// rate doubled: of all samples at once, and the mean over segments. Frequencies are rfftfreq's.
Value psd(Value x, const SpectrumOptions& options = {});
Value welch(Value x, const SpectrumOptions& options = {});
// The k strongest bins of welch, the strongest first: power, and which bin.
TopK welch_peaks(Value x, int64_t k, const SpectrumOptions& options = {});

// x * h along the last axis, which broadcast in the others; mode "full", "same" or "valid".
Value fft_conv(Value x, Value h, const std::string& mode = "full");

struct MelOptions {
  double rate = 16000;
  int64_t length = 400;  // samples of a frame
  int64_t bands = 80;
  double low = 0, high = 0;  // hertz; 0: half the rate
  bool htk = false;          // the scale of HTK, else Slaney's
  bool equal_area = true;    // triangles of one area, else of one height
};
// Triangles over the frequencies of an rfft, [bands, length / 2 + 1].
Value mel_filters(Value like, const MelOptions& options = {});

struct LogMelOptions {
  MelOptions mel = {};
  int64_t step = 160;
  bool per_frame = false;  // whose maximum the floor is below: each frame's, else the clip's
};
// As Whisper has it: [.., samples] to [.., bands, samples / step]. log10 of the mel energies of
// centred frames under Hann's window, at least 1e-10 and at least 8 below the maximum, + 4, / 4.
Value log_mel(Value x, const LogMelOptions& options = {});

}  // namespace rlx
