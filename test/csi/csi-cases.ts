import { mkdirSync, writeFileSync } from 'node:fs';
import { until } from '../integration/until.ts';
import type { DriverPlan } from './csi-plans.ts';
import type { CsiScene } from './csi-scene.ts';
import { attachmentName } from './drawn-values.ts';

/** Pods with volumes of a CSI driver, and what happens to them. */
export interface CsiCase {
  /** Of its CSI driver. */
  readonly driver?: DriverPlan;
  run(scene: CsiScene): Promise<void>;
}

/** A container that writes to the volume. */
const writer = (volume: string, change: object = {}) => ({
  container: {
    command: ['sh', '-c', 'echo text >/data/$HOSTNAME; exec sleep 1000'],
    volumeMounts: [{ name: volume, mountPath: '/data', ...change }],
  },
});

/** Runs a pod with a claim from its start to its end. */
async function wholeLife(scene: CsiScene, plan: Parameters<CsiScene['start']>[1]): Promise<void> {
  await scene.start('web', plan);
  await scene.step('running');
  await scene.remove('web');
  await scene.called('NodeUnstageVolume');
  await scene.step('deleted');
}

export const CSI_CASES: Readonly<Record<string, CsiCase>> = {
  claim: {
    async run(scene) {
      const csi = { volumeAttributes: { tier: 'gold' }, fsType: 'ext4' };
      await scene.claim('data', { csi, pv: { mountOptions: ['noatime'] } });
      await wholeLife(scene, { ...writer('data'), spec: { volumes: [scene.volumeOf('data')] } });
    },
  },

  'read-only': {
    async run(scene) {
      await scene.claim('data');
      const volumes = [scene.volumeOf('data', { readOnly: true })];
      await wholeLife(scene, {
        container: { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
        spec: { volumes },
      });
    },
  },

  shared: {
    async run(scene) {
      await scene.claim('data');
      const spec = { volumes: [scene.volumeOf('data')], hostname: 'host' };
      await scene.start('first', { ...writer('data'), spec });
      await scene.step('first running');
      await scene.start('second', { ...writer('data'), spec });
      await scene.step('both running');
      await scene.remove('first');
      await scene.step('first deleted');
      await scene.remove('second');
      await scene.called('NodeUnstageVolume');
      await scene.step('both deleted');
    },
  },

  inline: {
    driver: {
      spec: {
        podInfoOnMount: true,
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
        tokenRequests: [{ audience: 'vault', expirationSeconds: 3600 }, { audience: '' }],
      },
    },
    async run(scene) {
      const csi = { driver: scene.driverName, volumeAttributes: { tier: 'gold' } };
      await scene.start('web', { ...writer('scratch'), spec: { volumes: [{ name: 'scratch', csi }] } });
      await scene.step('running');
      await scene.remove('web');
      await scene.step('deleted');
    },
  },

  block: {
    async run(scene) {
      await scene.claim('disk', { block: true });
      const container = {
        command: ['sh', '-c', 'test -b /dev/disk && exec sleep 1000'],
        volumeDevices: [{ name: 'disk', devicePath: '/dev/disk' }],
      };
      await wholeLife(scene, { container, spec: { volumes: [scene.volumeOf('disk')] } });
    },
  },

  'fs-group': {
    driver: { spec: { fsGroupPolicy: 'File' } },
    run: (scene) => withFsGroup(scene),
  },

  'fs-group-none': {
    driver: { spec: { fsGroupPolicy: 'None' } },
    run: (scene) => withFsGroup(scene),
  },

  republish: {
    driver: { spec: { requiresRepublish: true, podInfoOnMount: true, tokenRequests: [{ audience: 'vault' }] } },
    async run(scene) {
      await scene.claim('data');
      await scene.start('web', { ...writer('data'), spec: { hostname: 'host', volumes: [scene.volumeOf('data')] } });
      await scene.step('running');
      await scene.touch('web');
      await scene.called('NodePublishVolume');
      await scene.step('published again');
      await scene.remove('web');
      await scene.called('NodeUnstageVolume');
      await scene.step('deleted');
    },
  },

  secrets: {
    async run(scene) {
      const secret = async (name: string) => {
        const metadata = { name: scene.fullName(name) };
        await scene.api.create('secrets', { metadata, stringData: { user: name, password: `of ${name}` } });
        return { namespace: 'default', name: metadata.name };
      };
      const csi = { nodeStageSecretRef: await secret('stage'), nodePublishSecretRef: await secret('publish') };
      await scene.claim('data', { csi });
      await wholeLife(scene, { ...writer('data'), spec: { hostname: 'host', volumes: [scene.volumeOf('data')] } });
    },
  },

  'sub-path': {
    async run(scene) {
      await scene.claim('data');
      const spec = { hostname: 'host', volumes: [scene.volumeOf('data')] };
      await wholeLife(scene, { ...writer('data', { subPath: 'logs/web' }), spec });
    },
  },

  attached: {
    driver: { spec: { attachRequired: true }, flags: ['--enable-attach'] },
    run: withAttachment,
  },

  expanded: { run: withExpansion },

  late: {
    driver: { late: true },
    async run(scene) {
      await scene.claim('data');
      await scene.create('web', { ...writer('data'), spec: { hostname: 'host', volumes: [scene.volumeOf('data')] } });
      await scene.hasEvent('web', 'FailedMount');
      await scene.step('driver absent');
      await scene.register();
      await scene.ready('web');
      await scene.step('running');
      await scene.remove('web');
      await scene.called('NodeUnstageVolume');
      await scene.step('deleted');
    },
  },

  failing: {
    async run(scene) {
      await scene.claim('data', { handle: 'unknown' });
      await scene.create('web', { ...writer('data'), spec: { volumes: [scene.volumeOf('data')] } });
      await scene.hasEvent('web', 'FailedMount');
      await scene.called('NodeStageVolume', 2);
      await scene.step('failing');
      await scene.remove('web');
      await scene.step('deleted');
    },
  },
};

async function withFsGroup(scene: CsiScene): Promise<void> {
  const handle = await scene.claim('data', { csi: { fsType: 'ext4' } });
  const volume = scene.driver.volumePath(handle);
  mkdirSync(`${volume}/folder`, { mode: 0o700 });
  writeFileSync(`${volume}/folder/file`, 'text', { mode: 0o600 });
  const spec = { hostname: 'host', securityContext: { fsGroup: 2000 }, volumes: [scene.volumeOf('data')] };
  await wholeLife(scene, { ...writer('data'), spec });
}

/** Plays the attach-detach controller and the driver's attacher. */
async function withAttachment(scene: CsiScene): Promise<void> {
  const handle = await scene.claim('data');
  const { metadata } = await scene.node();
  const volumeName = `kubernetes.io/csi/${scene.driverName}^${handle}`;
  const attachment = attachmentName(handle, scene.driverName, metadata.name);
  const volumesAttached = (devicePaths: readonly string[]) =>
    devicePaths.map((devicePath) => ({ name: volumeName, devicePath }));
  const inUse = async (): Promise<boolean> => (await scene.node()).status?.volumesInUse?.includes(volumeName) ?? false;

  await scene.create('web', { ...writer('data'), spec: { hostname: 'host', volumes: [scene.volumeOf('data')] } });
  await until(inUse);
  await scene.step('not attached');
  const publishContext = await scene.driver.attach(handle);
  const source = { persistentVolumeName: scene.fullName('data') };
  await scene.api.create('volumeattachments', {
    metadata: { name: attachment },
    spec: { attacher: scene.driverName, nodeName: metadata.name, source },
  });
  const attached = { attached: true, attachmentMetadata: { ...publishContext, lun: '7' } };
  await scene.api.patch('volumeattachments', attachment, { status: attached }, 'status');
  const attachedStatus = { volumesAttached: volumesAttached(['']) };
  await scene.api.patch('nodes', metadata.name, { status: attachedStatus }, 'status');
  await scene.ready('web');
  await scene.step('running');
  await scene.remove('web');
  await scene.called('NodeUnstageVolume');
  await until(async () => !(await inUse()));
  await scene.step('deleted');
  await scene.api.patch('nodes', metadata.name, { status: { volumesAttached: [] } }, 'status');
  await scene.driver.detach(handle);
}

/** Plays the driver's resizer. */
async function withExpansion(scene: CsiScene): Promise<void> {
  const storageClassName = scene.fullName('class');
  await scene.api.create('storageclasses', {
    metadata: { name: storageClassName },
    provisioner: scene.driverName,
    allowVolumeExpansion: true,
  });
  const secret = { namespace: 'default', name: scene.fullName('expand') };
  await scene.api.create('secrets', { metadata: { name: secret.name }, stringData: { password: 'of expand' } });
  const csi = { nodeExpandSecretRef: secret };
  await scene.claim('data', { csi, pv: { storageClassName }, claim: { storageClassName } });
  await scene.start('web', { ...writer('data'), spec: { hostname: 'host', volumes: [scene.volumeOf('data')] } });
  await scene.step('running');
  const [name, storage] = [scene.fullName('data'), '20Mi'];
  await scene.api.patch('persistentvolumeclaims', name, { spec: { resources: { requests: { storage } } } });
  await scene.api.patch('persistentvolumes', name, { spec: { capacity: { storage } } });
  const status = {
    allocatedResources: { storage },
    allocatedResourceStatuses: { storage: 'NodeResizePending' },
    conditions: [{ type: 'FileSystemResizePending', status: 'True', lastTransitionTime: null }],
  };
  await scene.api.patch('persistentvolumeclaims', name, { status }, 'status');
  await scene.touch('web');
  await scene.called('NodeExpandVolume');
  await until(async () => {
    const claim = await scene.api.get('persistentvolumeclaims', name);
    return (claim?.status?.['capacity'] as Record<string, string> | undefined)?.['storage'] === storage;
  });
  await scene.step('expanded', 'data');
  await scene.remove('web');
  await scene.called('NodeUnstageVolume');
  await scene.step('deleted');
}
