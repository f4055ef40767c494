const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `512 B`, `1.5 MiB` */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const exponent = Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length);
  return `${(bytes / 1024 ** exponent).toFixed(1)} ${UNITS[exponent - 1]}`;
}
