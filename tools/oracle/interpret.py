"""Runs the graph of a row, node by node, by the oracles of its ops."""
import numpy as np

import registry
import rows


def dims(items, symbols):
    names = dict(symbols, floor_div=lambda a, b: a // b, mod=lambda a, b: a % b, min=min, max=max)
    return [eval(item, {'__builtins__': {}}, names) for item in items]


def attribute(value, symbols):
    if isinstance(value, list):
        return [attribute(item, symbols) for item in value]
    if not isinstance(value, dict):
        return value
    (kind, inner), = value.items()
    if kind == 'float':
        return float(inner)
    if kind == 'dims':
        return dims(inner, symbols)
    if kind == 'tensor':
        return rows.tensor(inner)
    return inner  # the name of a dtype, or a graph


def run(graph, inputs, symbols, row=''):
    """The outputs, each (array, dtype); `inputs` are by name, or in order for a body."""
    values = []
    in_order = iter(inputs.values() if isinstance(inputs, dict) else inputs)
    for node in graph['nodes']:
        types = node['types']
        attrs = {name: attribute(value, symbols) for name, value in node['attrs'].items()}
        if node['op'] == 'input':
            results = [inputs[node['name']] if isinstance(inputs, dict) else next(in_order)]
        elif node['op'] == 'constant':
            results = [attrs['value']]
        else:
            operands = [None if i is None else values[i[0]][i[1]] for i in node['inputs']]
            results = apply(node, operands, attrs, graph, symbols, row)
        results = [rows.wide(rows.rounded(result, dtype), dtype) for result, dtype in zip(results, types, strict=True)]
        values.append(results)
    return [(values[n][r], graph['nodes'][n]['types'][r]) for n, r in graph['outputs']]


def apply(node, operands, attrs, graph, symbols, row):
    if node['op'] not in registry.ORACLES:
        raise registry.Skip(f"nobody computes {node['op']}")
    operand_dtypes = [None if i is None else graph['nodes'][i[0]]['types'][i[1]] for i in node['inputs']]
    call = registry.Call(attrs, operand_dtypes, node['types'], row)
    call.body = lambda name, values: [result for result, _ in run(attrs[name], values, symbols, row)]
    _, function = registry.ORACLES[node['op']]
    with np.errstate(all='ignore'):
        results = function(call, *operands)
    return results if isinstance(results, (list, tuple)) else [results]
