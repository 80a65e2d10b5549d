"""Computes rows without rlx and stores the results: see tools/make-oracle."""
import argparse
import collections
import importlib
import json
import pathlib
import traceback

import numpy as np

import interpret
import registry
import rows

FAMILIES = ['elementwise', 'reductions', 'search', 'shapes', 'indexing', 'products', 'blocks', 'windows', 'pictures', 'norms',
            'sequences', 'sequence_layers', 'signals', 'points', 'splats', 'random_numbers', 'strings', 'control',
            'compositions']
FEW_ELEMENTS = 70  # of a row's results: the files are to stay small
MOST_ELEMENTS = 700  # where no smaller row has an attribute, or there are not enough of them
ENOUGH_ROWS = 3
ENOUGH_VALUES = 4  # that tell one result from another


def computed(row):
    """The results, each (array, dtype)."""
    inputs = {name: rows.tensor(tensor) for name, tensor in row['inputs'].items()}
    graph = row['graph']
    name = row['op']
    if not row['composed']:
        steps = [node for node in graph['nodes'] if node['op'] not in ('input', 'constant')]
        name += '()'  # the user's function, where it is more than the op
        if len(steps) == 1 or name not in registry.ORACLES:
            return interpret.run(graph, inputs, row['symbols'], row['row'])
    if name not in registry.ORACLES:
        raise registry.Skip(f'nobody computes {name}')
    dtypes = [graph['nodes'][n]['types'][r] for n, r in graph['outputs']]
    operand_dtypes = [tensor['dtype'] for tensor in row['inputs'].values()]
    call = registry.Call({}, operand_dtypes, dtypes, row['row'].split(': ', 1)[1])
    _, function = registry.ORACLES[name]
    with np.errstate(all='ignore'):
        results = function(call, *operands_of(row, inputs))
    results = results if isinstance(results, (list, tuple)) else [results]
    return [(rows.rounded(x, dtype), dtype) for x, dtype in zip(results, dtypes, strict=True)]


def operands_of(row, inputs):
    last = max((int(name[2:]) for name in inputs), default=-1)
    return [inputs.get(f'in{i}') for i in range(last + 1)]


def features(row):
    """What a row is the first to show: attributes not at their defaults, operands, dtypes, ranks, NaN."""
    found = {('operands', tuple(sorted(row['inputs'])))}
    for node in row['graph']['nodes']:
        if node['op'] == row['op']:
            for name, value in node['attrs'].items():
                if value == row['defaults'].get(name):
                    continue
                # Which dims a shape has is no feature; which mode, or dtype, is.
                plain = isinstance(value, (str, bool)) or (isinstance(value, dict) and 'dtype' in value)
                found.add(('attribute', name, json.dumps(value) if plain else 'set'))
                if not isinstance(value, dict):
                    found.add(('value', name, json.dumps(value)))
        elif not row['composed'] and node['op'] not in ('input', 'constant'):
            found.add(('with', node['op']))
    for name, tensor in row['inputs'].items():
        found.add((name, tensor['dtype']))
        found.add((name, len(tensor['shape'])))
        found.add(('class', name, np.dtype(rows.DTYPES[tensor['dtype']]).kind if tensor['dtype'] != 'bf16' else 'f'))
        if name != 'in0' and tensor['dtype'] in ('i32', 'i64') and (rows.tensor(tensor) < 0).any():
            found.add(('below zero', name))
        if tensor['dtype'] in rows.FLOATS and not np.isfinite(rows.tensor(tensor)).all():
            found.add(('not finite', name))
    if row['composed']:
        found.add(('why', row['row'].split(': ', 1)[1]))
    return found


def telling_values(results):
    """How many different values can be seen: tolerance is of the largest, and beside 1e30 a wrong 1 looks right."""
    most = 0
    for array, dtype in results:
        numbers = np.asarray(array).astype(np.complex128 if dtype == 'c64' else np.float64).ravel()
        numbers = numbers[np.isfinite(numbers)]
        largest = np.abs(numbers).max(initial=0)
        most = max(most, len(np.unique(numbers[np.abs(numbers) >= 1e-3 * largest])))
    return min(most, ENOUGH_VALUES)


