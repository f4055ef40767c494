import { CertificateStore } from '../../src/kubelet/certificates/certificate-store.ts';
import { CERTIFICATES } from './agent-certificates.ts';
import type { World } from './world.ts';

/** The share of its validity at which a certificate must have been renewed. */
const RENEWED_AT = 0.9;
/** The longest pause between two attempts with its jitter, and a request that is lost after an attempt. */
const RETRY_MS = 40_000;

/** The certificate on disk is always complete; while the API server answers, it is renewed in time. */
export async function checkCertificate({ context, host, agentProcess }: World): Promise<void> {
  const { clusterState, now, wallMs, jumpedAt, agentStartedAt, fail } = context;
  if (context.sources === 1) return;
  const held = await new CertificateStore(CERTIFICATES, host).current().catch((error: unknown) => {
    fail(30, `the certificate on disk cannot be read: ${error}`);
    return undefined;
  });
  if (!agentProcess) return;
  const quietMs = now() - Math.max(clusterState.apiFaultUntil, clusterState.machineFaultUntil, agentStartedAt());
  if (!held) return quietMs > RETRY_MS ? fail(30, 'there is no certificate') : undefined;
  const lifeMs = held.validUntilMs - held.validFromMs;
  // A pending timer does not notice a jump of the clock.
  if (now() - jumpedAt() < lifeMs) return;
  const lateMs = Math.min(wallMs() - held.validFromMs - RENEWED_AT * lifeMs, quietMs);
  if (lateMs > RETRY_MS) fail(30, `the certificate should have been renewed ${lateMs} ms ago`);
}
