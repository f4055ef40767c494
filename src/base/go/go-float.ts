/** A number as Go's `strconv.FormatFloat(value, 'g', -1, 64)` writes it: `0.005`, `1`, `1e+06`. */
export function goFloat(value: number): string {
  // Most figures are short whole numbers.
  if (Number.isInteger(value) && value > -1e6 && value < 1e6) return value === 0 ? '0' : String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  const text = value.toExponential();
  const at = text.indexOf('e');
  const power = Number(text.slice(at + 1));
  if (power >= -4 && power < 6) return String(value);
  return `${text.slice(0, at)}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
