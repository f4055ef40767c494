import { ipBytes } from '../../base/ip-address.ts';

/** Whom a certificate is about, and where they are reached. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/** The user that a node is to the API server. */
export function nodeSubject(nodeName: string): CertificateSubject {
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'], dnsNames: [], ipAddresses: [] };
}

/**
 * What a certificate lacks of what is wanted, in a few words; nothing when it says all of it. What it says beyond that
 * does not matter.
 */
export function missingFrom(has: CertificateSubject, wanted: CertificateSubject): string | undefined {
  if (has.commonName !== wanted.commonName) return `common name ${wanted.commonName}`;
  const lists = [
    ['DNS name', has.dnsNames, wanted.dnsNames],
    ['IP address', has.ipAddresses.map(canonicalAddress), wanted.ipAddresses.map(canonicalAddress)],
    ['organization', has.organizations, wanted.organizations],
  ] as const;
  for (const [what, there, asked] of lists) {
    const missing = asked.find((each) => !there.includes(each));
    if (missing !== undefined) return `${what} ${missing}`;
  }
  return undefined;
}

/** One spelling for all of an address. */
function canonicalAddress(address: string): string {
  return ipBytes(address)?.join('.') ?? address;
}
