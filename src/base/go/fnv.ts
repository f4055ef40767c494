/** FNV-1a hashes of bytes, or of a text's UTF-8. Not for secrets. */

export function fnv1a32(data: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytesOf(data)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

export function fnv1a64(data: string | Uint8Array): bigint {
  return fnv1a(data, { bits: 64, basis: 0xcbf29ce484222325n, prime: 0x100000001b3n });
}

export function fnv1a128(data: string | Uint8Array): bigint {
  return fnv1a(data, { bits: 128, basis: 0x6c62272e07bb014262b821756295c58dn, prime: 0x1000000000000000000013bn });
}

function fnv1a(data: string | Uint8Array, { bits, basis, prime }: { bits: number; basis: bigint; prime: bigint }) {
  let hash = basis;
  for (const byte of bytesOf(data)) hash = BigInt.asUintN(bits, (hash ^ BigInt(byte)) * prime);
  return hash;
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data;
}
