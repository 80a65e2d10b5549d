"""Norms, and the losses of classes."""
import numpy as np
import scipy.special

from registry import oracle


def per_channel(v, x, otherwise):
    return otherwise if v is None else v.reshape((-1,) + (1,) * (x.ndim - 2))


@oracle('formula', 'layer_norm')
def layer_norm(c, x, gamma=None, beta=None):
    axes = tuple(range(c.axis % x.ndim, x.ndim))
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + c.epsilon)
    return y * (1 if gamma is None else gamma) + (0 if beta is None else beta)


@oracle('formula', 'rms_norm')
def rms_norm(c, x, gamma=None):
    axes = tuple(range(c.axis % x.ndim, x.ndim))
    y = x / np.sqrt(np.mean(x * x, axes, keepdims=True) + c.epsilon)
    return y * (1 if gamma is None else gamma)


@oracle('formula', 'group_norm')
def group_norm(c, x, gamma=None, beta=None):
    groups = c.groups or x.shape[1]
    if x.size == 0:
        return x
    parts = x.reshape(x.shape[0], groups, -1)
    parts = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + c.epsilon)
    return parts.reshape(x.shape) * per_channel(gamma, x, 1) + per_channel(beta, x, 0)


@oracle('formula', 'batch_norm')
def batch_norm(c, x, gamma, beta, mean, variance):
    y = (x - per_channel(mean, x, 0)) / np.sqrt(per_channel(variance, x, 1) + c.epsilon)
    return y * per_channel(gamma, x, 1) + per_channel(beta, x, 0)


def log_probabilities(c, x):
    return scipy.special.log_softmax(x, axis=c.axis) if c.logits and x.size else x


@oracle('scipy', 'cross_entropy')
def cross_entropy(c, x, labels):
    places = np.expand_dims(labels.astype(np.int64), c.axis % x.ndim)
    return -np.take_along_axis(log_probabilities(c, x), places, c.axis).squeeze(c.axis)


@oracle('scipy', 'cross_entropy_dx')
def cross_entropy_dx(c, x, labels, scale):
    """d sum(scale * cross_entropy) / dx."""
    classes = np.moveaxis(np.eye(x.shape[c.axis])[labels.astype(np.int64)], -1, c.axis)
    softmax = scipy.special.softmax(x, axis=c.axis) if c.logits and x.size else 0 * x
    return (softmax - classes) * np.expand_dims(scale, c.axis % x.ndim)
