"""Sorting, sets, and what is where."""
import numpy as np

from onnx_models import onnxruntime_run
from registry import oracle


def order_of(x, axis, descending):
    """Where each element of the sorted rows was: equals in their order, NaN above everything."""
    _, ranks = np.unique(x, return_inverse=True, equal_nan=True)
    ranks = ranks.reshape(x.shape).astype(np.int64)
    return np.argsort(-ranks if descending else ranks, axis=axis, kind='stable')


@oracle('numpy', 'sort')
def sort(c, x):
    order = order_of(x, c.axis, c.descending)
    return [np.take_along_axis(x, order, c.axis), order]


@oracle('numpy', 'top_k')
def top_k(c, x, k=None):
    count = c.get('k') if k is None else int(k.item())
    order = np.take(order_of(x, c.axis, c.largest), np.arange(count), c.axis)
    return [np.take_along_axis(x, order, c.axis), order]


@oracle('numpy', 'unique')
def unique(c, x):
    axis = c.get('axis')
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.ravel()
    if not c.sorted:
        order = np.argsort(first, kind='stable')
        values = np.take(values, order, 0 if axis is None else axis)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    return [values, first, inverse, counts]


@oracle('numpy', 'non_zero')
def non_zero(c, x):
    return np.stack(np.nonzero(x)) if x.ndim else np.zeros((0, int(x != 0)), np.int64)


@oracle('onnxruntime', 'non_max_suppression')
def non_max_suppression(c, boxes, scores, most=None, overlap=None, least=None):
    return onnxruntime_run('NonMaxSuppression', [boxes, scores, most, overlap, least], center_point_box=int(c.centred))
