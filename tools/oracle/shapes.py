"""What changes shapes and moves elements, and what makes tensors of nothing but a shape."""
import numpy as np

from registry import oracle
from rows import DTYPES, FLOATS


@oracle('numpy', 'reshape')
def reshape(c, x, shape=None):
    target = list(c.get('shape') if shape is None else map(int, shape))
    if shape is not None and not c.allowzero:
        target = [x.shape[i] if extent == 0 and i < x.ndim else extent for i, extent in enumerate(target)]
    return np.reshape(x, target)


@oracle('numpy', 'transpose')
def transpose(c, x):
    return np.transpose(x, c.order or None)


@oracle('numpy', 'expand')
def expand(c, x):
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(c.shape)))


@oracle('numpy', 'squeeze')
def squeeze(c, x):
    return np.squeeze(x, tuple(c.axes) or None)


@oracle('numpy', 'unsqueeze')
def unsqueeze(c, x):
    return np.expand_dims(x, tuple(c.axes))


@oracle('numpy', 'shape_of')
def shape_of(c, x):
    return np.array(np.shape(x), np.int64)


@oracle('numpy', 'size_of')
def size_of(c, x):
    return np.array(np.size(x), np.int64)


@oracle('numpy', 'tile')
def tile(c, x, *repeats):
    return np.tile(x, [int(r) for part in repeats for r in part.ravel()] if repeats else c.repeats)


@oracle('numpy', 'concat')
def concat(c, *parts):
    return np.concatenate(parts, c.axis)


@oracle('numpy', 'slice')
def take_slice(c, x, starts=None, ends=None):
    starts = c.get('starts') if starts is None else [int(v) for v in starts]
    ends = c.get('ends') if ends is None else [int(v) for v in ends]
    axes = c.axes or range(len(starts))
    steps = c.steps or [1] * len(starts)
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        # Python counts from the end what is below 0, once; an end before the first element is None.
        length = x.shape[axis]
        if step < 0 and end < -length:
            end = None
        index[axis] = slice(start, end, step)
    return x[tuple(index)]


@oracle('numpy', 'write_slice')
def write_slice(c, x, update, starts):
    y = x.copy()
    starts = np.atleast_1d(starts)
    starts = [int(v) for v in starts] + [0] * (x.ndim - len(starts))
    y[tuple(slice(s, s + n) for s, n in zip(starts, update.shape))] = update
    return y


@oracle('numpy', 'pad')
def pad(c, x, pads=None, value=None):
    pads = c.get('pads') if pads is None else [int(v) for v in pads]
    value = c.value if value is None else value.item()
    axes = [axis % x.ndim for axis in c.axes] or list(range(x.ndim))
    before, after = [0] * x.ndim, [0] * x.ndim
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[i + len(axes)]
    if c.mode == 'wrap':  # "as if the data tensor forms a torus", also where some of it is taken off
        for axis, (b, a) in enumerate(zip(before, after)):
            x = np.take(x, np.arange(-b, x.shape[axis] + a), axis, mode='wrap')
        return x
    # What negative pads take off is gone before the others look at it.
    x = x[tuple(slice(max(0, -b), n - max(0, -a)) for b, a, n in zip(before, after, x.shape))]
    widths = [(max(0, b), max(0, a)) for b, a in zip(before, after)]
    if not widths:
        return x
    if c.mode == 'constant':
        return np.pad(x, widths, constant_values=x.dtype.type(value))
    return np.pad(x, widths, mode=c.mode)


@oracle('numpy', 'trilu')
def trilu(c, x, k=None):
    k = c.k if k is None else int(k.item())
    k = max(min(k, 10 ** 6), -10 ** 6)
    return (np.triu if c.upper else np.tril)(x, k)


@oracle('numpy', 'eye_like')
def eye_like(c, x):
    dtype = c.result_dtypes[0]
    return np.eye(*x.shape, k=min(c.k, 10 ** 6), dtype=np.float64 if dtype in FLOATS else DTYPES[dtype])


@oracle('numpy', 'range')
def integer_or_float_range(c, *ends):
    start, limit, delta = c.get('integers') or c.get('floats') or [v.item() for v in ends]
    made = np.arange(start, limit, delta)
    return made if c.dtype in FLOATS else made.astype(DTYPES[c.dtype])


@oracle('numpy', 'float_range')
def float_range(c, start, limit, delta):
    return np.arange(start.item(), limit.item(), delta.item())


@oracle('numpy', 'one_hot')
def one_hot(c, indices, depth=None, values=None):
    count = c.get('depth') if depth is None else int(depth.item())
    off, on = (0, 1) if values is None else values
    dtype = c.dtype if values is None else c.result_dtypes[0]
    indices = indices.astype(np.int64)
    named = np.where(indices < 0, indices + count, indices)[..., None] == np.arange(count)
    wide = np.float64 if dtype in FLOATS else DTYPES[dtype]
    axis = c.axis if c.axis >= 0 else c.axis + indices.ndim + 1
    return np.moveaxis(np.where(named, wide(on), wide(off)), -1, axis)


@oracle('numpy', 'reverse_sequence')
def reverse_sequence(c, x, lengths):
    y = np.moveaxis(x, (c.batch_axis, c.time_axis), (0, 1)).copy()
    for sequence, length in zip(y, lengths):
        sequence[:length] = sequence[:length][::-1].copy()
    return np.moveaxis(y, (0, 1), (c.batch_axis, c.time_axis))


@oracle('numpy', 'causal_mask')
def causal_mask(c, scores):
    queries, keys = scores.shape[-2:]
    mask = np.tril(np.ones((queries, keys), bool), keys - queries)
    return mask if c.window < 0 else mask & np.triu(np.ones((queries, keys), bool), keys - queries - c.window)
