"""Ops on single elements. Floats come in f64; integers in their own dtype, whose arithmetic wraps."""
import numpy as np
import scipy.special

from registry import each, oracle
from rows import DTYPES, FLOATS

each('numpy', {
    'neg': np.negative, 'abs': np.abs, 'sign': np.sign, 'exp': np.exp, 'log': np.log, 'log1p': np.log1p,
    'expm1': np.expm1, 'sqrt': np.sqrt, 'reciprocal': np.reciprocal, 'floor': np.floor, 'ceil': np.ceil,
    'round': np.rint, 'sin': np.sin, 'cos': np.cos, 'tan': np.tan, 'asin': np.arcsin, 'acos': np.arccos,
    'atan': np.arctan, 'sinh': np.sinh, 'cosh': np.cosh, 'tanh': np.tanh, 'asinh': np.arcsinh,
    'acosh': np.arccosh, 'atanh': np.arctanh, 'atan2': np.arctan2, 'is_nan': np.isnan,
    'add': np.add, 'sub': np.subtract, 'mul': np.multiply, 'max': np.maximum, 'min': np.minimum,
    'eq': np.equal, 'ne': np.not_equal, 'lt': np.less, 'le': np.less_equal, 'gt': np.greater,
    'ge': np.greater_equal, 'not': np.logical_not, 'and': np.logical_and, 'or': np.logical_or,
    'xor': np.logical_xor, 'bitwise_and': np.bitwise_and, 'bitwise_or': np.bitwise_or,
    'bitwise_xor': np.bitwise_xor, 'bitwise_not': np.invert, 'where': np.where, 'mod': np.mod, 'fmod': np.fmod,
    'relu': lambda x: np.maximum(x, x.dtype.type(0)), 'stop_gradient': np.copy,
})
each('scipy', {
    'erf': scipy.special.erf, 'sigmoid': scipy.special.expit,
    'gelu': lambda x: x * scipy.special.ndtr(x),  # the normal distribution function
    'softplus': lambda x: np.logaddexp(0, x),
})
each('formula', {
    'rsqrt': lambda x: 1 / np.sqrt(x),
    'silu': lambda x: x * scipy.special.expit(x),
    'hard_swish': lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    'mish': lambda x: x * np.tanh(np.logaddexp(0, x)),
    'softsign': lambda x: x / (1 + np.abs(x)),
    # (1 + tanh(u)) / 2 is the logistic function of 2 u, which keeps its digits.
    'gelu_tanh': lambda x: x * scipy.special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)),
    # Without end it is what the limit is.
    'binary_cross_entropy': lambda x, y: np.where(np.isposinf(x), x * (1 - y), np.logaddexp(0, x) - x * y),
})


@oracle('numpy', 'clip')
def clip(c, x):
    if x.dtype == np.float64:
        return np.clip(x, c.min, c.max)
    exact = [min(max(int(v), c.min), c.max) for v in x.ravel()]
    return np.array([int(v) for v in exact]).reshape(x.shape)


@oracle('numpy', 'is_inf')
def is_inf(c, x):
    return (np.isposinf(x) & bool(c.detect_positive)) | (np.isneginf(x) & bool(c.detect_negative))


@oracle('formula', 'leaky_relu')
def leaky_relu(c, x):
    return np.where(x < 0, c.alpha * x, x)


@oracle('formula', 'elu')
def elu(c, x):
    return np.where(x > 0, x, c.alpha * np.expm1(x))


@oracle('formula', 'selu')
def selu(c, x):
    return c.gamma * np.where(x > 0, x, c.alpha * np.expm1(x))


@oracle('formula', 'celu')
def celu(c, x):
    return np.maximum(x, 0) + np.minimum(0, c.alpha * np.expm1(x / c.alpha))


@oracle('formula', 'hard_sigmoid')
def hard_sigmoid(c, x):
    return np.clip(c.alpha * x + c.beta, 0, 1)


@oracle('formula', 'thresholded_relu')
def thresholded_relu(c, x):
    return np.where(x > c.alpha, x, 0)


@oracle('formula', 'huber_loss')
def huber_loss(c, d):
    far = c.delta * (np.abs(d) - 0.5 * c.delta)
    return np.where(np.abs(d) <= c.delta, 0.5 * d * d, far)


@oracle('numpy', 'div')
def div(c, x, y):
    if x.dtype == np.float64:
        return x / y
    x, y = np.broadcast_arrays(x, y)
    # Toward zero, in numbers of any size; x / 0 is 0.
    quotients = [0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
                 for a, b in zip(map(int, x.ravel()), map(int, y.ravel()))]
    return wrapped(quotients, c.result_dtypes[0]).reshape(x.shape)


