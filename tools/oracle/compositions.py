"""Functions of ops.h that are made of other ops. Their rows do not tell the options they were called with, so these
are here again, by the row's reason to be."""
import numpy as np
import scipy.signal
import scipy.special

import blocks
import registry
from onnx_models import onnxruntime_run
from products import dequantise, quantise
from registry import Skip, each, oracle
from random_numbers import uniforms
from rows import DTYPES
from search import order_of
from sequences import attention, rope

each('numpy', {
    'prelu': lambda x, slope: np.where(x < 0, slope * x, x),
    'reduce_any': lambda x: np.any(x, 1),
    'reduce_all': lambda x: np.all(x, 0, keepdims=True),
    'global_average_pool': lambda x: x.mean(tuple(range(2, x.ndim)), keepdims=True),
    'global_max_pool': lambda x: x.max(tuple(range(2, x.ndim)), keepdims=True),
})


def call(c, **attrs):
    return registry.Call(attrs, c.dtypes, c.result_dtypes, c.row)


@oracle('numpy', 'lora_matmul')
def lora_matmul(c, x, w, a, b):
    if 'base' in c.row:
        w = blocks.decoded(w, c.row.split()[-1], 0).T
    return x @ (w + 0.5 * (a @ b))


@oracle('numpy', 'global_lp_pool')
def global_lp_pool(c, x):
    p = 3 if c.row == 'cubes' else 2
    return (np.abs(x) ** p).sum(tuple(range(2, x.ndim)), keepdims=True) ** (1 / p)


@oracle('numpy', 'argsort')
def argsort(c, x):
    axis = int(c.row.rsplit(' ', 1)[1]) if 'axis' in c.row else 0
    return order_of(x, axis, axis == 1)


@oracle('numpy', 'einsum')
def einsum(c, *operands):
    equation = c.row.split(': ')[0] if ': ' in c.row else 'ij,jk->ik'
    return np.einsum(equation, *operands)


@oracle('numpy', 'dot_general')
def dot_general(c, a, b):
    equation = {'one dim summed': 'abcd,defg->abcefg', 'more than a workgroup': 'abcd,defg->abcefg',
                'a batch dim': 'abcd,dbfg->bacfg', 'two dims summed, in another order': 'abcd,dbfa->bcf',
                'nothing summed': 'abcd,efga->abcdefg', 'f16 matrix and vector': 'ab,b->a',
                'an empty sum': 'ab,ac->bc'}[c.row]
    return np.einsum(equation, a, b)


@oracle('numpy', 'qkv_linear')
def qkv_linear(c, x, w, bias=None):
    widths = {'three of one width': (9, 18), 'nothing in it': (9, 18), 'fewer key and value heads': (12, 16),
              'f16': (6, 8), 'symbolic rows': (4, 8)}[c.row]
    return np.split(x @ w + (0 if bias is None else bias), widths, -1)


@oracle('formula', 'packed_attention')
def packed_attention(c, qkv):
    causal = c.row in ('views of one tensor', 'symbolic', 'nothing in it')
    options = call(c, layout='bshd', heads=1, kv_heads=0, causal=causal, window=9 if c.row == 'a window' else -1,
                   scale=0, softcap=0, empty_row='zero')
    return attention(options, qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2])


@oracle('formula', 'rope_at')
def rope_at(c, x, positions):
    if c.row in ('positions [S]', 'more than a workgroup'):
        raise Skip('positions of thousands have no angles in f32')
    turned, theta, interleaved, layout = x.shape[-1], 10000, False, 'bhsd'
    if c.row == 'positions [B, S], n_rot < D':
        turned = 6
    if c.row == 'positions before heads':
        theta, interleaved, layout = 500000, True, 'bshd'
    angles = positions[..., None] / theta ** (np.arange(turned // 2) * 2 / turned)
    return rope(call(c, interleaved=interleaved, layout=layout), x, np.cos(angles), np.sin(angles))


@oracle('numpy', 'flatten')
def flatten(c, x):
    axis = {'from axis 1': 1, 'from the last axis, f16': 2, 'all in columns': 0, 'all in rows': 2, 'from rank 0': 0,
            'symbolic': 2}.get(c.row, 1)
    return x.reshape(int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:])))


