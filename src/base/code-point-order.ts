/** Compares by code point, which is also the order of the UTF-8 bytes; `<` on strings compares UTF-16 units instead. */
export function byCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
