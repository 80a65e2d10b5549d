"""Weights in blocks of few bits: GGUF's as the gguf package decodes them, small floats as ml_dtypes has them, integers
and nvfp4 by their definition; and mixtures of experts."""
import gguf
import ml_dtypes
import numpy as np
import scipy.special

from registry import oracle

SMALL = {'fp8_e4m3': ml_dtypes.float8_e4m3fn, 'fp8_e5m2': ml_dtypes.float8_e5m2}


def bits_of(data, bits):
    """[.., bytes] as [.., elements], the lowest bits first."""
    flat = np.unpackbits(data, axis=-1, bitorder='little')
    flat = flat.reshape(*data.shape[:-1], -1, bits).astype(np.int64)
    return flat @ (1 << np.arange(bits))


def parts(w, size):
    return w.reshape(*w.shape[:-1], w.shape[-1] // size, size)


def joined(blocks):
    return blocks.reshape(*blocks.shape[:-2], -1)


def decoded(w, name, block):
    w = np.ascontiguousarray(w).astype(np.uint8)
    if name in SMALL:
        return w.view(SMALL[name]).astype(np.float64)
    if name == 'nvfp4':
        blocks = parts(w, 9)
        scale = blocks[..., :1].copy().view(ml_dtypes.float8_e4m3fn).astype(np.float64)
        levels = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
        q = bits_of(blocks[..., 1:], 4)
        return joined(np.where(q & 8, -1, 1) * levels[q & 7] * scale)
    if name.startswith('int'):
        bits, zero = int(name[3]), name.endswith('_asym')
        block = block or 32
        header = 8 if zero else 4
        blocks = parts(w, header + block * bits // 8)
        scale = blocks[..., :4].copy().view('<f4').astype(np.float64)
        q = bits_of(blocks[..., header:], bits)
        if zero:
            return joined((q - blocks[..., 4:8].copy().view('<f4').astype(np.float64)) * scale)
        return joined(np.where(q >> (bits - 1), q - (1 << bits), q) * scale)
    if name == 'q8_k':  # which the package does not decode: products alone have it
        blocks = parts(w, 292)
        return joined(blocks[..., 4:260].view(np.int8) * blocks[..., :4].copy().view('<f4').astype(np.float64))
    kind = gguf.GGMLQuantizationType[name.upper()]
    if w.size == 0:
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        return np.zeros((*w.shape[:-1], w.shape[-1] // size * elements))
    return gguf.quants.dequantize(w, kind).astype(np.float64)


def turned(w, c):
    return np.swapaxes(w, -1, -2) if c.transpose_w else w


@oracle('gguf', 'quantised_matmul')
def quantised_matmul(c, x, w, scales=None, zeros=None):
    if scales is None:
        values = decoded(w, c.format, c.block)
    else:
        steps = w.astype(float)  # bytes would wrap
        if zeros is not None:
            steps = steps - np.repeat(zeros, c.block, axis=1)
        values = steps * np.repeat(scales, c.block, axis=1)
    return np.matmul(x, turned(values, c))


@oracle('gguf', 'quantised_grouped_matmul')
def quantised_grouped_matmul(c, x, w, expert):
    return np.einsum('mk,mkn->mn', x, turned(decoded(w, c.format, c.block), c)[expert.astype(np.int64)])


@oracle('gguf', 'quantised_gather')
def quantised_gather(c, w, indices):
    return decoded(w, c.format, c.block)[indices.astype(np.int64)]


# ---- Experts: their rows do not tell the options, so these are here again ----

def best(scores, k):
    return np.argsort(-scores, axis=-1, kind='stable')[:, :k]


def softly(logits, k, normalise=True):
    p = scipy.special.softmax(logits, -1)
    chosen = best(p, k)
    weights = np.take_along_axis(p, chosen, 1)
    return chosen, weights / weights.sum(1, keepdims=True) if normalise else weights


@oracle('formula', 'softmax_gate')
def softmax_gate(c, logits):
    return list(softly(logits, {'not normalised': 3, 'all of them': 4}.get(c.row, 2),
                       c.row != 'not normalised'))


@oracle('formula', 'group_limited_gate')
def group_limited_gate(c, scores, routing):
    groups, kept, k, normalise, scale = {'groups of one': (6, 3, 2, False, 1), 'one group': (1, 1, 8, True, 1)}.get(
        c.row, (4, 2, 3, True, 2.5))
    chosen, weights = [], []
    for of_expert, score in zip(routing, scores):
        by_group = of_expert.reshape(groups, -1)
        good = [sum(sorted(group)[-2:]) for group in by_group]
        open_groups = sorted(range(groups), key=lambda g: -good[g])[:kept]
        size = by_group.shape[1]
        experts = sorted((e for e in range(len(score)) if e // size in open_groups), key=lambda e: -of_expert[e])[:k]
        w = np.array([score[e] for e in experts])
        chosen.append(experts)
        weights.append(scale * (w / w.sum() if normalise else w))
    return [np.array(chosen).reshape(-1, k), np.array(weights).reshape(-1, k)]


@oracle('formula', 'mixture_of_experts')
def mixture_of_experts(c, x, logits, up, down, gate=None):
    name = 'q8_0' if 'q8_0' in c.row else 'q4_k' if 'q4_k' in c.row else ''
    up, down, gate = (w if w is None or not name else np.swapaxes(decoded(w, name, 0), 1, 2) for w in (up, down, gate))
    silu = lambda v: v * scipy.special.expit(v)
    y = np.zeros((x.shape[0], down.shape[2]))
    for t, (experts, weights) in enumerate(zip(*softly(logits, 1 if 'one of' in c.row else 2))):
        for e, weight in zip(experts, weights):
            hidden = silu(x[t] @ up[e]) if gate is None else silu(x[t] @ gate[e]) * (x[t] @ up[e])
            y[t] += weight * (hidden @ down[e])
    return y
