import { join } from 'node:path/posix';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';
import { KeyError, readSigningKey, type SigningKey, type SigningKeys } from '../../host/signing-keys.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import { awaitCertificate } from './await-certificate.ts';
import type { CertificateStore } from './certificate-store.ts';
import { nodeSubject } from './certificate-subject.ts';
import { CertificateError } from './held-certificate.ts';
import { bootstrapRequestName, bootstrapUsages } from './node-certificates.ts';
import { CLIENT_SIGNER, requestCertificate } from './request-certificate.ts';

/** Kubelet exits after an hour and is restarted; the request is then found by its name. */
const WAIT_MS = 3600_000;
const RETRY = { firstMs: 2_000, maxMs: 32_000, jitter: 0.1 };
const TEMPORARY_KEY = 'kubelet-client.key.tmp';

export interface BootstrapDeps {
  readonly api: ApiServer;
  readonly store: CertificateStore;
  readonly keys: SigningKeys;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Obtains and stores the first certificate of a node. The key is kept in a file until the certificate is issued, so
 * that a restart continues with the same request. Rejects only with the signal's reason or when files cannot be
 * written.
 */
export async function bootstrapCertificate(
  { nodeName, folder }: { readonly nodeName: string; readonly folder: string },
  deps: BootstrapDeps,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, store, fs, log } = deps;
  const temporary = join(folder, TEMPORARY_KEY);
  const key = await loadOrGenerateKey(temporary, folder, deps);
  const backoff = new ExponentialBackoff(RETRY);
  for (;;) {
    try {
      const certificate = await firstCertificate(nodeName, key, deps, signal);
      await store.update(certificate, key.pem);
      await fs.remove(temporary);
      return;
    } catch (error) {
      signal.throwIfAborted();
      log.warn('cannot get the first certificate of the node, retrying', { error });
      await clock.sleep(backoff.next(random.fraction()), signal);
    }
  }
}

async function firstCertificate(
  nodeName: string,
  key: SigningKey,
  deps: BootstrapDeps,
  signal: AbortSignal,
): Promise<string> {
  const { api, clock } = deps;
  const [subject, usages] = [nodeSubject(nodeName), bootstrapUsages(key.kind)];
  const name = bootstrapRequestName(key, subject, usages);
  const until = AbortSignal.any([signal, clock.deadline(WAIT_MS)]);
  const wanted = { subject, key, usages, signerName: CLIENT_SIGNER, name };
  const request = await requestCertificate(wanted, { api, nowMs: clock.now() }, until);
  return awaitCertificate(request, deps, until);
}

/** The key of the stored certificate, the key of an earlier attempt, or a new one. */
async function loadOrGenerateKey(temporary: string, folder: string, deps: BootstrapDeps): Promise<SigningKey> {
  const { store, fs, keys, log } = deps;
  const held = await store.current().catch((error: unknown) => {
    if (!(error instanceof CertificateError)) throw error;
    log.warn('cannot use the stored certificate, requesting a new one', { error });
    return undefined;
  });
  if (held) return readSigningKey(held.key);
  if (await fs.stat(temporary)) {
    try {
      return readSigningKey(await fs.readText(temporary));
    } catch (error) {
      if (!(error instanceof KeyError)) throw error;
      log.warn('cannot use the key of an earlier attempt, generating a new one', { path: temporary, error });
    }
  }
  const key = await keys.generate();
  await fs.makeDirectory(folder, 0o755);
  await fs.writeAtomic(temporary, key.pem, { mode: 0o600 });
  return key;
}
