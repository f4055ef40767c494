/** Columns as wide as their widest cell, three spaces apart, as kubectl prints tables; no spaces at the end of a line. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join('   ')
          .trimEnd()}\n`,
    )
    .join('');
}
