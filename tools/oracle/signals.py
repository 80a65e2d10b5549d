"""Fourier transforms and spectra, by NumPy's and SciPy's own; the mel scale from its definitions."""
import numpy as np
import scipy.signal

from registry import oracle


def numbers(x):
    return x[..., 0] + 1j * x[..., 1]


def pairs(z):
    return np.stack([z.real, z.imag], -1)


@oracle('numpy', 'fourier')
def fourier(c, x, turns):
    z = numbers(x)
    return pairs((np.fft.ifft(z) * z.shape[-1] if c.inverse else np.fft.fft(z)) * c.scale)


@oracle('numpy', 'half_spectrum')
def half_spectrum(c, x, turns):
    if c.inverse:
        samples = np.fft.irfft(numbers(x), 2 * (x.shape[-2] - 1))
        y = 2 * np.fft.fft(samples[..., ::2] + 1j * samples[..., 1::2])
        y[..., 0] *= c.ends
    else:
        z = np.fft.ifft(numbers(x))
        samples = np.stack([z.real, z.imag], -1).reshape(*z.shape[:-1], 2 * z.shape[-1])
        y = 2 * np.fft.rfft(samples)
        y[..., [0, -1]] *= c.ends
    return pairs(y)


# By row: the axis, the length, the norm.
@oracle('numpy', 'fft')
def fft(c, x):
    return pairs(np.fft.fft(numbers(x), **{
        'an axis in the middle': {'axis': 1}, 'the first axis, ortho': {'axis': 0, 'norm': 'ortho'},
        'a prime, forward': {'axis': 0, 'norm': 'forward'}, 'zeros follow': {'n': 16}, 'cut': {'n': 4}}.get(c.row, {})))


@oracle('numpy', 'ifft')
def ifft(c, x):
    return pairs(np.fft.ifft(numbers(x), **{
        'a prime in the middle, ortho': {'axis': 1, 'norm': 'ortho'},
        'zeros follow, forward': {'n': 11, 'norm': 'forward'}}.get(c.row, {})))


@oracle('numpy', 'rfft')
def rfft(c, x):
    return pairs(np.fft.rfft(x, **{
        'a chirp in the middle, ortho': {'axis': 1, 'norm': 'ortho'},
        'half of it is a prime, forward': {'norm': 'forward'}, 'zeros follow': {'n': 12}, 'cut': {'n': 4}}.get(c.row, {})))


@oracle('numpy', 'irfft')
def irfft(c, x):
    return np.fft.irfft(numbers(x), **{
        'odd': {'n': 63}, 'the first axis, ortho': {'axis': 0, 'norm': 'ortho'},
        'zeros follow, forward': {'n': 20, 'norm': 'forward'}, 'cut': {'n': 6}, 'one sample': {'n': 1}}.get(c.row, {}))


@oracle('numpy', 'fftn')
def fftn(c, x):
    return pairs(np.fft.fftn(numbers(x), **({'axes': (0, -1), 's': (3, 8), 'norm': 'ortho'} if 'cut' in c.row else {})))


@oracle('numpy', 'ifftn')
def ifftn(c, x):
    return pairs(np.fft.ifftn(numbers(x), **({'axes': (1, 2), 'norm': 'forward'} if 'two' in c.row else {})))


@oracle('numpy', 'rfftn')
def rfftn(c, x):
    return pairs(np.fft.rfftn(x, **{'the last two': {'axes': (1, 2)},
                                    'lengths, ortho': {'axes': (0, 1), 's': (3, 10), 'norm': 'ortho'}}.get(c.row, {})))


@oracle('numpy', 'irfftn')
def irfftn(c, x):
    return np.fft.irfftn(numbers(x), **{'an odd length': {'axes': (1, 2), 's': (4, 9)},
                                        'forward': {'norm': 'forward'}}.get(c.row, {}))


FREQUENCIES = {'odd': (9, 1), 'even, a spacing': (10, 0.25), 'one': (1, 1)}


@oracle('numpy', 'fftfreq')
def fftfreq(c, x):
    return np.fft.fftfreq(*FREQUENCIES[c.row])


@oracle('numpy', 'rfftfreq')
def rfftfreq(c, x):
    return np.fft.rfftfreq(*FREQUENCIES[c.row])


@oracle('numpy', 'complex_mul')
def complex_mul(c, a, b):
    return pairs(numbers(a) * numbers(b))


@oracle('numpy', 'complex_power')
def complex_power(c, z):
    return np.abs(numbers(z)) ** 2


def cut(x, step, length):
    count = max(0, (x.shape[-1] - length) // step + 1)
    parts = [x[..., i * step:i * step + length] for i in range(count)]
    return np.stack(parts, -2) if parts else np.zeros(x.shape[:-1] + (0, length))


@oracle('formula', 'frames')
def frames(c, x):
    return cut(x, *{'that overlap': (3, 7), 'apart, of several signals': (9, 8), 'too short for one': (1, 8),
                    'a symbolic length': (4, 8)}[c.row])


@oracle('formula', 'istft')
def istft(c, spectrum, window=None):
    step, length = {'frames that overlap, and a window': (4, 8), 'side by side': (9, 9),
                    'apart: nothing in between': (11, 8), 'a symbolic number of frames': (2, 6)}[c.row]
    x = np.fft.irfft(numbers(spectrum), length)
    window = np.ones(length) if window is None else window
    y = np.zeros((x.shape[0], (x.shape[1] - 1) * step + length))
    weight = np.zeros(y.shape[1])
    for f in range(x.shape[1]):
        y[:, f * step:f * step + length] += x[:, f] * window
        weight[f * step:f * step + length] += window ** 2
    return y / np.where(weight > 1e-11, weight, 1)


@oracle('scipy', 'psd')
def psd(c, x):
    if c.row == 'as it is':
        power = np.abs(np.fft.rfft(x * scipy.signal.get_window('hamming', x.shape[-1]))) ** 2
        power[..., 1:] *= 2  # an odd number of samples
        return power
    options = {'as SciPy\'s periodogram': {'fs': 8}, 'spectrum': {'fs': 3, 'window': 'blackman', 'scaling': 'spectrum'}}
    return scipy.signal.periodogram(x, **options.get(c.row, {'window': 'hann'}))[1]


@oracle('scipy', 'welch')
def welch(c, x):
    if c.row == 'a symbolic length':
        power = np.mean(np.abs(np.fft.rfft(cut(x, 8, 16) * scipy.signal.get_window('hann', 16))) ** 2, -2)
        power[..., 1:-1] *= 2
        return power
    return scipy.signal.welch(x, **{'half over': {'nperseg': 32}, 'an odd length, a step': {
        'fs': 100, 'nperseg': 25, 'noverlap': 15}, 'shorter than a segment': {
            'nperseg': 70, 'scaling': 'spectrum'}}[c.row])[1]


@oracle('scipy', 'welch_peaks')
def welch_peaks(c, x):
    if c.row == 'one of two':
        parts = cut(x, 15, 30)
        parts = parts - parts.mean(-1, keepdims=True)
        power = np.mean(np.abs(np.fft.rfft(parts * scipy.signal.get_window('hann', 30))) ** 2, -2)
        power[..., 1:-1] *= 2
        k = 1
    else:
        options, k = {'three of one signal': ({'nperseg': 32}, 3),
                      'all there are': ({'nperseg': 16, 'noverlap': 12, 'detrend': False}, 9)}[c.row]
        power = scipy.signal.welch(x, **options)[1]
    order = np.argsort(-power, -1, kind='stable')[..., :k]
    return [np.take_along_axis(power, order, -1), order]


@oracle('scipy', 'fft_conv')
def fft_conv(c, x, h):
    mode = c.row.split(',')[0] if c.row != 'one sample' else 'full'
    shape = np.broadcast_shapes(x.shape[:-1], h.shape[:-1])
    x, h = (np.broadcast_to(v, shape + v.shape[-1:]) for v in (x, h))
    return scipy.signal.fftconvolve(x, h, mode, axes=-1)


@oracle('scipy', 'window')
def window(c, x):
    name, length, symmetric = {'hann': ('hann', 65, False), 'hamming': ('hamming', 64, False),
                               'blackmanharris': ('blackmanharris', 63, True), 'nuttall': ('nuttall', 30, False),
                               'flattop': ('flattop', 31, True), 'bartlett': ('bartlett', 33, True),
                               'one': ('blackman', 1, False)}[c.row]
    return scipy.signal.get_window(name, length, not symmetric)


def mel_weights(rate, length, bands, low, high, htk, area):
    """O'Shaughnessy's scale as HTK has it, or that of Slaney's Auditory Toolbox."""
    def mel(f):
        f = np.asarray(f, float)
        if htk:
            return 1127.0104801031472 * np.log1p(f / 700)
        return np.where(f < 1000, 3 * f / 200, 15 + np.log(np.maximum(f, 1) / 1000) * (27 / np.log(6.4)))

    grid = np.linspace(0, rate, 2000001)
    edges = np.interp(np.linspace(mel(low), mel(high), bands + 2), mel(grid), grid)  # turned around by looking it up
    hertz = np.arange(length // 2 + 1) * rate / length
    rows = []
    for a, b, d in zip(edges, edges[1:], edges[2:]):
        triangle = np.interp(hertz, [a, b, d], [0, 1, 0])
        rows.append(triangle * (2 / (d - a) if area else 1))
    return np.array(rows)


@oracle('formula', 'mel_filters')
def mel_filters(c, x):
    return mel_weights(*{'Whisper\'s': (16000, 400, 80, 0, 8000, False, True),
                         'HTK, one height': (8000, 257, 13, 100, 3500, True, False),
                         'HTK, one area': (22050, 512, 40, 0, 11025, True, True),
                         'few bands': (800, 30, 4, 0, 400, False, True),
                         'above a low end': (8000, 24, 5, 300, 3000, False, True),
                         'HTK, few bands': (16000, 26, 3, 0, 8000, True, False)}[c.row])


@oracle('formula', 'log_mel')
def log_mel(c, x):
    rate, length, bands, step = (16000, 400, 80, 160) if 'Whisper' in c.row else (800, 40, 6, 16)
    padded = np.pad(x, ((0, 0), (length // 2, length // 2)), mode='reflect')
    spectrum = np.fft.rfft(cut(padded, step, length)[:, :-1] * scipy.signal.get_window('hann', length))
    energy = np.abs(spectrum) ** 2 @ mel_weights(rate, length, bands, 0, rate / 2, False, True).T
    level = np.log10(np.maximum(energy, 1e-10))
    top = level.max(-1, keepdims=True) if 'frame' in c.row else level.max((-2, -1), keepdims=True)
    return np.swapaxes((np.maximum(level, top - 8) + 4) / 4, -2, -1)
