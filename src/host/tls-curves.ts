/** OpenSSL's names of key exchanges, by their numbers in TLS (Go's `tls.CurveID`). Go 1.26 knows the same ones. */
const CURVES: ReadonlyMap<number, string> = new Map([
  [23, 'P-256'],
  [24, 'P-384'],
  [25, 'P-521'],
  [29, 'X25519'],
  [4587, 'SecP256r1MLKEM768'],
  [4588, 'X25519MLKEM768'],
  [4589, 'SecP384r1MLKEM1024'],
]);

/** In OpenSSL's format: `X25519:P-256`. Numbers that are not known are left out. */
export function curveList(ids: readonly number[]): string {
  return ids.flatMap((id) => CURVES.get(id) ?? []).join(':');
}

export function isTlsCurve(id: number): boolean {
  return CURVES.has(id);
}
