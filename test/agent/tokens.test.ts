/** Service account tokens of pods: the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../src/api/generated/core-v1.ts';
import { ApiError } from '../../src/kubelet/api-client/api-server.ts';
import {
  type ClusterAgent,
  createPod,
  FOREVER,
  newClusterWorld,
  phaseOf,
  podOf,
  startAgent,
  startClusterAgent,
  type World,
  warnings,
} from './memory-agent.ts';

const MINUTE_MS = 60_000;
const AT_ONCE_MS = 100;
const VOLUME = 'kube-api-access-abcde';

/** As the ServiceAccount admission plugin of the API server does. */
function podWithAccount(more: Partial<PodSpec> = {}): Pod {
  const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
  return podOf('web', {
    serviceAccountName: 'default',
    dnsPolicy: 'Default',
    containers: [{ name: 'main', image: 'busybox:1', volumeMounts: [{ name: VOLUME, mountPath, readOnly: true }] }],
    volumes: [
      {
        name: VOLUME,
        projected: {
          defaultMode: 0o644,
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
            { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
            { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
          ],
        },
      },
    ],
    ...more,
  });
}

async function start(): Promise<ClusterAgent> {
  const world = await newClusterWorld();
  const name = 'kube-root-ca.crt';
  const ca = { metadata: { name, namespace: 'default' }, data: { 'ca.crt': 'AUTHORITY' } };
  await world.apiServer.direct.create({ resource: 'configmaps', namespace: 'default', name }, ca, FOREVER);
  return startClusterAgent(world);
}

async function create(world: Required<World>, pod: Pod = podWithAccount()): Promise<string> {
  const { metadata } = await createPod(world, pod);
  return `/var/lib/kubelet/pods/${metadata.uid}/volumes/kubernetes.io~projected/${VOLUME}`;
}

function issuedAt(token: string): number {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).iat;
}

test('a pod of the default service account gets a token, the CA certificate and its namespace', async () => {
  await using it = await start();
  const folder = await create(it);
  await it.host.clock.advance(AT_ONCE_MS);
  assert.equal(phaseOf(it), 'Running');
  const { fs } = it.host;
  assert.ok(issuedAt(await fs.readText(`${folder}/token`)) > 0);
  assert.equal(await fs.readText(`${folder}/ca.crt`), 'AUTHORITY');
  assert.equal(await fs.readText(`${folder}/namespace`), 'default');
  const { mode, uid } = (await fs.stat(`${folder}/token`)) ?? {};
  assert.deepEqual({ mode, uid }, { mode: 0o644, uid: 0 });
});

test('a token is readable by the user of the pod and the group of its volumes only', async () => {
  await using it = await start();
  const folder = await create(it, podWithAccount({ securityContext: { runAsUser: 1000, fsGroup: 2000 } }));
  await it.host.clock.advance(AT_ONCE_MS);
  const { fs } = it.host;
  const { mode, uid, gid } = (await fs.stat(`${folder}/token`)) ?? {};
  assert.deepEqual({ mode, uid, gid }, { mode: 0o640, uid: 1000, gid: 2000 });
  assert.equal((await fs.lstat(`${folder}/token`))?.uid, 1000);
  assert.equal((await fs.stat(`${folder}/ca.crt`))?.uid, 0);
});

test('the token of a running pod is renewed before it expires, repeatedly', async () => {
  await using it = await start();
  const folder = await create(it);
  const tokens = new Set<string>();
  for (let minute = 0; minute < 180; minute++) {
    await it.host.clock.advance(MINUTE_MS);
    const token = await it.host.fs.readText(`${folder}/token`);
    tokens.add(token);
    assert.ok(it.host.clock.now() / 1000 - issuedAt(token) < 51 * 60);
  }
  assert.equal(tokens.size, 4);
  assert.equal(it.agent.pods()[0]?.status.containerStatuses?.[0]?.restartCount, 0);
});

test('during an API server outage the old token stays, and an event follows once it has expired', async () => {
  await using it = await start();
  const folder = await create(it);
  await it.host.clock.advance(MINUTE_MS);
  const first = await it.host.fs.readText(`${folder}/token`);
  it.apiServer.faults.setOutage(true);
  await it.host.clock.advance(55 * MINUTE_MS);
  assert.deepEqual(warnings(it), []);
  await it.host.clock.advance(15 * MINUTE_MS);
  assert.equal(await it.host.fs.readText(`${folder}/token`), first);
  assert.equal(phaseOf(it), 'Running');
  const [warning = ''] = warnings(it);
  const words = `FailedMount: MountVolume.SetUp failed for volume "${VOLUME}" : token "default"/"default"/`;
  assert.ok(warning.startsWith(words), warning);
  it.apiServer.faults.setOutage(false);
  await it.host.clock.advance(10 * MINUTE_MS);
  assert.notEqual(await it.host.fs.readText(`${folder}/token`), first);
});

test('a pod does not start without its token, and starts once there is one', async () => {
  await using it = await start();
  let isOut = true;
  it.apiServer.faults.everyCall((verb) => {
    const error = new ApiError('Unavailable', 'connection refused');
    return verb === 'createToken' && isOut ? { kind: 'before', error } : undefined;
  });
  await create(it);
  await it.host.clock.advance(MINUTE_MS);
  assert.equal(phaseOf(it), 'Pending');
  const text = 'failed to fetch token: connection refused';
  assert.deepEqual(warnings(it), [`FailedMount: MountVolume.SetUp failed for volume "${VOLUME}" : ${text}`]);
  isOut = false;
  await it.host.clock.advance(5 * MINUTE_MS);
  assert.equal(phaseOf(it), 'Running');
});

test('a pod with a missing service account gets an event', async () => {
  await using it = await start();
  await create(it, podWithAccount({ serviceAccountName: 'missing' }));
  await it.host.clock.advance(AT_ONCE_MS);
  const text = 'failed to fetch token: serviceaccounts "missing" not found';
  assert.deepEqual(warnings(it), [`FailedMount: MountVolume.SetUp failed for volume "${VOLUME}" : ${text}`]);
});

test('a restarted agent gives running pods new tokens, and restarts nothing', async () => {
  const it = await start();
  const folder = await create(it);
  await it.host.clock.advance(MINUTE_MS);
  const first = await it.host.fs.readText(`${folder}/token`);
  await it.stop();
  await using next = await startAgent(it);
  next.source.set();
  await next.host.clock.advance(MINUTE_MS);
  assert.notEqual(await next.host.fs.readText(`${folder}/token`), first);
  assert.equal(next.agent.pods()[0]?.status.containerStatuses?.[0]?.restartCount, 0);
});

test('without an API server such a pod is rejected with a reason', async () => {
  await using it = await startAgent();
  it.source.set({ ...podWithAccount(), metadata: podOf('web').metadata });
  await it.host.clock.advance(AT_ONCE_MS);
  const { status } = it.agent.pods()[0] ?? {};
  assert.equal(status?.reason, 'PodFeatureUnsupported');
  const field = 'spec.volumes[0].projected.sources[0].serviceAccountToken';
  assert.equal(status?.message, `Pod was rejected: ${field} needs an API server, and this node has none`);
});
