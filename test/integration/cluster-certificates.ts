import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

export interface KeyPair {
  readonly certFile: string;
  readonly keyFile: string;
}

/** The subject of a certificate. The cluster takes the user from its common name and the groups from its organizations. */
export interface Subject {
  readonly user: string;
  readonly groups?: readonly string[];
  /** The addresses of a server. */
  readonly addresses?: readonly string[];
}

/** Signs the certificates of one test cluster. */
export interface CertificateAuthority {
  readonly caFile: string;
  /** The same subject gets the same key pair. */
  issue(subject: Subject): KeyPair;
}

const OPENSSL = '/usr/bin/openssl';
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];

/** The `{ skip }` reason of a test when this machine cannot create certificates, else `false`. */
export function certificatesSkipReason(): string | false {
  return !existsSync(OPENSSL) && 'not installed: openssl';
}

export function createAuthority(folder: string): CertificateAuthority {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const [caFile, caKey] = [join(folder, 'ca.crt'), join(folder, 'ca.key')];
  openssl('req', '-x509', ...NEW_KEY, '-keyout', caKey, '-out', caFile, '-subj', '/CN=test-cluster');
  return {
    caFile,
    issue({ user, groups = [], addresses = [] }) {
      const name = user.replaceAll(/[^\w.-]/g, '_');
      const pair = { certFile: join(folder, `${name}.crt`), keyFile: join(folder, `${name}.key`) };
      if (existsSync(pair.certFile)) return pair;
      const subject = [...groups.map((group) => `/O=${group}`), `/CN=${user}`].join('');
      const places = addresses.map((address) => `${/[^\d.:]/.test(address) ? 'DNS' : 'IP'}:${address}`);
      const names = places.length > 0 ? ['-addext', `subjectAltName=${places.join(',')}`] : [];
      const extensions = ['-addext', 'basicConstraints=critical,CA:FALSE', ...names];
      const files = ['-CA', caFile, '-CAkey', caKey, '-keyout', pair.keyFile, '-out', pair.certFile];
      openssl('req', '-x509', ...NEW_KEY, ...files, '-subj', subject, ...extensions);
      return pair;
    },
  };
}

/** The keys with which an API server signs and verifies service account tokens. */
export function createSigningKey(folder: string): void {
  const [privateKey, publicKey] = [join(folder, 'service-accounts.key'), join(folder, 'service-accounts.pub')];
  openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-out', privateKey);
  openssl('pkey', '-in', privateKey, '-pubout', '-out', publicKey);
}

function openssl(...args: readonly string[]): void {
  execFileSync(OPENSSL, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
