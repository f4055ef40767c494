import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CertificateSigningRequest } from '../../src/api/generated/core-v1.ts';
import { derValues } from '../../src/base/der.ts';
import { silentLog } from '../../src/base/log.ts';
import { pemBlocks } from '../../src/base/pem.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { readSigningKey } from '../../src/host/signing-keys.ts';
import { runReflector } from '../../src/kubelet/api-client/reflector.ts';
import { readCertificateRequest } from '../../src/kubelet/certificates/certificate-request.ts';
import { issueCertificate } from '../../src/kubelet/certificates/x509.ts';
import { connectTo } from './cluster-client-fixture.ts';
import type { ControlPlane } from './cluster-fixture.ts';

const LIFE_MS = 3600_000;
/** The group that may request the first certificate of a node. */
const GROUP = 'system:bootstrappers';

/** The kubeconfig of a user who may request the first certificate of a node, and nothing else. */
export async function bootstrapKubeconfig(plane: ControlPlane): Promise<string> {
  const apiGroup = 'rbac.authorization.k8s.io';
  await plane.apply({
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'bootstrap' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'system:node-bootstrapper' },
    subjects: [{ apiGroup, kind: 'Group', name: GROUP }],
  });
  const subject = { user: 'bootstrap', groups: [GROUP] };
  await plane.allowed(subject, 'create', 'certificatesigningrequests');
  return plane.kubeconfig(subject);
}

/** Approves and signs certificate requests: this cluster has no controllers. */
export interface CertificateSigner {
  /** In the order of arrival. */
  readonly requests: readonly CertificateSigningRequest[];
  stop(): Promise<void>;
}

export async function startSigner(plane: ControlPlane): Promise<CertificateSigner> {
  const { clock, random } = createLinuxHost(process.env);
  const api = await connectTo(plane.kubeconfig());
  const end = new AbortController();
  const requests: CertificateSigningRequest[] = [];
  const answers: Promise<void>[] = [];
  const see = (request: CertificateSigningRequest): void => {
    if (requests.some(({ metadata }) => metadata.uid === request.metadata.uid)) return;
    requests.push(request);
    answers.push(answer(plane, request, random.bytes(8)));
  };
  const handler = {
    onList: (all: readonly CertificateSigningRequest[]) => all.forEach(see),
    onChange: ({ object }: { readonly object: CertificateSigningRequest }) => see(object),
  };
  const deps = { api, clock, random, log: silentLog };
  const following = runReflector({ resource: 'certificatesigningrequests' }, handler, deps, end.signal);
  return {
    requests,
    async stop() {
      end.abort();
      await following;
      api[Symbol.dispose]();
      await Promise.all(answers);
    },
  };
}

async function answer(
  plane: ControlPlane,
  { metadata, spec }: CertificateSigningRequest,
  serial: Uint8Array,
): Promise<void> {
  await plane.kubectl('certificate', 'approve', metadata.name);
  const certificate = certificateFor(plane, Buffer.from(spec.request, 'base64').toString(), serial);
  const patch = JSON.stringify({ status: { certificate: Buffer.from(certificate).toString('base64') } });
  await plane.kubectl('patch', 'csr', metadata.name, '--subresource=status', '--type=merge', '-p', patch);
}

/** With the cluster's own CA, which the API server trusts for client certificates. */
export function certificateFor({ folder, authority }: ControlPlane, request: string, serial: Uint8Array): string {
  const [block] = pemBlocks(readFileSync(authority.caFile, 'utf8'));
  const [body] = derValues(derValues(block?.der ?? new Uint8Array())[0]?.content ?? new Uint8Array());
  const issuer = derValues(body?.content ?? new Uint8Array())[5]?.encoded ?? new Uint8Array(); // the subject of the CA
  const nowMs = Date.now();
  const times = { validFromMs: nowMs - 60_000, validUntilMs: nowMs + LIFE_MS };
  const key = readSigningKey(readFileSync(join(folder, 'pki/ca.key'), 'utf8'));
  return issueCertificate({ ...readCertificateRequest(request), ...times, serial, issuer }, key);
}
