import assert from 'node:assert/strict';
import test from 'node:test';
import { addClaim, csiMachine, DEFAULT_OBJECT, podWithVolumes } from '../../../../test/agent/csi-machine.ts';
import type { CSIDriverSpec, PersistentVolumeSpec, PodSpec } from '../../../api/generated/core-v1.ts';
import type { CsiNodeCapability } from '../../../plugins/csi/csi-drivers.ts';
import { VolumeCapability_AccessMode_Mode as Mode } from '../../../plugins/generated/csi-v1.ts';
import type { PodTokens } from '../../tokens/pod-tokens.ts';

const signal = new AbortController().signal;
const STAGED =
  '/k/plugins/kubernetes.io/csi/csi.example.com/85f0971b5a2a1eca4229d46364a426fa1ab6f54a174e6f3b654e0a45a3bb1a58/globalmount';
const TARGET = '/k/pods/u1/volumes/kubernetes.io~csi/pv-data/mount';
const csi = { driver: 'csi.example.com', volumeHandle: 'handle-data' };
const STAGES: readonly CsiNodeCapability[] = ['STAGE_UNSTAGE_VOLUME'];

const stage = {
  volumeId: 'handle-data',
  publishContext: {},
  stagingTargetPath: STAGED,
  volumeCapability: {
    mount: { fsType: '', mountFlags: [], volumeMountGroup: '' },
    accessMode: { mode: Mode.SINGLE_NODE_WRITER },
  },
  secrets: {},
  volumeContext: {},
};
const publish = { ...stage, targetPath: TARGET, readonly: false };
const podInfo = {
  'csi.storage.k8s.io/pod.name': 'u1',
  'csi.storage.k8s.io/pod.namespace': 'default',
  'csi.storage.k8s.io/pod.uid': 'u1',
  'csi.storage.k8s.io/serviceAccount.name': 'robot',
  'csi.storage.k8s.io/ephemeral': 'false',
};
const tokensText =
  '{"":{"token":"token for  600","expirationTimestamp":"2026-01-01T00:00:00Z"},"vault":{"token":"token for vault 3600","expirationTimestamp":"2026-01-01T00:00:00Z"}}';

interface Case {
  readonly capabilities?: readonly CsiNodeCapability[];
  readonly pv?: Partial<PersistentVolumeSpec>;
  readonly driverObject?: Partial<CSIDriverSpec> | undefined;
  readonly pod?: Partial<PodSpec>;
  readonly readOnly?: boolean;
  readonly stage: object | undefined;
  readonly publish: object;
}

const withMode = (mode: Mode) => ({ volumeCapability: { ...stage.volumeCapability, accessMode: { mode } } });
const withMount = (mount: object) => ({
  volumeCapability: { ...stage.volumeCapability, mount: { ...stage.volumeCapability.mount, ...mount } },
});
const both = (change: object) => ({ stage: { ...stage, ...change }, publish: { ...publish, ...change } });

