import { ipBytes } from '../../base/ip-address.ts';

/** The subject and the alternative names of a certificate. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/** The user name of a node at the API server. */
export function nodeSubject(nodeName: string): CertificateSubject {
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'], dnsNames: [], ipAddresses: [] };
}

/** The first wanted name that a certificate lacks; `undefined` if it has all of them. Additional names are ignored. */
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

/** The same spelling for all forms of an address. */
function canonicalAddress(address: string): string {
  return ipBytes(address)?.join('.') ?? address;
}
