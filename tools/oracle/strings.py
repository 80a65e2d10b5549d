"""Strings, which are bytes padded with zeros to one length."""
import numpy as np

from decimal import Decimal

from elementwise import cast
from registry import oracle
from rows import FLOATS, rounded


def strings_of(x):
    count = int(np.prod(x.shape[:-1]))
    return [bytes(row).rstrip(b'\0') for row in x.reshape(count, x.shape[-1])]


def tensor_of(strings, shape, length):
    length = max([length, *map(len, strings)])
    data = b''.join(string.ljust(length, b'\0') for string in strings)
    return np.frombuffer(data, np.uint8).reshape(*shape, length)


@oracle('python', 'normalise_text')
def normalise_text(c, text):
    words = [string.decode('utf-8') for string in strings_of(text)]
    stop = set(c.stopwords if c.case_sensitive else [word.lower() for word in c.stopwords])
    kept = [word for word in words if (word if c.case_sensitive else word.lower()) not in stop]
    change = {'none': str, 'lower': str.lower, 'upper': str.upper}[c.letter_case]
    kept = [change(word).encode('utf-8') for word in kept] or [b'']
    return tensor_of(kept, text.shape[:-2] + (len(kept),), text.shape[-1])


@oracle('python', 'text_to_numbers')
def text_to_numbers(c, text):
    numbers = np.array([float(string) for string in strings_of(text)])
    return cast(c, numbers.reshape(text.shape[:-1]))


@oracle('python', 'numbers_to_text')
def numbers_to_text(c, x):
    dtype = c.dtypes[0]
    write = (lambda v: number_text(float(v), dtype)) if dtype in FLOATS else (lambda v: str(int(v)))
    return tensor_of([write(v).encode() for v in x.ravel()], x.shape, 24)


def number_text(v, dtype):
    """The fewest digits that read back as the same number of the dtype, in the shorter of both notations."""
    if not np.isfinite(v):
        return 'NaN' if np.isnan(v) else ('INF' if v > 0 else '-INF')
    digits = next(n for n in range(1, 18) if rounded(np.array(float(f'{v:.{n - 1}e}')), dtype) == v)
    mantissa, exponent = f'{v:.{digits - 1}e}'.split('e')
    scientific = f'{mantissa}e{int(exponent)}'
    plain = f'{Decimal(scientific):f}'
    return plain if len(plain) <= len(scientific) else scientific
