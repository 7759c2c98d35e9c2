"""Tables in plain text."""

from collections.abc import Sequence


def text_table(columns: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return the lines of a table: headings, then rows. The first column is on the left, others on the right.

    Args:
        columns: The heading and the cells of each column.

    >>> text_table([("epsilon", ["0.5", "1"]), ("people", ["86,600", "900"])])
    ['epsilon  people', '0.5      86,600', '1           900']
    """
    widths = [max(map(len, (heading, *cells))) for heading, cells in columns]
    rows = [[heading for heading, _ in columns], *zip(*(cells for _, cells in columns), strict=True)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines
