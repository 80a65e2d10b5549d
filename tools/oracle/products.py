"""Products of matrices and windows, of floats and of bytes, and what quantises."""
import numpy as np

from onnx_models import onnxruntime_run
from registry import oracle
from rows import DTYPES

@oracle('numpy', 'matmul')
def matmul(c, a, b):
    a = np.swapaxes(a, -1, -2) if c.transpose_a and a.ndim > 1 else a
    b = np.swapaxes(b, -1, -2) if c.transpose_b and b.ndim > 1 else b
    return np.matmul(a, b)


@oracle('numpy', 'linear')
def linear(c, x, w, bias=None):
    y = np.matmul(x, w.T if c.transpose_w else w)
    return y if bias is None else y + bias


@oracle('numpy', 'grouped_matmul')
def grouped_matmul(c, x, w, expert):
    return np.einsum('mk,mkn->mn', x, w[expert.astype(np.int64)])


@oracle('numpy', 'matmul_integer')
def matmul_integer(c, a, b, a_zero=None, b_zero=None):
    def less(x, zero, axis):
        if zero is None:
            return x.astype(np.int64)
        zero = zero.astype(np.int64)
        if zero.ndim == 1 and zero.size > 1:  # one for each row of a, or column of b
            zero = zero[:, None] if axis == -2 else zero
        return x.astype(np.int64) - zero
    return np.matmul(less(a, a_zero, -2), less(b, b_zero, -1)).astype(np.int32)


@oracle('numpy', 'dense_solve')
def dense_solve(c, a, b):
    vectors = b.ndim == a.ndim - 1
    x = np.linalg.solve(a, b[..., None] if vectors else b)
    return x[..., 0] if vectors else x


@oracle('numpy', 'det')
def det(c, a):
    return np.linalg.det(a)


AUTO_PAD = {'': 'NOTSET', 'same_upper': 'SAME_UPPER', 'same_lower': 'SAME_LOWER', 'valid': 'VALID'}


def sliding(c, window):
    """The attributes of ONNX's windows."""
    return {'strides': c.strides or [1] * len(window), 'dilations': c.dilations or [1] * len(window),
            'pads': c.pads or None, 'auto_pad': AUTO_PAD[c.auto_pad], 'kernel_shape': list(window)}


def sliding_over(c, window, extents):
    """The same, but padding for equal extents is explicit: onnxruntime does not have it with dilations."""
    attrs = sliding(c, window)
    if c.auto_pad in ('same_upper', 'same_lower'):
        before, after = [], []
        for n, k, s, d in zip(extents, window, attrs['strides'], attrs['dilations']):
            total = max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
            small, large = total // 2, total - total // 2
            before.append(small if c.auto_pad == 'same_upper' else large)
            after.append(large if c.auto_pad == 'same_upper' else small)
        attrs.update(pads=before + after, auto_pad='NOTSET')
    return attrs


@oracle('onnxruntime', 'conv')
def conv(c, x, w, bias=None):
    y, = onnxruntime_run('Conv', [x, w, bias], group=c.groups, **sliding_over(c, w.shape[2:], x.shape[2:]))
    return y


@oracle('onnxruntime', 'conv_integer')
def conv_integer(c, x, w, x_zero=None, w_zero=None):
    # Sums of so few products of bytes are exact in floats, and padding is zero beside the zero point.
    x = x - 0.0 - (0 if x_zero is None else x_zero.astype(float).reshape(-1)[0])
    if w_zero is not None:
        w_zero = w_zero.astype(float).reshape((-1,) + (1,) * (w.ndim - 1))
    w = w - 0.0 - (0 if w_zero is None else w_zero)
    y, = onnxruntime_run('Conv', [x, w], group=c.groups, **sliding_over(c, w.shape[2:], x.shape[2:]))
    return np.rint(y).astype(np.int32)


@oracle('onnxruntime', 'conv_transpose')
def conv_transpose(c, x, w, bias=None):
    attrs = sliding(c, w.shape[2:])
    attrs['group'] = c.groups
    if c.extents:  # all of it, and of that what the extents say
        attrs['pads'] = None
        y, = onnxruntime_run('ConvTranspose', [x, w, bias], **attrs)
        axes = len(c.extents)
        before = c.pads[:axes] or [0] * axes
        fill = 0 if bias is None else bias.reshape((-1,) + (1,) * axes)
        whole = np.zeros(y.shape[:2] + tuple(b + e for b, e in zip(before, c.extents))) + fill
        common = tuple(slice(0, min(m, n)) for m, n in zip(whole.shape[2:], y.shape[2:]))
        whole[(..., *common)] = y[(..., *common)]
        y = whole[(..., *(slice(b, b + e) for b, e in zip(before, c.extents)))]
    else:
        y, = onnxruntime_run('ConvTranspose', [x, w, bias], output_padding=c.output_padding or None,
                             output_shape=c.output_shape or None, **attrs)
    return y


@oracle('numpy', 'quantise')
def quantise(c, x, scale, zero_point=None):
    dtype = c.result_dtypes[0]
    ends = np.iinfo(DTYPES[dtype])
    zero = np.zeros((), np.int64) if zero_point is None else zero_point.astype(np.int64)
    steps = np.rint(x / scale) + zero
    steps = np.where(np.isnan(steps), zero, steps)
    return np.clip(steps, ends.min, ends.max).astype(np.int64)


@oracle('numpy', 'dequantise')
def dequantise(c, x, scale, zero_point=None):
    zero = 0 if zero_point is None else zero_point.astype(np.int64)
    return (x.astype(np.int64) - zero) * scale


@oracle('numpy', 'fake_quantise')
def fake_quantise(c, x, scale=None):
    if c.get('bits') is None:
        return fake_quantise_by(c, x, scale)
    half = 2 ** (c.bits - 1)
    return np.clip(np.rint(x / scale), -half, half - 1) * scale


def fake_quantise_by(c, x, scale=None):
    """The function that finds the scale, by the row's reason."""
    bits = 4 if '4 bits' in c.row else 8
    axis = 1 if 'axis 1' in c.row else None
    others = None if axis is None else tuple(d for d in range(x.ndim) if d != axis)
    if scale is None or 'average' in c.row:
        largest = (np.abs(x).max(others) / (2 ** (bits - 1) - 1)).astype(np.float32).astype(np.float64)
        scale = largest if scale is None else 0.9 * scale + 0.1 * largest
    by_axis = scale if axis is None else np.reshape(scale, [-1 if d == axis else 1 for d in range(x.ndim)])
    half = 2 ** (bits - 1)
    return [np.clip(np.rint((x / by_axis).astype(np.float32)), -half, half - 1) * by_axis, scale]
