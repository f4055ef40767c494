/** A block of IPv4 addresses. */
export interface Ipv4Range {
  readonly first: number;
  readonly last: number;
}

/** Parses `10.88.0.0/16` and ignores host bits. Returns `undefined` for other texts. */
export function parseIpv4Range(text: string): Ipv4Range | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(text);
  if (!match) return undefined;
  const [a = 0, b = 0, c = 0, d = 0, prefix = 0] = match.slice(1).map(Number);
  if (Math.max(a, b, c, d) > 255 || prefix > 32) return undefined;
  return rangeOf(((a * 256 + b) * 256 + c) * 256 + d, prefix);
}

/** The block of `2 ** (32 - prefix)` addresses that contains `address`. */
export function rangeOf(address: number, prefix: number): Ipv4Range {
  const size = 2 ** (32 - prefix); // shifts would wrap at 32 bits
  const first = address - (address % size);
  return { first, last: first + size - 1 };
}

export function overlap(a: Ipv4Range, b: Ipv4Range): boolean {
  return a.first <= b.last && b.first <= a.last;
}

export function addressText(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
}

export function rangeText({ first, last }: Ipv4Range): string {
  return `${addressText(first)}/${32 - Math.log2(last - first + 1)}`;
}
