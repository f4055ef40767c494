import { join } from 'node:path/posix';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';
import type { SigningKeys } from '../../host/signing-keys.ts';
import { CertificateError } from './held-certificate.ts';
import { selfSigned } from './self-signed.ts';
import type { ServedFilesPlace } from './file-serving-certificate.ts';

export interface OwnFilesDeps {
  readonly fs: FileSystem;
  readonly keys: SigningKeys;
  readonly random: Random;
  readonly clock: Clock;
}

/** `kubelet.crt` and `kubelet.key` in the folder, signed by ourselves; those that are there stay. */
export async function ensureOwnServingFiles(
  {
    folder,
    host,
    ipAddresses,
  }: { readonly folder: string; readonly host: string; readonly ipAddresses: readonly string[] },
  { fs, keys, random, clock }: OwnFilesDeps,
): Promise<ServedFilesPlace> {
  const place = { certificateFile: join(folder, 'kubelet.crt'), keyFile: join(folder, 'kubelet.key') };
  const [certificate, key] = await Promise.all([fs.stat(place.certificateFile), fs.stat(place.keyFile)]);
  if (certificate && key) return place;
  if (certificate) {
    throw new CertificateError(`error reading ${place.keyFile}, certificate and key must be supplied as a pair`);
  }
  const pair = await selfSigned(host, ipAddresses, { keys, random, nowMs: clock.now() });
  await fs.makeDirectory(folder, 0o755);
  // The key first: one without a certificate is what a crash between the two has left, and is of no use to anybody.
  await fs.writeAtomic(place.keyFile, pair.key, { mode: 0o600 });
  await fs.writeAtomic(place.certificateFile, pair.certificate, { mode: 0o644 });
  return place;
}
