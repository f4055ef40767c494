import { join } from 'node:path/posix';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';
import type { SigningKeys } from '../../host/signing-keys.ts';
import type { CertificateFiles } from './file-serving-certificate.ts';
import { CertificateError } from './held-certificate.ts';
import { selfSigned } from './self-signed.ts';

export interface SelfSignedFilesDeps {
  readonly fs: FileSystem;
  readonly keys: SigningKeys;
  readonly random: Random;
  readonly clock: Clock;
}

/** Creates `kubelet.crt` and `kubelet.key`, self-signed, unless they exist. */
export async function ensureSelfSignedFiles(
  {
    folder,
    host,
    ipAddresses,
  }: { readonly folder: string; readonly host: string; readonly ipAddresses: readonly string[] },
  { fs, keys, random, clock }: SelfSignedFilesDeps,
): Promise<CertificateFiles> {
  const files = { certificateFile: join(folder, 'kubelet.crt'), keyFile: join(folder, 'kubelet.key') };
  const [certificate, key] = await Promise.all([fs.stat(files.certificateFile), fs.stat(files.keyFile)]);
  if (certificate && key) return files;
  if (certificate) {
    throw new CertificateError(`error reading ${files.keyFile}, certificate and key must be supplied as a pair`);
  }
  const pair = await selfSigned(host, ipAddresses, { keys, random, nowMs: clock.now() });
  await fs.makeDirectory(folder, 0o755);
  // The key is written first: a key without a certificate is a leftover of a crash and is overwritten.
  await fs.writeAtomic(files.keyFile, pair.key, { mode: 0o600 });
  await fs.writeAtomic(files.certificateFile, pair.certificate, { mode: 0o644 });
  return files;
}