@oracle('numpy', 'split')
def split(c, x):
    places, axis = {'equal rows': ([2, 4], 0), 'a smaller last part': ([17, 34, 51], 1), 'given lengths': ([2, 2], 1),
                    'f16': ([1], 0), 'packed integers': ([4], 0), 'nothing': ([0], 0), 'symbolic': ([4], 0)}[c.row]
    return np.split(x, places, axis)


@oracle('numpy', 'reverse')
def reverse(c, x):
    return np.flip(x, {'two axes': (0, 2), 'f16': 1}.get(c.row, 0))


@oracle('numpy', 'roll')
def roll(c, x):
    shift, axis = {'forwards': (2, 0), 'two axes, backwards': ((-1, -7), (0, 1)), 'f16': (8, 1), 'bool': (3, 0),
                   'nothing': ((1, 1), (0, 1)), 'symbolic': (-2, 0)}[c.row]
    return np.roll(x, shift, axis)


@oracle('onnxruntime', 'depth_to_space')
def depth_to_space(c, x):
    mode = 'CRD' if c.row == 'channels first' else 'DCR'
    return onnxruntime_run('DepthToSpace', [x], opset=13, blocksize=2, mode=mode)


@oracle('onnxruntime', 'space_to_depth')
def space_to_depth(c, x):
    block = 3 if c.row == 'packed integers' else 2
    y, = onnxruntime_run('SpaceToDepth', [x.astype(np.float64)], opset=13, blocksize=block)
    return y.astype(x.dtype)


@oracle('onnxruntime', 'instance_norm')
def instance_norm(c, x, gamma, beta):
    return onnxruntime_run('InstanceNormalization', [x, gamma, beta], epsilon=1e-5)


@oracle('formula', 'lrn')
def lrn(c, x):
    """As ONNX writes it: onnxruntime has no even windows, and onnx's own evaluator mixes up axes."""
    size = {'an even window': 4, 'halves': 3}.get(c.row, 5)
    before, after = (size - 1) // 2, size // 2
    sums = np.stack([np.square(x[:, max(0, i - before):i + after + 1]).sum(1) for i in range(x.shape[1])], 1)
    return x / (1.5 + 0.3 / size * sums) ** 0.75


@oracle('formula', 'batch_norm_training')
def batch_norm_training(c, x, gamma, beta, running_mean, running_variance):
    axes = (0, *range(2, x.ndim))
    shape = (1, -1) + (1,) * (x.ndim - 2)
    if x.size == 0:
        raise Skip('statistics of nothing')
    mean, variance = x.mean(axes), x.var(axes)
    y = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + 1e-5) * gamma.reshape(shape) + beta.reshape(shape)
    return [y, mean, variance, 0.9 * running_mean + 0.1 * mean, 0.9 * running_variance + 0.1 * variance]


@oracle('numpy', 'max_unpool')
def max_unpool(c, x, indices=None):
    if indices is None:  # what max_pool of windows of 2 by 2 left
        rows, columns = x.shape[2] // 2, x.shape[3] // 2
        reached = (..., slice(2 * rows), slice(2 * columns))
        blocks = x[reached].reshape(*x.shape[:2], rows, 2, columns, 2)
        largest = blocks.max((3, 5), keepdims=True)
        y = np.zeros(x.shape)
        y[reached] = np.where(blocks == largest, blocks, 0).reshape(x[reached].shape)
        return y
    shape = (1, 1, 5, 5) if c.row == 'f16' else (1, 1, 4, 4)
    y = np.zeros(int(np.prod(shape)))
    y[indices.ravel()] = x.ravel()
    return y.reshape(shape)


def reduced(losses, reduction):
    return {'none': lambda v: v, 'mean': np.mean, 'sum': np.sum}[reduction](losses)


REDUCTIONS = {'every element': 'none', 'the mean, labels repeated': 'mean', 'the sum': 'sum', 'halves': 'mean',
              'nothing to add up': 'sum', 'a symbolic extent': 'mean', 'large and tiny losses': 'none',
              'more than a workgroup': 'none'}


@oracle('formula', 'mse')
def mse(c, x, y):
    return reduced((x - y) ** 2, REDUCTIONS[c.row])


