"""Who computes which op. An oracle takes a Call and the operands (None: absent) and gives the result,
or a list of them; it may raise Skip for a row that it cannot do."""

SOURCES = {
    'formula': 'what the op is by definition, written out in f64',
    'gguf': "GGUF's blocks by the gguf package, other formats by ml_dtypes or their definition; products in f64",
    'numpy': 'its function of that name, or a few of them, in f64 and exact integers',
    'scipy': 'its function of that name, in f64',
    'onnx': 'the reference evaluator of the onnx package, in f64',
    'onnxruntime': 'its CPU provider, in f32; where it has no such case, the formula',
    'python': "strings and loops as Python's own, bodies by the oracles of their ops",
}
ORACLES = {}  # op -> (source, function)


class Skip(Exception):
    pass


class Call:
    """The attributes of a node, as c.axis; what surrounds it."""

    def __init__(self, attrs, operand_dtypes, result_dtypes, row=''):
        self.attrs = attrs
        self.dtypes = operand_dtypes
        self.result_dtypes = result_dtypes
        self.row = row

    def __getattr__(self, name):
        return self.attrs[name]

    def get(self, name):
        return self.attrs.get(name)


def oracle(source, *ops):
    assert source in SOURCES

    def add(function):
        for op in ops:
            assert op not in ORACLES, op
            ORACLES[op] = (source, function)
        return function
    return add


def each(source, functions):
    """A table {op: function of the operands alone}."""
    for op, function in functions.items():
        oracle(source, op)(lambda c, *x, f=function: f(*x))
