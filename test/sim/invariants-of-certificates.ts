import { CertificateStore } from '../../src/kubelet/certificates/certificate-store.ts';
import { CERTIFICATES } from './life-certificates.ts';
import type { World } from './world.ts';

/** From which share of its life on a certificate is another, at the latest. */
const RENEWED_AT = 0.9;
/** The longest pause between two tries, with its chance, and a request that is lost after a try. */
const RETRY_MS = 40_000;

/** The certificate on disk is whole at every moment, and while the API server answers it is not late in its life. */
export async function checkCertificate({ scene, host, life }: World): Promise<void> {
  const { book, now, wallMs, jumpedAt, bornAt, fail } = scene;
  if (scene.sources === 1) return;
  const held = await new CertificateStore(CERTIFICATES, host).current().catch((error: unknown) => {
    fail(30, `the certificate on disk is of no use: ${error}`);
    return undefined;
  });
  if (!life) return;
  const quietMs = now() - Math.max(book.troubleUntil, book.machineTroubleUntil, bornAt());
  if (!held) return quietMs > RETRY_MS ? fail(30, 'there is no certificate') : undefined;
  const lifeMs = held.validUntilMs - held.validFromMs;
  // Who waits for a time does not hear that the clock has jumped.
  if (now() - jumpedAt() < lifeMs) return;
  const lateMs = Math.min(wallMs() - held.validFromMs - RENEWED_AT * lifeMs, quietMs);
  if (lateMs > RETRY_MS) fail(30, `the certificate should be another since ${lateMs} ms`);
}