@oracle('scipy', 'huber')
def huber(c, x, y):
    return reduced(scipy.special.huber(0.7, x - y), REDUCTIONS[c.row])


@oracle('formula', 'binary_cross_entropy_with_logits')
def binary_cross_entropy_with_logits(c, x, y):
    return reduced(np.logaddexp(0, x) - x * y, REDUCTIONS[c.row])


def class_loss(c, log_probabilities, labels, weights):
    axis, ignored, reduction = -1, None, 'mean'
    if c.row in ('each row', 'halves', 'nothing in it', 'more than a workgroup'):
        reduction = 'none'
    if c.row == 'a weight for each class, which are axis 1':
        axis = 1
    if c.row == 'a row that is ignored':
        ignored = -100
    if c.row == 'weights, and a class that is ignored':
        reduction, ignored = 'sum', 1
    counted = np.ones(labels.shape, bool) if ignored is None else labels != ignored
    labels = np.where(counted, labels, 0).astype(np.int64)
    shares = (np.ones(log_probabilities.shape[axis]) if weights is None else weights)[labels] * counted
    chosen = np.take_along_axis(log_probabilities, np.expand_dims(labels, axis), axis).squeeze(axis)
    losses = -chosen * shares
    return losses.sum() / shares.sum() if reduction == 'mean' else reduced(losses, reduction)


@oracle('scipy', 'softmax_cross_entropy')
def softmax_cross_entropy(c, logits, labels, weights=None):
    log_p = scipy.special.log_softmax(logits, -1 if c.row != 'a weight for each class, which are axis 1' else 1) \
        if logits.size else logits
    if labels.dtype == np.float64:
        with_probabilities = np.where(labels == 0, 0, -labels * log_p).sum(-1)
        return with_probabilities if c.row.startswith('large') else with_probabilities.mean()
    return class_loss(c, log_p, labels, weights)


@oracle('formula', 'nll_loss')
def nll_loss(c, log_probabilities, labels, weights=None):
    return class_loss(c, log_probabilities, labels, weights)


@oracle('formula', 'dropout_mask')
def dropout_mask(c, x, seed):
    ratio = {'half of them': 0.5, 'none of them': 0, 'all of them': 1, 'halves': 0.1, 'NaN is dropped too': 0.3,
             'nothing to do': 0.5, 'a symbolic extent': 0.4, 'many': 0.9}[c.row]
    return uniforms(seed, x.size).reshape(x.shape) >= ratio


@oracle('onnxruntime', 'dynamic_quantise')
def dynamic_quantise(c, x):
    if not x.any():
        raise Skip('onnxruntime divides by 0')
    return onnxruntime_run('DynamicQuantizeLinear', [x], 3)


def requantised(sums, scale, zero, dtype):
    ends = np.iinfo(DTYPES[dtype])
    return np.clip(np.rint(sums * scale) + zero, ends.min, ends.max).astype(np.int64)


@oracle('numpy', 'requantise')
def requantise(c, sums, scale, zero):
    return requantised(sums, scale, zero.astype(np.int64), c.result_dtypes[0])


@oracle('onnxruntime', 'qlinear_matmul')
def qlinear_matmul(c, *operands):
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = operands
    if a_scale.ndim:  # which onnxruntime does not have: written out
        wide = [v.astype(np.int64) for v in (a, a_zero[:, None], b, b_zero)]
        sums = (wide[0] - wide[1]) @ (wide[2] - wide[3])
        return requantised(sums, a_scale[:, None] * b_scale / y_scale, y_zero.astype(np.int64), c.result_dtypes[0])
    return onnxruntime_run('QLinearMatMul', list(operands), opset=10)


@oracle('onnxruntime', 'qlinear_conv')
def qlinear_conv(c, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None):
    attrs = {'one scale each': {'pads': [1, 1, 1, 1]}, 'a scale per channel, and a bias': {'strides': [2]},
             'depthwise': {'group': 3}, 'more than a workgroup': {'strides': [2, 1]}}.get(c.row, {})
    if y_zero.dtype != x.dtype:  # which onnxruntime does not have: written out
        kernel = w - 0.0 - w_zero.astype(float).reshape((-1,) + (1,) * (w.ndim - 1))
        channels = (-1,) + (1,) * (w.ndim - 2)
        sums = onnxruntime_run('Conv', [x - 0.0 - x_zero, kernel], **attrs)[0] + bias.reshape(channels)
        scale = x_scale * w_scale.reshape(channels) / y_scale
        return requantised(np.rint(sums), scale, y_zero.astype(np.int64), c.result_dtypes[0])
    operands = [x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias]
    return onnxruntime_run('QLinearConv', operands, opset=10, **attrs)


