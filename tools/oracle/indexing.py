"""Elements read and written at places that indices name."""
import numpy as np

from registry import oracle

WRITE = {'add': np.add, 'mul': np.multiply, 'max': np.maximum, 'min': np.minimum}


def write(y, places, updates, reduction):
    if reduction == 'none':
        y[places] = updates
    else:
        WRITE[reduction].at(y, places, updates)
    return y


@oracle('numpy', 'gather')
def gather(c, x, indices):
    return np.take(x, indices.astype(np.int64), c.axis)


@oracle('numpy', 'gather_elements')
def gather_elements(c, x, indices):
    return x[along_axis(indices.astype(np.int64), c.axis)]


def along_axis(indices, axis):
    places = list(np.indices(indices.shape, sparse=True))
    places[axis] = indices
    return tuple(places)


@oracle('numpy', 'gather_nd')
def gather_nd(c, x, indices):
    return x[tuples(indices, c.batch_dims)]


def tuples(indices, batch_dims):
    """The last dim of indices as an index of NumPy's, after those of the batches."""
    batches = indices.shape[:batch_dims]
    rest = (1,) * (indices.ndim - 1 - batch_dims)
    before = tuple(at.reshape(at.shape + rest) for at in np.indices(batches, sparse=True))
    return before + tuple(np.moveaxis(indices.astype(np.int64), -1, 0))


@oracle('numpy', 'scatter')
def scatter(c, x, indices, updates):
    places = (slice(None),) * (c.axis % x.ndim) + (indices.astype(np.int64),)
    return write(x.copy(), places, updates, c.reduction)


@oracle('numpy', 'scatter_elements')
def scatter_elements(c, x, indices, updates):
    return write(x.copy(), along_axis(indices.astype(np.int64), c.axis), updates, c.reduction)


@oracle('numpy', 'scatter_nd')
def scatter_nd(c, x, indices, updates):
    return write(x.copy(), tuples(indices, c.batch_dims), updates, c.reduction)
