"""Recurrent nets, attention and rotary positions."""
import numpy as np
import scipy.special

from onnx_models import onnxruntime_run
from registry import Skip, oracle


def recurrent(c, op, inputs, hidden, outputs, **own):
    x, batch_first = inputs[0], c.layout == 1
    if x.size == 0:
        raise Skip('onnxruntime has no empty sequences')
    if x.size == 1:
        raise Skip("one number, and onnxruntime's tanh is only as good as 1e-7")
    if len(inputs) > 4 and inputs[4] is not None and (inputs[4] == 0).any():
        raise Skip('of no steps onnxruntime gives 0 for the last state; ONNX says nothing, rlx gives the first state')
    alpha = c.activation_alpha or ([1.0] if 'ThresholdedRelu' in c.activations else None)  # which it takes for 0
    # onnxruntime has only layout 0.
    states = [i for i in (5, 6) if i < len(inputs) and inputs[i] is not None]
    if batch_first:
        inputs = [np.swapaxes(v, 0, 1) if i == 0 or i in states else v for i, v in enumerate(inputs)]
    results = onnxruntime_run(op, inputs, outputs, opset=14, direction=c.direction, hidden_size=hidden,
                              activations=c.activations or None, activation_alpha=alpha,
                              activation_beta=c.activation_beta or None, clip=c.clip or None, **own)
    if batch_first:  # y [S, D, B, H] to [B, S, D, H], states [D, B, H] to [B, D, H]
        results = [np.transpose(results[0], (2, 0, 1, 3))] + [np.swapaxes(v, 0, 1) for v in results[1:]]
    return results


@oracle('onnxruntime', 'lstm')
def lstm(c, *inputs):
    return recurrent(c, 'LSTM', list(inputs), inputs[2].shape[2], 3, input_forget=int(c.input_forget))


@oracle('onnxruntime', 'gru')
def gru(c, *inputs):
    return recurrent(c, 'GRU', list(inputs), inputs[2].shape[2], 2, linear_before_reset=int(c.linear_before_reset))


@oracle('onnxruntime', 'rnn')
def rnn(c, *inputs):
    return recurrent(c, 'RNN', list(inputs), inputs[2].shape[2], 2)


@oracle('formula', 'attention')
def attention(c, q, k, v, bias=None, mask=None, sink=None):
    packed = q.ndim == 3
    if packed:
        shared = c.kv_heads or c.heads
        q, k, v = [x.reshape(x.shape[0], x.shape[1], n, -1) for x, n in ((q, c.heads), (k, shared), (v, shared))]
    heads_inside = packed or c.layout == 'bshd'
    if heads_inside:
        q, k, v = [np.swapaxes(x, 1, 2) for x in (q, k, v)]
    repeats = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, repeats, 1), np.repeat(v, repeats, 1)
    queries, keys = q.shape[2], k.shape[2]
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * (c.scale or 1 / np.sqrt(q.shape[-1]))
    if c.softcap:
        scores = c.softcap * np.tanh(scores / c.softcap)
    seen = np.ones((queries, keys), bool)
    position = np.arange(queries)[:, None] + keys - queries
    key = np.arange(keys)[None, :]
    if c.causal or c.window >= 0:
        seen &= key <= position
    if c.window >= 0:
        seen &= key >= position - c.window
    seen = np.broadcast_to(seen, scores.shape)
    for part in (bias, mask):
        if part is not None and part.dtype == np.bool_:
            seen = seen & part
        elif part is not None:
            scores = scores + part
    scores = np.where(seen, scores, -np.inf)
    values = v
    if sink is not None:  # one more key, of its own score and of no value
        column = np.broadcast_to(sink[None, :, None, None], scores.shape[:3] + (1,))
        scores = np.concatenate([scores, column], -1)
        values = np.concatenate([v, np.zeros(v.shape[:2] + (1,) + v.shape[3:])], 2)
    if scores.shape[-1] == 0:
        y = np.full(q.shape[:3] + v.shape[-1:], np.nan)
    else:
        shifted = np.exp(scores - scores.max(-1, keepdims=True))
        y = np.matmul(shifted / shifted.sum(-1, keepdims=True), values)
    blind = np.all(scores == -np.inf, -1)[..., None]  # masked, by whatever
    y = np.where(blind, 0 if c.empty_row == 'zero' else np.nan, y)
    if heads_inside:
        y = np.swapaxes(y, 1, 2)
    return y.reshape(y.shape[0], y.shape[1], -1) if packed else y


@oracle('formula', 'rope')
def rope(c, x, cosines, sines):
    turned = 2 * cosines.shape[-1]
    if c.layout == 'bshd':
        cosines, sines = cosines[..., None, :], sines[..., None, :]
    elif cosines.ndim == 3:  # a table per batch, the same for all heads
        shape = cosines.shape[:1] + (1,) * (x.ndim - 3) + cosines.shape[1:]
        cosines, sines = cosines.reshape(shape), sines.reshape(shape)
    first = slice(0, turned, 2) if c.interleaved else slice(0, turned // 2)
    second = slice(1, turned, 2) if c.interleaved else slice(turned // 2, turned)
    y = x.copy()
    # The product of x1 + i x2 and cos + i sin.
    y[..., first] = x[..., first] * cosines - x[..., second] * sines
    y[..., second] = x[..., first] * sines + x[..., second] * cosines
    return y
