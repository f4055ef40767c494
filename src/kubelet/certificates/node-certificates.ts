import { createHash } from 'node:crypto';
import type { NodeAddress } from '../../api/generated/core-v1.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import { ipBytes } from '../../base/ip-address.ts';
import type { KeyKind, SigningKey } from '../../host/signing-keys.ts';
import { type CertificateSubject, nodeSubject } from './certificate-subject.ts';

/** What a first client certificate is for. */
export function bootstrapUsages(kind: KeyKind): readonly string[] {
  return ['digital signature', 'client auth', ...(kind === 'rsa' ? ['key encipherment'] : [])];
}

/** `node-csr-…`: the same for the same key, subject and usages, so that it is found again after a restart. */
export function bootstrapRequestName(
  { publicKey }: SigningKey,
  { commonName, organizations }: CertificateSubject,
  usages: readonly string[],
): string {
  const parts = [publicKey, ...[commonName, ...organizations, ...usages].map((text) => Buffer.from(text))];
  const hash = createHash('sha512-256');
  for (const part of parts) hash.update(`${Buffer.from(part).toString('base64url')}|`);
  return `node-csr-${hash.digest('base64url')}`;
}

/** What the serving certificate of a node says; nothing as long as the node has no address. */
export function servingSubject(nodeName: string, addresses: readonly NodeAddress[]): CertificateSubject | undefined {
  const [dnsNames, ipAddresses] = [new Set<string>(), new Set<string>()];
  for (const { type, address } of addresses) {
    const isIp = ipBytes(address) !== undefined;
    if (isIp && /^(Hostname|ExternalIP|InternalIP)$/.test(type)) ipAddresses.add(address);
    else if (address !== '' && /^(Hostname|ExternalDNS|InternalDNS)$/.test(type)) dnsNames.add(address);
  }
  if (ipAddresses.size === 0) return undefined;
  return {
    ...nodeSubject(nodeName),
    dnsNames: [...dnsNames].sort(byCodePoint),
    ipAddresses: [...ipAddresses].sort(byCodePoint),
  };
}
