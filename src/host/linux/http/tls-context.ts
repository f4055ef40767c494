import { createHash } from 'node:crypto';
// A namespace import: an older Node.js must start far enough to report that it is too old.
import * as tls from 'node:tls';
import type { TlsSettings } from '../../network.ts';

let known: readonly string[] | undefined;
let usual: tls.SecureContext | undefined;
/** By a hash of the settings, the most recently used last. */
const special = new Map<string, readonly tls.SecureContext[]>();
const MAX_SPECIAL = 16;

/**
 * The TLS contexts of the settings, one per client certificate, in order. Cached: creating one takes far longer than a
 * handshake.
 */
export function secureContexts(
  settings: TlsSettings | undefined,
): readonly [tls.SecureContext, ...tls.SecureContext[]] {
  if (settings === undefined) {
    usual ??= tls.createSecureContext({ ca: authorities() });
    return [usual];
  }
  const key = createHash('sha256').update(JSON.stringify(settings)).digest('hex');
  const made = special.get(key) ?? makeContexts(settings);
  special.delete(key);
  special.set(key, made);
  const [oldest = key] = special.keys();
  if (special.size > MAX_SPECIAL) special.delete(oldest);
  const [first = tls.createSecureContext(), ...others] = made;
  return [first, ...others];
}

function makeContexts(settings: TlsSettings): readonly tls.SecureContext[] {
  const { authorities: own = [], isExclusive = false, clientCertificates = [] } = settings;
  const ca = isExclusive ? [...own] : [...authorities(), ...own];
  if (clientCertificates.length === 0) return [tls.createSecureContext({ ca })];
  return clientCertificates.map(({ certificate: cert, key }) => tls.createSecureContext({ ca, cert, key }));
}

/** The machine's authorities and those built into Node.js, read on first use. */
function authorities(): string[] {
  known ??= [...new Set([...tls.getCACertificates('default'), ...tls.getCACertificates('system')])];
  return [...known];
}
