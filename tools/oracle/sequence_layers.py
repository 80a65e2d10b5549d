"""State-space and linear-attention layers, from the recurrences their papers define them by: Mamba (Gu and Dao, eq. 2
with the discretisation of its scan) and gated DeltaNet (Yang, Kautz and Hatamizadeh, eq. 10), whole matrices a step."""
import numpy as np

from registry import oracle


def softplus(x):
    return np.logaddexp(0, x)


def silu(x):
    return x / (1 + np.exp(-x))


def for_channels(b, channels):
    """[B, T, N] or [B, T, G, N] as [B, T, channels, N]."""
    b = b[:, :, None] if b.ndim == 3 else b
    return np.repeat(b, channels // b.shape[2], 2) if b.shape[2] and channels else np.zeros(b.shape[:2] + (0, b.shape[3]))


def scan(x, delta, a, b, c, state=None):
    batches, steps, channels = x.shape
    b, c = for_channels(b, channels), for_channels(c, channels)
    h = np.zeros((batches, channels, a.shape[1])) if state is None else state
    y = np.zeros(x.shape)
    states = [h]
    for t in range(steps):
        kept = np.exp(delta[:, t, :, None] * a)
        h = kept * h + (delta[:, t] * x[:, t])[..., None] * b[:, t]
        y[:, t] = np.einsum('bdn,bdn->bd', h, c[:, t])
        states.append(h)
    return y, h, states


@oracle('formula', 'selective_scan')
def selective_scan(c, x, delta, a, b, of_c, state=None, bias=None, skip=None, gate=None):
    if bias is not None:  # the row that is made of the function with all its options
        delta = softplus(delta + bias)
    y, h, _ = scan(x, delta, a, b, of_c, state)
    if bias is not None:
        y = (y + skip * x) * silu(gate)
    return [y, h]


@oracle('formula', 'selective_scan_gradient')
def selective_scan_gradient(c, x, delta, a, b, of_c, dy, state=None, d_next=None):
    batches, steps, channels = x.shape
    states = scan(x, delta, a, b, of_c, state)[2]
    wide_b, wide_c = for_channels(b, channels), for_channels(of_c, channels)
    g = np.zeros((batches, channels, a.shape[1])) if d_next is None else d_next
    dx, d_delta = np.zeros(x.shape), np.zeros(x.shape)
    da = np.zeros((batches, -(-steps // 32), channels, a.shape[1]))
    db, dc = np.zeros(wide_b.shape), np.zeros(wide_c.shape)
    for t in reversed(range(steps)):
        step = delta[:, t, :, None]
        kept = np.exp(step * a)
        g = g + dy[:, t, :, None] * wide_c[:, t]
        dc[:, t] = dy[:, t, :, None] * states[t + 1]
        db[:, t] = g * step * x[:, t, :, None]
        dx[:, t] = (g * step * wide_b[:, t]).sum(-1)
        slope = g * kept * states[t]  # of delta * a
        d_delta[:, t] = (slope * a + g * wide_b[:, t] * x[:, t, :, None]).sum(-1)
        da[:, t // 32] += slope * step
        g = g * kept

    def by_group(v):
        groups = 1 if b.ndim == 3 else b.shape[2]
        return v.reshape(v.shape[:2] + (groups, channels // groups, v.shape[3])).sum(3).reshape(b.shape)
    return [dx, d_delta, da, by_group(db), by_group(dc), g]


@oracle('formula', 'gated_delta_net')
def gated_delta_net(c, q, k, v, g, beta, state=None):
    batches, steps, heads, values = v.shape
    keys = k.shape[3]
    if k.shape[2] != heads:
        q, k = [np.repeat(x, heads // k.shape[2], 2) for x in (q, k)]
    s = np.zeros((batches, heads, keys, values)) if state is None else state
    o = np.zeros(v.shape)
    identity = np.eye(keys)
    for t in range(steps):  # S_t = alpha (I - beta k k^T) S_{t-1} + beta k v^T, the paper's S transposed
        kt, rate = k[:, t], beta[:, t, :, None, None]
        outer = kt[..., :, None] * kt[..., None, :]
        s = np.exp(g[:, t])[..., None, None] * ((identity - rate * outer) @ s) + rate * kt[..., :, None] * v[:, t, :, None]
        o[:, t] = (q[:, t, :, None] @ s)[:, :, 0]
    return [o * (c.get('scale') or 1 / np.sqrt(max(keys, 1))), s]


@oracle('formula', 'causal_conv1d')
def causal_conv1d(c, x, w, *more):
    bias = more[0] if len(more) == 2 else None
    state = more[-1] if more else np.zeros((x.shape[0], w.shape[1] - 1, x.shape[2]))
    rows = np.concatenate([state, x], 1)
    y = np.stack([np.stack([np.convolve(rows[i, :, ch], w[ch, ::-1])[w.shape[1] - 1:rows.shape[1]] if rows.shape[1]
                            else rows[i, :, ch] for ch in range(x.shape[2])], -1) for i in range(x.shape[0])])
    if bias is not None:
        y = silu(y + bias)
    return [y, rows[:, rows.shape[1] - (w.shape[1] - 1):]]