const cases: Record<string, Case> = {
  'a plain claim': both({}),
  'a claim of a driver without an object, which is attached': {
    driverObject: undefined,
    ...both({ publishContext: { devicePath: '/dev/sdx' } }),
  },
  'a driver that attaches its volumes': {
    driverObject: { attachRequired: true },
    ...both({ publishContext: { devicePath: '/dev/sdx' } }),
  },
  'a driver that does not stage volumes': {
    capabilities: [],
    stage: undefined,
    publish: { ...publish, stagingTargetPath: '' },
  },
  'a claim that the pod wants read-only': { readOnly: true, stage, publish: { ...publish, readonly: true } },
  'csi.readOnly is not for the node': { pv: { csi: { ...csi, readOnly: true } }, ...both({}) },
  'a file system and mount options': {
    pv: { csi: { ...csi, fsType: 'xfs' }, mountOptions: ['noatime', 'discard'] },
    ...both(withMount({ fsType: 'xfs', mountFlags: ['noatime', 'discard'] })),
  },
  'attributes of the volume': {
    pv: { csi: { ...csi, volumeAttributes: { share: 'a' } } },
    ...both({ volumeContext: { share: 'a' } }),
  },
  'information about the pod': {
    driverObject: { podInfoOnMount: true },
    pod: { serviceAccountName: 'robot' },
    pv: { csi: { ...csi, volumeAttributes: { share: 'a' } } },
    stage: { ...stage, volumeContext: { share: 'a' } },
    publish: { ...publish, volumeContext: { share: 'a', ...podInfo } },
  },
  'tokens of the service account': {
    driverObject: {
      tokenRequests: [
        { audience: 'vault', expirationSeconds: 3600 },
        { audience: '', expirationSeconds: 600 },
      ],
    },
    stage,
    publish: { ...publish, volumeContext: { 'csi.storage.k8s.io/serviceAccount.tokens': tokensText } },
  },
  'tokens of the service account among the secrets': {
    driverObject: {
      tokenRequests: [
        { audience: 'vault', expirationSeconds: 3600 },
        { audience: '', expirationSeconds: 600 },
      ],
      serviceAccountTokenInSecrets: true,
    },
    stage,
    publish: { ...publish, secrets: { 'csi.storage.k8s.io/serviceAccount.tokens': tokensText } },
  },
  'secrets of other namespaces': {
    pv: {
      csi: {
        ...csi,
        nodeStageSecretRef: { namespace: 'storage', name: 'stage' },
        nodePublishSecretRef: { namespace: 'storage', name: 'publish' },
      },
    },
    stage: { ...stage, secrets: { user: 'stage-é' } },
    publish: { ...publish, secrets: { user: 'publish-é' } },
  },
  'a volume for one pod': {
    pv: { accessModes: ['ReadWriteOncePod'] },
    ...both(withMode(Mode.SINGLE_NODE_WRITER)),
  },
  'a volume for one pod, and a driver that distinguishes': {
    capabilities: [...STAGES, 'SINGLE_NODE_MULTI_WRITER'],
    pv: { accessModes: ['ReadWriteOncePod'] },
    ...both(withMode(Mode.SINGLE_NODE_SINGLE_WRITER)),
  },
  'a volume for one node, and a driver that distinguishes': {
    capabilities: [...STAGES, 'SINGLE_NODE_MULTI_WRITER'],
    ...both(withMode(Mode.SINGLE_NODE_MULTI_WRITER)),
  },
  'a volume that many nodes read': {
    pv: { accessModes: ['ReadOnlyMany'] },
    ...both(withMode(Mode.MULTI_NODE_READER_ONLY)),
  },
  'the first of several access modes decides': {
    pv: { accessModes: ['ReadWriteMany', 'ReadWriteOnce'] },
    ...both(withMode(Mode.MULTI_NODE_MULTI_WRITER)),
  },
  'a group for a driver that applies it': {
    capabilities: [...STAGES, 'VOLUME_MOUNT_GROUP'],
    pod: { securityContext: { fsGroup: 2000 } },
    ...both(withMount({ volumeMountGroup: '2000' })),
  },
  'a group for a driver that does not apply it': { pod: { securityContext: { fsGroup: 2000 } }, ...both({}) },
};

const tokens: PodTokens = {
  async issued(_, { audience, expirationSeconds }) {
    const expirationTimestamp = '2026-01-01T00:00:00Z';
    return { token: `token for ${audience} ${expirationSeconds}`, expirationTimestamp };
  },
  token: async () => '',
  forget() {},
};

