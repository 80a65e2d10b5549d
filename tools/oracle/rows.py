"""Rows as `rlx ops --rows` prints them, their tensors, and results as tests/oracle keeps them."""
import json

import ml_dtypes
import numpy as np

DTYPES = {
    'f32': np.float32, 'f16': np.float16, 'bf16': ml_dtypes.bfloat16, 'f64': np.float64,
    'c64': np.complex64, 'i8': np.int8, 'u8': np.uint8, 'i16': np.int16, 'u16': np.uint16,
    'i32': np.int32, 'u32': np.uint32, 'i64': np.int64, 'u64': np.uint64, 'bool': np.bool_,
}
FLOATS = ('f32', 'f16', 'bf16', 'f64')


def read_rows(path):
    with open(path, encoding='utf-8') as lines:
        return [json.loads(line) for line in lines]


def tensor(json_tensor):
    """The elements, floats as f64 and complex numbers as two of those: formulas are computed in these."""
    data = np.frombuffer(bytes.fromhex(json_tensor['bytes']), DTYPES[json_tensor['dtype']])
    return wide(data.reshape(json_tensor['shape']), json_tensor['dtype'])


def wide(array, dtype):
    if dtype in FLOATS:
        return array.astype(np.float64)
    return array.astype(np.complex128) if dtype == 'c64' else array


def rounded(array, dtype):
    """To the result's dtype; integers wrap, and nothing else may become one."""
    array = np.asarray(array)
    if dtype not in FLOATS and dtype != 'c64' and array.dtype.kind == 'f':
        raise TypeError(f'floats where {dtype} is due')
    if dtype == 'bf16':
        array = array.astype(np.float32)
    with np.errstate(over='ignore', invalid='ignore'):
        return array.astype(DTYPES[dtype])


def text(array, dtype):
    """'f32[2]: 1 0.5', as few digits as read back the same."""
    array = np.asarray(array)
    if dtype == 'bf16':
        numbers = [short(float(f'{float(x):.4g}')) for x in array.ravel()]
    elif dtype in FLOATS:
        numbers = [short(DTYPES[dtype](x)) for x in array.ravel()]
    elif dtype == 'c64':
        numbers = [short(part) for x in array.ravel() for part in (x.real, x.imag)]
    else:
        numbers = [str(int(x)) for x in array.ravel()]
    shape = ', '.join(map(str, array.shape))
    return f'{dtype}[{shape}]:' + ''.join(' ' + number for number in numbers)


def short(x):
    if not np.isfinite(x):
        return 'nan' if np.isnan(x) else ('inf' if x > 0 else '-inf')
    plain = np.format_float_positional(x, trim='-')
    scientific = np.format_float_scientific(x, trim='-', exp_digits=1)
    number = min(plain, scientific, key=len)
    return number.replace('0.', '.', 1) if number.startswith(('0.', '-0.')) and number not in ('0.', '-0.') else number