@oracle('numpy', 'dft')
def dft(c, x):
    axis = 1
    length = {'longer than the samples': 16, 'shorter than the samples': 4}.get(c.row, x.shape[axis])
    z = x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    y = np.fft.ifft(z, axis=axis) if c.row == 'inverse' else np.fft.fft(z, length, axis)
    if c.row in ('one side', 'longer than a workgroup'):
        y = np.take(y, np.arange(length // 2 + 1), axis)
    return np.stack([y.real, y.imag], -1)


@oracle('numpy', 'stft')
def stft(c, signal, window=None):
    step, length, onesided = {'frames apart': (10, 8, True), 'complex numbers': (7, 8, False),
                              'too short for a frame': (2, 8, True), 'a symbolic length': (4, 8, True)}.get(
                                  c.row, (5, 9, True))
    z = signal[..., 0] + (1j * signal[..., 1] if signal.shape[-1] == 2 else 0)
    count = max(0, (z.shape[1] - length) // step + 1)
    frames = np.stack([z[:, i * step:i * step + length] for i in range(count)], 1) if count else np.zeros(
        (z.shape[0], 0, length))
    y = np.fft.fft(frames * (1 if window is None else window), axis=-1)
    y = y[..., :length // 2 + 1] if onesided else y
    return np.stack([y.real, y.imag], -1)


@oracle('scipy', 'cosine_window')
def cosine_window(c, size):
    terms, symmetric = {'Hann, periodic': ([0.5, 0.5], False), 'Blackman, symmetric': ([0.42, 0.5, 0.08], True),
                        'Hamming, in f16': ([25 / 46, 21 / 46], False), 'Hamming, symmetric': ([0.54, 0.46], True),
                        'nothing': ([0.5, 0.5], False)}[c.row]
    return scipy.signal.windows.general_cosine(int(size), terms, symmetric) if size else np.zeros(0)


@oracle('formula', 'scan')
def scan(c, state, rows, w=None):
    if w is not None:
        stacked = []
        for row in rows:
            state = np.tanh(state @ w + row)
            stacked.append(state)
        return [state, np.stack(stacked)]
    if c.row == 'f16':
        raise Skip('every step rounds')
    axis = 1 if c.row == 'along axis 1' else 0
    steps = np.moveaxis(rows, axis, 0)
    stacked = []
    for row in steps[::-1] if c.row == 'backwards' else steps:
        following = state * 0.5 + np.tanh(row)
        stacked.append(following + state)
        state = following
    stacked = np.stack(stacked[::-1] if c.row == 'backwards' else stacked, axis) if stacked else np.zeros(rows.shape)
    return [state, stacked]


# Functions of ops.h that are an op and something around it.

@oracle('numpy', 'shape_of()')
def some_of_shape(c, x):
    first, last = {'from the second dim': (1, None), 'the last dim': (-1, None), 'some symbolic': (0, -1)}[c.row]
    return np.array(x.shape[first:last], np.int64)


def spread(c, x, v):
    """A scale or zero point for each index of an axis, or for each block of three along it, for each element."""
    if v is None:
        return None
    if c.row == 'blocks of three':
        return np.repeat(v, 3, 1)
    if c.row == 'the last block is short':
        return np.repeat(v, 3, 0)[:x.shape[0]]
    axis = 0 if c.row == 'the first axis, no zero point' else 1
    return v.reshape((-1,) + (1,) * (x.ndim - 1 - axis))


@oracle('numpy', 'quantise()')
def quantise_along(c, x, scale, zero_point=None):
    return quantise(c, x, spread(c, x, scale), spread(c, x, zero_point))


@oracle('numpy', 'dequantise()')
def dequantise_along(c, x, scale, zero_point=None):
    return dequantise(c, x, spread(c, x, scale), spread(c, x, zero_point))
