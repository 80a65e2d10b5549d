"""Bodies, run by the oracles of their ops."""
import numpy as np

from registry import Skip, oracle


@oracle('python', 'if_else')
def if_else(c, condition, *inputs):
    return c.body('then' if condition.item() else 'else', inputs)


@oracle('python', 'fused')
def fused(c, *inputs):
    return c.body('body', inputs)


@oracle('python', 'loop')
def loop(c, count, *values):
    count = int(count.item())
    states = len(values) - c.scanned - c.captured
    carried = list(values[:states])
    scanned, captured = values[states:states + c.scanned], list(values[states + c.scanned:])
    rows = []
    for i in range(count):
        at = count - 1 - i if c.reverse else i
        results = c.body('body', [np.array(at), *carried, *(x[at] for x in scanned), *captured])
        carried = results[:states]
        rows.append(results[states:])
    return carried + collected(c, rows[::-1] if c.reverse else rows, states)


@oracle('python', 'while_loop')
def while_loop(c, most, condition, *values):
    states = len(values) - c.captured
    carried, captured = list(values[:states]), list(values[states:])
    rows, i = [], 0
    goes_on = True if condition is None else bool(condition.item())
    while goes_on and (most is None or i < int(most.item())):
        results = c.body('body', [np.array(i), np.array(goes_on), *carried, *captured])
        goes_on = bool(results[0])
        carried = results[1:1 + states]
        rows.append(results[1 + states:])
        i += 1
    return carried + collected(c, rows, states)


def collected(c, rows, states):
    extra = len(c.result_dtypes) - states
    if extra and not rows:
        raise Skip('there are no rows to tell the shape of')
    return [np.stack([row[i] for row in rows]) for i in range(extra)]
