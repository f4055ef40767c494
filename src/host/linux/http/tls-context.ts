import { createHash } from 'node:crypto';
// As a whole: an older Node.js has to get as far as saying that it is too old.
import * as tls from 'node:tls';
import type { TlsSettings } from '../../network.ts';

let known: readonly string[] | undefined;
let usual: tls.SecureContext | undefined;
/** By what they are made of, the latest last. */
const special = new Map<string, readonly tls.SecureContext[]>();
const MAX_SPECIAL = 16;

/**
 * Whom is trusted, and who we are: one for each of the client certificates, in order. Made once for the same settings, for
 * it takes far longer than a handshake.
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

/** Those that the machine trusts, beside those that Node.js brings along; read when they are first needed. */
function authorities(): string[] {
  known ??= [...new Set([...tls.getCACertificates('default'), ...tls.getCACertificates('system')])];
  return [...known];
}
