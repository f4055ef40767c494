/** Projected volumes with trust anchors and certificates of the pod. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod, PodSpec, Volume } from '../../api/generated/core-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { PodEvents } from '../events/pod-events.ts';
import { ManifestObjects } from '../objects/manifest-objects.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { PodVolumes, type PodVolumesDeps } from './pod-volumes.ts';
import { volumeDeps } from './volumes.fixture.ts';

const signal = new AbortController().signal;

function machine(given: Pick<PodVolumesDeps, 'trustBundles' | 'podCertificates'>) {
  const host = createMemoryHost();
  const objects = new ManifestObjects({ onChange: () => undefined });
  const events = new PodEvents(host.clock);
  return { ...host, volumes: new PodVolumes({ ...volumeDeps(host, { rootDir: '/k', objects, events }), ...given }) };
}

function podWithCertificates(spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = [{ name: 'certs', mountPath: '/certs' }];
  return examplePod({ spec: { volumes: [VOLUME], ...spec }, container: { volumeMounts } });
}

const VOLUME: Volume = {
  name: 'certs',
  projected: {
    defaultMode: 0o644,
    sources: [
      { clusterTrustBundle: { name: 'corp', path: 'ca.crt' } },
      {
        podCertificate: {
          signerName: 'a/b',
          keyType: 'ED25519',
          credentialBundlePath: 'bundle.pem',
          keyPath: 'tls.key',
          certificateChainPath: 'tls.crt',
        },
      },
    ],
  },
};
const CERTS = '/k/pods/u1/volumes/kubernetes.io~projected/certs';
const NAMES = ['ca.crt', 'bundle.pem', 'tls.key', 'tls.crt'];

function issuer() {
  const state = { anchors: 'ANCHORS\n', key: 'KEY\n', chain: 'CHAIN\n' };
  const forgotten: string[] = [];
  const forget = (uid: string) => void forgotten.push(uid);
  const asked: unknown[] = [];
  const given = {
    trustBundles: { trustAnchors: async () => state.anchors, forget },
    podCertificates: {
      async credentials(_: Pod, { volume, index }: { volume: string; index: number }) {
        asked.push([volume, index]);
        return { key: state.key, chain: state.chain };
      },
      forget,
      counts: () => [],
    },
  };
  return { state, given, forgotten, asked };
}

test('trust anchors and certificates become files in memory, and follow their renewal', async () => {
  const { state, given, forgotten, asked } = issuer();
  const { fs, mounts, volumes } = machine(given);
  const pod = podWithCertificates();
  const contents = () => Promise.all(NAMES.map((name) => fs.readText(`${CERTS}/${name}`)));
  await volumes.prepare(pod, signal);
  assert.deepEqual(await contents(), ['ANCHORS\n', 'KEY\nCHAIN\n', 'KEY\n', 'CHAIN\n']);
  assert.deepEqual(asked, [['certs', 1]]);
  assert.equal((await mounts.list()).find(({ target }) => target === CERTS)?.type, 'tmpfs');
  const version = await fs.readLink(`${CERTS}/..data`);
  await volumes.refresh(pod, signal);
  assert.equal(await fs.readLink(`${CERTS}/..data`), version);
  Object.assign(state, { key: 'KEY 2\n', chain: 'CHAIN 2\n' });
  await volumes.refresh(pod, signal);
  assert.deepEqual(await contents(), ['ANCHORS\n', 'KEY 2\nCHAIN 2\n', 'KEY 2\n', 'CHAIN 2\n']);
  await volumes.release(pod, signal);
  assert.deepEqual(forgotten, ['u1', 'u1']);
});

for (const [what, securityContext, wanted] of [
  ['the default mode without a user', {}, { mode: 0o644, uid: 0, gid: 0 }],
  ['the user of the pod', { runAsUser: 1000 }, { mode: 0o600, uid: 1000, gid: 0 }],
  ['the group of the volumes', { fsGroup: 2000 }, { mode: 0o640, uid: 0, gid: 2000 }],
] as const) {
  test(`trust anchors and certificates have ${what}`, async () => {
    const { fs, volumes } = machine(issuer().given);
    await volumes.prepare(podWithCertificates({ securityContext }), signal);
    for (const name of NAMES) {
      const { mode, uid, gid } = (await fs.stat(`${CERTS}/${name}`)) ?? {};
      assert.deepEqual({ mode, uid, gid }, wanted, name);
    }
  });
}
