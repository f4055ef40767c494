import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const OPENSSL = '/usr/bin/openssl';

/** The reason to skip tests that create certificates, or `false`. */
export const certificateSkipReason = existsSync(OPENSSL) ? false : `there is no ${OPENSSL} to make certificates with`;

export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

/** A self-signed certificate for 127.0.0.1 and `server.example`. */
export async function makeCertificate(folder: string, name: string): Promise<Pair> {
  const [keyFile, certFile] = [`${folder}/${name}.key`, `${folder}/${name}.pem`];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const files = ['-keyout', keyFile, '-out', certFile];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1,DNS:server.example'];
  await promisify(execFile)(OPENSSL, ['req', '-x509', ...curve, ...files, ...subject]);
  return { certificate: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
}
