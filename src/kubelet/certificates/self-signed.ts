import { ipBytes } from '../../base/ip-address.ts';
import type { Random } from '../../host/random.ts';
import type { SigningKey, SigningKeys } from '../../host/signing-keys.ts';
import type { KeyPair } from './serving-certificate.ts';
import {
  alternativeNames,
  authorityExtensions,
  distinguishedName,
  issueCertificate,
  serverExtensions,
} from './x509.ts';

const YEAR_MS = 365 * 24 * 3600 * 1000;
/** Tolerance for clients whose clocks are behind. */
const HEAD_START_MS = 3600 * 1000;

export interface SelfSignedDeps {
  readonly keys: SigningKeys;
  readonly random: Random;
  readonly nowMs: number;
}

/**
 * A certificate for one year, and that of a new authority whose key is discarded. The names are kubelet's:
 * `box@1794734529`, issued by `box-ca@1794734529`.
 */
export async function selfSigned(
  host: string,
  ipAddresses: readonly string[],
  { keys, random, nowMs }: SelfSignedDeps,
): Promise<KeyPair> {
  const [authorityKey, key] = [await keys.generate(), await keys.generate()];
  const seconds = Math.floor(nowMs / 1000);
  const issuer = distinguishedName({ commonName: `${host}-ca@${seconds}` });
  const issue = (subject: Uint8Array, { publicKey }: SigningKey, extensions: readonly Uint8Array[]): string =>
    issueCertificate(
      {
        serial: serialNumber(random),
        subject,
        issuer,
        validFromMs: nowMs - HEAD_START_MS,
        validUntilMs: nowMs - HEAD_START_MS + YEAR_MS,
        publicKey,
        extensions,
      },
      authorityKey,
    );
  const isAddress = ipBytes(host) !== undefined;
  const names = alternativeNames({
    dnsNames: isAddress ? [] : [host],
    ipAddresses: [...new Set([...(isAddress ? [host] : []), ...ipAddresses])],
  });
  const own = distinguishedName({ commonName: `${host}@${seconds}` });
  const leaf = issue(own, key, [...serverExtensions(authorityKey.publicKey), ...names]);
  return { certificate: leaf + issue(issuer, authorityKey, authorityExtensions(authorityKey.publicKey)), key: key.pem };
}

/** Positive and below 2^63. */
function serialNumber(random: Random): Uint8Array {
  const bytes = random.bytes(8);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}
