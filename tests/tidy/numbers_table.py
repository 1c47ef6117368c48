# SPDX-License-Identifier: BSL-1.0
"""The sizes of the tree in a few lines, with the house's aim beside each."""

import statistics


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def ratio(sources):
    code = sum(source.code_lines for source in sources)
    return sum(source.comment_lines for source in sources) / code if code else 0.0


def three(values):
    return f'{statistics.median(values):.0f} / {percentile(values, 0.9)} / {max(values)}'


def print_numbers(cpp, reach_of):
    """cpp: name to Source. reach_of: how many headers of the tree a header includes."""
    public = {name: source for name, source in cpp.items() if '/include/' in name}
    tests = {name: source for name, source in cpp.items() if name.startswith('tests/')}
    inside = {name: source for name, source in cpp.items() if name not in public and
              name not in tests and not name.startswith('docs/')}
    rows = [('', 'files', 'lines', 'file median/p90/max', 'function median/p90/max',
             'comment/code')]
    for label, group in (('public headers', public), ('implementation', inside),
                         ('tests', tests)):
        if not group:
            continue
        sizes = [len(source.text.splitlines()) for source in group.values()]
        lengths = [f.lines for source in group.values() for f in source.functions()]
        rows.append((label, str(len(group)), str(sum(sizes)), three(sizes),
                     three(lengths) if lengths else '-', f'{ratio(group.values()):.2f}'))
    rows.append(('aim', '', '', '100-230 / - / 400', '4-9 / 30 / 70', 'headers 1, inside 0.15'))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print('  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())

    longest = sorted(((f.lines, name, f.name) for name, source in cpp.items()
                      for f in source.functions()), reverse=True)[:5]
    print('\nlongest functions: ' + ', '.join(f'{n} {f} ({name})' for n, name, f in longest))
    widest = sorted(((reach_of(name), name) for name in public), reverse=True)[:5]
    print('headers reached (aim 10): ' + ', '.join(f'{count} {name}' for count, name in widest))