def chosen(candidates):
    """The cheapest rows that show every feature, and at least three of which much can be told."""
    telling = max(candidate['telling'] for candidate in candidates)
    for candidate in candidates:
        candidate['features'] = features(candidate['row'])
    # An attribute of a row that tells little shows nothing, if another row has it.
    told = set().union(*(candidate['features'] for candidate in candidates if candidate['telling'] == telling))
    for candidate in candidates:
        if candidate['telling'] < telling:
            candidate['features'] -= {feature for feature in told if feature[0] in ('attribute', 'value')}
        if candidate['elements'] > FEW_ELEMENTS:  # it has to show something that matters
            kinds = ('attribute', 'not finite', 'class') if candidate['elements'] <= 2 * FEW_ELEMENTS else ('attribute',)
            candidate['features'] = {feature for feature in candidate['features'] if feature[0] in kinds}
    picked, seen = [], set()
    rest = list(candidates)

    def gain(candidate):
        return len(candidate['features'] - seen) / (30 + candidate['elements'])

    while rest:
        best = max(rest, key=gain)
        if gain(best) == 0:
            if sum(candidate['telling'] == telling for candidate in picked) >= ENOUGH_ROWS:
                break
            with_something = [candidate for candidate in rest if candidate['telling'] > 0]
            if not with_something:
                break
            best = min(with_something, key=lambda candidate: (-candidate['telling'], candidate['elements']))
        rest.remove(best)
        picked.append(best)
        seen |= best['features']
    return picked


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('rows')
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('op', nargs='*')
    parser.add_argument('--traceback', action='store_true')
    options = parser.parse_args()
    for family in FAMILIES:
        if (pathlib.Path(__file__).parent / f'{family}.py').exists():
            importlib.import_module(family)

    by_op = collections.OrderedDict()
    family_of = {}
    for row in rows.read_rows(options.rows):
        if row['family'] not in ('edges', 'attributes'):  # whose rows are of ops of other families
            family_of.setdefault(row['op'], row['family'])
        candidates = by_op.setdefault(row['op'], [])
        if options.op and row['op'] not in options.op:
            continue
        try:
            results = computed(row)
        except registry.Skip as reason:
            print(f"{row['op']}: skipped {row['row']}: {reason}")
            continue
        except Exception as error:  # a row that its oracle refuses leaves the others
            print(f"{row['op']}: refused {row['row']}: {type(error).__name__}: {str(error)[:200]}")
            if options.traceback:
                traceback.print_exc()
            continue
        elements = sum(array.size for array, _ in results)
        if elements <= MOST_ELEMENTS:
            candidates.append({'row': row, 'results': results, 'elements': elements,
                               'telling': telling_values(results)})
    write(by_op, family_of, options)


def block(op, picked):
    source, _ = registry.ORACLES[op]
    lines = [f'op {op} {source}']
    for candidate in picked:
        lines.append(f"row {candidate['row']['fingerprint']} {candidate['row']['row']}")
        lines += ['is ' + rows.text(array, dtype) for array, dtype in candidate['results']]
    return '\n'.join(lines) + '\n'


def write(by_op, family_of, options):
    """A file for each family; the blocks of ops that were not asked for stay as they are."""
    families = collections.defaultdict(dict)
    for op, candidates in by_op.items():
        families[family_of[op]][op] = block(op, chosen(candidates)) if candidates else None
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.op:
        for path in options.folder.glob('*.txt'):
            path.unlink()
    for family, blocks in families.items():
        path = options.folder / f'{family}.txt'
        if options.op and path.exists():
            for old in path.read_text(encoding='utf-8').split('\nop ')[1:]:
                op = old.split(' ', 1)[0]
                if op in blocks and op not in options.op:
                    blocks[op] = 'op ' + old.rstrip('\n') + '\n'
        header = '# Written by tools/make-oracle, not by hand. op NAME SOURCE; row FINGERPRINT NAME; is RESULT.\n'
        text = header + ''.join('\n' + made for _, made in sorted(blocks.items()) if made)
        if text != header:
            path.write_text(text, encoding='utf-8')
    table(options.folder)


def table(folder):
    """Which op has which oracle, and how many rows."""
    by_source = collections.defaultdict(list)
    for path in sorted(folder.glob('*.txt')):
        for made in path.read_text(encoding='utf-8').split('\nop ')[1:]:
            op, source = made.split('\n', 1)[0].split(' ')
            by_source[source].append((op, made.count('\nrow ')))
    lines = ['# Who computed what tests/oracle holds', '',
             'Written by `tools/make-oracle`; the number behind an op is that of its rows.', '']
    for source, ops in sorted(by_source.items()):
        listed = ', '.join(f'{op} {count}' for op, count in sorted(ops))
        lines += [f'**{source}**, {registry.SOURCES[source]}; {len(ops)} ops: {listed}', '']
    (folder / 'README.md').write_text('\n'.join(lines), encoding='utf-8')


if __name__ == '__main__':
    main()
