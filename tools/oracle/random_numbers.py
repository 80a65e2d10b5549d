"""Philox 4x32-10 as Salmon et al. publish it ("Parallel random numbers: as easy as 1, 2, 3"), and what is drawn
with it."""
import numpy as np
import scipy.special

from registry import oracle


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        low = c[0] * 0xD2511F53
        high = c[2] * 0xCD9E8D57
        c = [(high >> 32) ^ c[1] ^ k[0], high & 0xFFFFFFFF, (low >> 32) ^ c[3] ^ k[1], low & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


# The known answers that come with Random123.
assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
assert philox([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]) == [
    0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def key_of(seed):
    words = [int(v) & 0xFFFFFFFF for v in np.ravel(seed)]
    return (words + [0])[:2]


def uniforms(seed, count):
    """The upper 24 bits of each word, in [0, 1); four words for each counter."""
    words = [word for n in range(-(-count // 4)) for word in philox([n, 0, 0, 0], key_of(seed))]
    return np.array(words[:count], np.float64) // 256 / 2 ** 24


@oracle('formula', 'random_uniform')
def random_uniform(c, seed):
    count = int(np.prod(c.shape))
    return (c.low + (c.high - c.low) * uniforms(seed, count)).reshape(c.shape)


@oracle('formula', 'random_normal')
def random_normal(c, seed):
    count = int(np.prod(c.shape))
    u = uniforms(seed, -(-count // 2) * 2).reshape(-1, 2)
    # Box and Muller, as a complex number: its length and its angle.
    z = np.sqrt(-2 * np.log1p(-u[:, 0])) * np.exp(2j * np.pi * u[:, 1])
    numbers = np.stack([z.real, z.imag], 1).ravel()[:count]
    return (c.mean + c.deviation * numbers).reshape(c.shape)


@oracle('formula', 'dropout')
def dropout(c, x, seed):
    kept = uniforms(seed, x.size).reshape(x.shape) >= c.ratio
    return np.where(kept, x / (1 - c.ratio) if c.ratio < 1 else x, 0)


@oracle('formula', 'sample')
def sample(c, logits, seed, step):
    rows = logits.reshape(-1, logits.shape[-1])
    drawn = [draw(c, row, seed, step, r) for r, row in enumerate(rows)]
    return np.array(drawn, np.int64).reshape(logits.shape[:-1])


def draw(c, row, seed, step, r):
    row = np.where(np.isnan(row), -np.inf, row)
    if c.temperature == 0:
        return int(np.argmax(row))
    if np.isposinf(row).any():
        return int(np.argmax(row))
    likely = np.argsort(-row, kind='stable')
    if c.top_k:
        likely = likely[:c.top_k]
    p = scipy.special.softmax(row[likely] / c.temperature)
    if c.top_p < 1:
        fewest = int(np.searchsorted(np.cumsum(p), c.top_p)) + 1
        likely, p = likely[:fewest], p[:fewest]
    enough = p >= c.min_p * p[0]
    likely, p = likely[enough], p[enough]
    order = np.argsort(likely)
    shares = np.cumsum(p[order] / p.sum())
    u = philox([r, int(step.item()), 0, 0], key_of(seed))[0] // 256 / 2 ** 24
    return int(likely[order][np.searchsorted(shares, u, side='right')])