@oracle('numpy', 'pow')
def power(c, x, y):
    if x.dtype == np.float64:
        return np.power(x, y)
    x, y = np.broadcast_arrays(x, y)
    return wrapped([integer_power(a, b) for a, b in zip(map(int, x.ravel()), map(int, y.ravel()))],
                   c.result_dtypes[0]).reshape(x.shape)


def integer_power(a, b):
    if b >= 0:
        return pow(a, b, 1 << 64) if b < 64 or abs(a) > 1 else a ** (b % 2 + 2)
    return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)  # 1 / a^-b, toward zero; 1 / 0 is 0


@oracle('numpy', 'shift_left')
def shift_left(c, x, bits):
    return np.left_shift(x, bits)


@oracle('numpy', 'shift_right')
def shift_right(c, x, bits):
    return np.right_shift(x, bits)


def wrapped(numbers, dtype):
    """Integers of any size as they lie in the lowest bits of a dtype."""
    words = np.array([number & ((1 << 64) - 1) for number in numbers], np.uint64)
    return words.astype(DTYPES[dtype])


@oracle('numpy', 'cast')
def cast(c, x):
    to = c.to
    if to == 'bool':
        return x != 0
    if to in FLOATS or x.dtype != np.float64:
        return x
    ends = np.iinfo(DTYPES[to])  # saturates, toward zero; NaN is 0
    return wrapped([0 if np.isnan(v) else int(min(max(v, float(ends.min)), float(ends.max))) if abs(v) < 2.0 ** 62
                    else (ends.max if v > 0 else ends.min) for v in x.ravel()], to).reshape(x.shape)


def long_of(x):
    """Words, low and high, as 64-bit integers; other numbers as they are, floats toward zero."""
    if x.dtype == np.uint32:
        return np.ascontiguousarray(x).view(np.int64)[..., 0]
    if x.dtype.kind != 'f':
        return x
    whole = [0 if np.isnan(v) else max(-2**63, min(2**63 - 1, int(max(-1e30, min(1e30, v))))) for v in x.astype(float).flat]
    return np.array(whole, np.int64).reshape(x.shape)


WORDS = {
    'add': lambda a, b: a + b, 'sub': lambda a, b: a - b, 'mul': lambda a, b: a * b,
    'div': lambda a, b: 0 if b == 0 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1),
    'mod': lambda a, b: 0 if b == 0 else a % b,
    'fmod': lambda a, b: 0 if b == 0 else (abs(a) % abs(b)) * (-1 if a < 0 else 1),
    'max': max, 'min': min, 'pow': lambda a, b: pow(a, b, 2**64) if b >= 0 else power_below_one(a, b),
    'neg': lambda a: -a, 'abs': abs, 'sign': lambda a: (a > 0) - (a < 0), 'bitwise_not': lambda a: ~a,
    'eq': lambda a, b: a == b, 'ne': lambda a, b: a != b, 'lt': lambda a, b: a < b,
    'le': lambda a, b: a <= b, 'gt': lambda a, b: a > b, 'ge': lambda a, b: a >= b,
    'bitwise_and': lambda a, b: a & b, 'bitwise_or': lambda a, b: a | b, 'bitwise_xor': lambda a, b: a ^ b,
    'shift_left': lambda a, b: a << b if 0 <= b < 64 else 0,
    'shift_right': lambda a, b: a >> (b if 0 <= b < 64 else 63),
    'where': lambda c, a, b: a if c else b, 'cast': lambda a: a, 'enter': lambda a: a, 'leave': lambda a: a,
}


def power_below_one(a, b):
    return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)


@oracle('formula', 'words')
def words(c, *operands):
    numbers = np.broadcast_arrays(*[long_of(x) for x in operands])
    results = [WORDS[c.op](*[int(v) for v in each]) for each in zip(*[n.flat for n in numbers])]
    shape = numbers[0].shape
    to = np.dtype({'u32': 'uint64', 'i64': 'int64', 'i32': 'int32', 'f32': 'float32', 'bool': 'bool'}[c.to])
    if to.kind == 'b':
        return np.array(results, bool).reshape(shape)
    if to.kind == 'f':
        return np.array(results, np.int64).astype(np.float32).reshape(shape)
    bits = np.array([r % 2**64 for r in results], np.uint64).reshape(shape)
    if to == np.uint64:
        return bits[..., None].view(np.uint32)
    return bits.astype(np.uint32).view(np.int32) if to == np.int32 else bits.view(np.int64)