for (const [what, each] of Object.entries(cases)) {
  test(`CSI requests: ${what}`, async () => {
    const driverObject =
      'driverObject' in each && each.driverObject === undefined
        ? undefined
        : { ...DEFAULT_OBJECT, ...each.driverObject };
    const machine = await csiMachine({ capabilities: each.capabilities ?? STAGES, driverObject, given: { tokens } });
    await addClaim(machine, 'data', each.pv, { devicePath: '/dev/sdx' });
    for (const name of ['stage', 'publish']) {
      const key = { resource: 'secrets', namespace: 'storage', name } as const;
      const data = { user: Buffer.from(`${name}-é`).toString('base64') };
      await machine.api.direct.create(key, { metadata: { name, namespace: 'storage' }, data }, signal);
    }
    const claim = { claimName: 'data', readOnly: each.readOnly ?? false };
    await machine.volumes.prepare(
      podWithVolumes('u1', [{ name: 'v', persistentVolumeClaim: claim }], each.pod),
      signal,
    );
    const requests = (method: string) => machine.driver.calls.find((call) => call.method === method)?.request;
    assert.deepEqual(requests('NodeStageVolume'), each.stage);
    assert.deepEqual(requests('NodePublishVolume'), each.publish);
    assert.equal(machine.volumes.volumes('u1').get('v')?.readOnly, each.readOnly ?? false);
  });
}

test('CSI requests: a volume of a pod’s own', async () => {
  const driverObject = { ...DEFAULT_OBJECT, volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true };
  const machine = await csiMachine({ driverObject });
  const key = { resource: 'secrets', namespace: 'default', name: 'login' } as const;
  const data = { user: Buffer.from('robot').toString('base64') };
  await machine.api.direct.create(key, { metadata: { name: 'login', namespace: 'default' }, data }, signal);
  const source = {
    driver: 'csi.example.com',
    fsType: 'ext4',
    readOnly: true,
    volumeAttributes: { size: '1Gi' },
    nodePublishSecretRef: { name: 'login' },
  };
  await machine.volumes.prepare(
    podWithVolumes('u1', [{ name: 'own', csi: source }], { serviceAccountName: 'robot' }),
    signal,
  );
  assert.deepEqual(
    machine.driver.calls.map(({ request }) => request),
    [
      {
        volumeId: 'csi-c89cb58d1f39309d39e3a262204d95bb9442f624af278d5b99339690e292a121',
        publishContext: {},
        stagingTargetPath: '',
        targetPath: '/k/pods/u1/volumes/kubernetes.io~csi/own/mount',
        volumeCapability: {
          mount: { fsType: 'ext4', mountFlags: [], volumeMountGroup: '' },
          accessMode: { mode: Mode.SINGLE_NODE_MULTI_WRITER },
        },
        readonly: true,
        secrets: { user: 'robot' },
        volumeContext: { size: '1Gi', ...podInfo, 'csi.storage.k8s.io/ephemeral': 'true' },
      },
    ],
  );
});

const groups: Record<
  string,
  {
    readonly policy?: string;
    readonly pv?: Partial<PersistentVolumeSpec>;
    readonly readOnly?: boolean;
    readonly gid: number;
  }
> = {
  'a writable volume with a file system type': { pv: { csi: { ...csi, fsType: 'ext4' } }, gid: 2000 },
  'no file system type': { gid: 0 },
  'a volume for one pod': { pv: { csi: { ...csi, fsType: 'ext4' }, accessModes: ['ReadWriteOncePod'] }, gid: 2000 },
  'a volume for many nodes': { pv: { csi: { ...csi, fsType: 'ext4' }, accessModes: ['ReadWriteMany'] }, gid: 0 },
  'a read-only volume': { pv: { csi: { ...csi, fsType: 'ext4' } }, readOnly: true, gid: 0 },
  'policy File': { policy: 'File', gid: 2000 },
  'policy None': { policy: 'None', pv: { csi: { ...csi, fsType: 'ext4' } }, gid: 0 },
};

for (const [what, { policy, pv, readOnly = false, gid }] of Object.entries(groups)) {
  test(`the files of a CSI volume get the pod’s group: ${what}`, async () => {
    const driverObject = { ...DEFAULT_OBJECT, ...(policy !== undefined && { fsGroupPolicy: policy }) };
    const machine = await csiMachine({ capabilities: STAGES, driverObject });
    await addClaim(machine, 'data', pv);
    const volume = { name: 'v', persistentVolumeClaim: { claimName: 'data', readOnly } };
    await machine.volumes.prepare(podWithVolumes('u1', [volume], { securityContext: { fsGroup: 2000 } }), signal);
    assert.equal((await machine.host.fs.stat(TARGET))?.gid, gid);
  });
}
