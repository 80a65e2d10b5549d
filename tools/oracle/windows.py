"""Pools, and the windows they look through."""
import numpy as np

from onnx_models import onnxruntime_run
from products import sliding
from registry import oracle


def pooled(op, c, x, outputs=1, **own):
    """By onnxruntime, or None where it has no such pool."""
    if x.dtype != np.float64 or x.size == 0 or not np.isfinite(x).all():
        return None
    try:
        return onnxruntime_run(op, [x], outputs, opset=22, ceil_mode=int(c.ceil_mode), **sliding(c, c.window), **own)
    except Exception:  # dilations beside auto_pad
        return None


class Windows:
    """Where the windows of a pool lie, by ONNX's rules: the number of places along each axis, and pads."""

    def __init__(self, c, extents):
        self.axes = len(extents)
        self.window = c.window
        self.strides = c.strides or [1] * self.axes
        self.dilations = c.dilations or [1] * self.axes
        self.reach = [(k - 1) * d + 1 for k, d in zip(self.window, self.dilations)]
        pads = c.pads or [0] * (2 * self.axes)
        self.before, self.after = list(pads[:self.axes]), list(pads[self.axes:])
        self.places = []
        for d, n in enumerate(extents):
            s, reach = self.strides[d], self.reach[d]
            if c.auto_pad in ('same_upper', 'same_lower'):
                places = -(-n // s)
                total = max(0, (places - 1) * s + reach - n)
                less = total // 2
                self.before[d] = less if c.auto_pad == 'same_upper' else total - less
                self.after[d] = total - self.before[d]
            else:
                room = n + self.before[d] + self.after[d] - reach
                places = (-(-room // s) if c.ceil_mode else room // s) + 1
                if c.ceil_mode and (places - 1) * s >= n + self.before[d]:
                    places -= 1  # it would begin in the padding
            self.places.append(places)

    def of(self, x, fill):
        """[B, C, places.., taps..], with `fill` outside x."""
        spatial = x.shape[2:]
        at = [np.arange(p)[:, None] * s + np.arange(k)[None, :] * d - b for p, s, k, d, b in
              zip(self.places, self.strides, self.window, self.dilations, self.before)]
        index, inside = [], True
        for d, where in enumerate(at):
            shape = [1] * (2 * self.axes)
            shape[d], shape[self.axes + d] = where.shape
            where = where.reshape(shape)
            inside = inside & (where >= 0) & (where < spatial[d])
            index.append(np.clip(where, 0, max(spatial[d] - 1, 0)))
        if x.size == 0:
            return np.full(x.shape[:2] + tuple(self.places) + tuple(self.window), fill), inside
        return np.where(inside, x[(slice(None), slice(None), *index)], fill), inside

    def taps(self):
        return tuple(range(-self.axes, 0))


@oracle('onnxruntime', 'max_pool')
def max_pool(c, x):
    results = pooled('MaxPool', c, x, 2, storage_order=c.storage_order)
    if results:
        return results
    windows = Windows(c, x.shape[2:])
    lowest = -np.inf if x.dtype == np.float64 else np.iinfo(x.dtype).min
    seen, inside = windows.of(x, lowest)
    flat = seen.reshape(seen.shape[:-windows.axes] + (int(np.prod(windows.window)),))
    # The first of the largest, or the first NaN, among those that are inside.
    inside = np.broadcast_to(inside, seen.shape).reshape(flat.shape)
    ranks = np.where(np.isnan(flat) if x.dtype == np.float64 else False, np.inf, flat)
    best = np.argmax(np.where(inside, np.maximum(ranks, -1e308), -np.inf), axis=-1)
    numbers = np.arange(x.size).reshape(x.shape)
    if c.storage_order:
        numbers = np.swapaxes(numbers.reshape(x.shape[:2] + x.shape[2:][::-1]), 2, -1).reshape(x.shape)
    places, _ = windows.of(numbers, 0)
    places = places.reshape(flat.shape)
    take = best[..., None]
    return [np.take_along_axis(flat, take, -1)[..., 0], np.take_along_axis(places, take, -1)[..., 0]]


@oracle('onnxruntime', 'average_pool')
def average_pool(c, x):
    results = pooled('AveragePool', c, x, count_include_pad=int(c.count_include_pad))
    if results:
        return results
    windows = Windows(c, x.shape[2:])
    seen, inside = windows.of(x, 0.0)
    if c.count_include_pad:  # but not what a window reaches beyond the padding
        padded = np.pad(np.ones(x.shape[2:]), list(zip(windows.before, windows.after)), constant_values=1)[None, None]
        moved = Windows(c, x.shape[2:])
        moved.before = [0] * windows.axes
        _, inside = moved.of(padded, 0.0)
    return seen.sum(windows.taps()) / inside.sum(windows.taps())


@oracle('onnxruntime', 'lp_pool')
def lp_pool(c, x):
    results = pooled('LpPool', c, x, p=int(c.p)) if c.p == int(c.p) else None
    if results:
        return results
    windows = Windows(c, x.shape[2:])
    seen, _ = windows.of(x, 0.0)
    return (np.abs(seen) ** c.p).sum(windows.taps()) ** (1 / c.p)


@oracle('formula', 'im2col')
def im2col(c, x):
    windows = Windows(c, x.shape[2:])
    seen, _ = windows.of(x, x.dtype.type(0))
    axes = windows.axes
    order = [0, 1, *range(2 + axes, 2 + 2 * axes), *range(2, 2 + axes)]
    taps, places = int(np.prod(windows.window)), int(np.prod(windows.places))
    return np.transpose(seen, order).reshape(x.shape[0], x.shape[1] * taps, places)


@oracle('numpy', 'max_pool_gradient')
def max_pool_gradient(c, dy, indices):
    dx = np.zeros(int(np.prod(c.shape)))
    at = indices.astype(np.int64)
    if c.storage_order:
        spatial = c.shape[2:]
        plane = int(np.prod(spatial))
        within = np.unravel_index(at % plane, spatial, order='F')
        at = at // plane * plane + np.ravel_multi_index(within, spatial)
    np.add.at(dx, at.ravel(), dy.ravel())
    return dx.reshape(c.shape)
