import { createHash } from 'node:crypto';
import { pemBlocks, pemText } from '../../base/pem.ts';

/**
 * The certificates of all bundles in PEM, each once, without headers and other text. Their order is the same for the
 * same salt, and arbitrary: programs must not depend on it.
 */
export function normalizeTrustAnchors(bundles: readonly string[], salt: Uint8Array): string {
  const byDigest = new Map<string, Uint8Array>();
  for (const { der } of bundles.flatMap(pemBlocks)) {
    byDigest.set(createHash('sha256').update(salt).update(der).digest('hex'), der);
  }
  const sorted = [...byDigest].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([, der]) => pemText({ label: 'CERTIFICATE', der })).join('');
}
