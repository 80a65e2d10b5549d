"""Reductions, scans and softmax along axes."""
import numpy as np
import scipy.special

from registry import oracle


def over(c, x):
    return {'axis': tuple(c.axes) or None, 'keepdims': c.keep}


def extreme(x, largest):
    """What an empty row gives."""
    if x.dtype == np.float64:
        return -np.inf if largest else np.inf
    if x.dtype == np.bool_:
        return not largest
    return np.iinfo(x.dtype).min if largest else np.iinfo(x.dtype).max


@oracle('numpy', 'sum')
def total(c, x):
    return np.sum(x, **over(c, x))


@oracle('numpy', 'prod')
def product(c, x):
    return np.prod(x, **over(c, x))


@oracle('numpy', 'mean')
def mean(c, x):
    if x.dtype == np.float64:
        return np.sum(x, **over(c, x)) / np.sum(np.ones_like(x), **over(c, x))
    sums = np.sum(x.astype(np.int64), **over(c, x))
    count = x.size // max(sums.size, 1)
    return np.trunc(sums / count).astype(np.int64)


@oracle('numpy', 'reduce_max')
def reduce_max(c, x):
    return np.max(x, initial=extreme(x, True), **over(c, x))


@oracle('numpy', 'reduce_min')
def reduce_min(c, x):
    return np.min(x, initial=extreme(x, False), **over(c, x))


@oracle('numpy', 'l1')
def l1(c, x):
    return np.sum(np.abs(x), **over(c, x))


@oracle('numpy', 'l2')
def l2(c, x):
    return np.sqrt(np.sum(np.square(x), **over(c, x)))


@oracle('numpy', 'sum_square')
def sum_square(c, x):
    return np.sum(np.square(x), **over(c, x))


@oracle('numpy', 'mean_square')
def mean_square(c, x):
    return np.sum(np.square(x), **over(c, x)) / np.sum(np.ones_like(x), **over(c, x))


@oracle('numpy', 'log_sum')
def log_sum(c, x):
    return np.log(np.sum(x, **over(c, x)))


@oracle('scipy', 'logsumexp')
def logsumexp(c, x):
    if x.size == 0:
        return np.full_like(np.sum(x, **over(c, x)), -np.inf)
    return scipy.special.logsumexp(x, **over(c, x))


@oracle('scipy', 'softmax')
def softmax(c, x):
    return scipy.special.softmax(x, axis=c.axis) if x.size else x


@oracle('formula', 'log_softmax')
def log_softmax(c, x):
    if x.size == 0:
        return x
    less = x - x.max(c.axis, keepdims=True)
    return less - np.log(np.sum(np.exp(less), c.axis, keepdims=True))


def arg_extreme(c, x, find):
    backwards = np.flip(x, c.axis) if c.select_last else x
    found = find(backwards, axis=c.axis, keepdims=c.keep)
    return x.shape[c.axis] - 1 - found if c.select_last else found


@oracle('numpy', 'argmax')
def argmax(c, x):
    return arg_extreme(c, x, np.argmax)


@oracle('numpy', 'argmin')
def argmin(c, x):
    return arg_extreme(c, x, np.argmin)


def scan(c, x, accumulate, start):
    if c.words:  # of 64 bits, the low one first
        x = np.ascontiguousarray(x).view(np.int64)[..., 0]
    x = np.flip(x, c.axis) if c.reverse else x
    y = accumulate(x, axis=c.axis, dtype=x.dtype)
    if c.exclusive:
        first = np.full_like(np.take(y, [0], c.axis), start) if x.shape[c.axis] else y
        y = np.concatenate([first, np.delete(y, -1, c.axis)], c.axis) if x.shape[c.axis] else y
    y = np.flip(y, c.axis) if c.reverse else y
    return np.ascontiguousarray(y)[..., None].view(np.uint32) if c.words else y


@oracle('numpy', 'cumsum')
def cumsum(c, x):
    return scan(c, x, np.cumsum, 0)


@oracle('numpy', 'cumprod')
def cumprod(c, x):
    return scan(c, x, np.cumprod, 1)


@oracle('numpy', 'window_sum')
def window_sum(c, x):
    length = x.shape[c.axis]
    if x.size == 0:
        return x
    at = np.arange(length)
    near = (at[None, :] >= at[:, None] - c.before) & (at[None, :] <= at[:, None] + c.after)
    rows = np.moveaxis(x, c.axis, -1)
    sums = np.array([[row[chosen].sum() for chosen in near] for row in rows.reshape(-1, length)])
    return np.moveaxis(sums.reshape(rows.shape), -1, c.axis)
