import { createHash } from 'node:crypto';
import type { NodeAddress } from '../../api/generated/core-v1.ts';
import { byCodePoint } from '../../base/code-point-order.ts';
import { ipBytes } from '../../base/ip-address.ts';
import type { KeyKind, SigningKey } from '../../host/signing-keys.ts';
import { type CertificateSubject, nodeSubject } from './certificate-subject.ts';

/** The usages of a first client certificate. */
export function bootstrapUsages(kind: KeyKind): readonly string[] {
  return ['digital signature', 'client auth', ...(kind === 'rsa' ? ['key encipherment'] : [])];
}

/** `node-csr-…`: a function of key, subject and usages, so that the request is found again after a restart. */
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

/** The subject of a node's serving certificate; `undefined` while the node has no address. */
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
