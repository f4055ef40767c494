import type { ISCSIPersistentVolumeSource, ISCSIVolumeSource } from '../../api/generated/core-v1.ts';
import { diskIdOf, mapDisk, mountDisk, type NetworkDisk, tearDownDisk, unmapDisk } from './block-disk.ts';
import { attachIscsiDisk, type IscsiLogin } from './disks/attach-iscsi.ts';
import { deleteIscsiDevices, logOut } from './disks/detach-iscsi.ts';
import {
  decodeIscsiDisk,
  diskOfFolder,
  encodeIscsiDisk,
  type IscsiDisk,
  iscsiDisk,
  iscsiFolder,
} from './disks/iscsi-disk.ts';
import { makeNodeDirectory } from './make-node-directory.ts';
import { nodePluginDirectory } from './volume-paths.ts';
import { type VolumePluginDeps, type VolumeSetup, volumePlugin } from './volume-plugin.ts';
import type { VolumeSpec } from './volume-spec.ts';

const PLUGIN = 'kubernetes.io/iscsi';
const BLOCK_FOLDER = 'volumeDevices';

type IscsiVolume = (ISCSIVolumeSource | ISCSIPersistentVolumeSource) & { readonly readOnly: boolean };

/** A disk of an iSCSI target. The programs of open-iscsi on the node log in to it. */
export const iscsiPlugin = volumePlugin<IscsiVolume>({
  name: PLUGIN,
  supportsRelabel: true,
  source: iscsiVolume,
  setUp: (source, setup, deps, signal) => mountDisk(networkDisk(source, setup, deps), setup, deps, signal),
  mapDevice: (source, setup, deps, signal) => mapDisk(networkDisk(source, setup, deps), setup, deps, signal),
  tearDown: (volume, deps, signal) => tearDownDisk(PLUGIN, volume, detachWith(deps), deps, signal),
  unmapDevice: (volume, deps, signal) => unmapDisk(PLUGIN, volume, detachWith(deps), deps, signal),
  nodeVolumeOf: (volume, deps) => diskIdOf(PLUGIN, volume, deps),
});

function iscsiVolume({ volume, bound, readOnly }: VolumeSpec): IscsiVolume | undefined {
  if (volume.iscsi) return { ...volume.iscsi, readOnly: volume.iscsi.readOnly ?? false };
  const persistent = bound?.volume.spec.iscsi;
  return persistent && { ...persistent, readOnly };
}

function networkDisk(source: IscsiVolume, { pod, volume }: VolumeSetup, deps: VolumePluginDeps): NetworkDisk {
  const disk = iscsiDisk(volume.name, source);
  const folder = nodePluginDirectory(deps.settings.rootDir, PLUGIN);
  const nodePath = `${folder}/${volume.mode === 'Block' ? `${BLOCK_FOLDER}/` : ''}${iscsiFolder(disk)}`;
  return {
    plugin: PLUGIN,
    id: `${PLUGIN}/${source.targetPortal}:${source.iqn}:${source.lun}`,
    nodePath,
    fsType: source.fsType ?? '',
    readOnly: source.readOnly,
    async attach(signal) {
      const login = await readLogin(source, pod.metadata.namespace, deps, signal);
      // Before the login, so that a crash leaves nothing unknown.
      await makeNodeDirectory(nodePath, deps);
      await deps.fs.writeFile(`${nodePath}/iscsi.json`, encodeIscsiDisk(disk));
      const attach = () => attachIscsiDisk(disk, login, deps, signal);
      return deps.nodeVolumes.exclusively(targetKey(disk), attach, signal);
    },
  };
}

/** Two disks of one target must not log in and out at once. */
function targetKey({ Iqn }: IscsiDisk): string {
  return `iscsi target ${Iqn}`;
}

async function readLogin(
  { chapAuthDiscovery: discovery = false, chapAuthSession: session = false, secretRef }: IscsiVolume,
  podNamespace: string,
  { objects }: VolumePluginDeps,
  signal: AbortSignal,
): Promise<IscsiLogin> {
  const { name = '', namespace }: { readonly name?: string | undefined; readonly namespace?: string | undefined } =
    secretRef ?? {};
  if (!(discovery || session) || name === '') return { discovery, session, secret: new Map() };
  const { data = {} } = await objects.secret(namespace || podNamespace, name, signal);
  const values = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()] as const);
  return { discovery, session, secret: new Map(values) };
}

function detachWith(deps: VolumePluginDeps) {
  return async (nodePath: string, signal: AbortSignal): Promise<void> => {
    const file = `${nodePath}/iscsi.json`;
    const text = (await deps.fs.lstat(file)) ? await deps.fs.readText(file) : '';
    const disk = decodeIscsiDisk(text) ?? diskOfFolder(nodePath);
    if (disk === undefined) throw new Error(`iscsi detach disk: malformatted mnt path: ${nodePath}`);
    await deleteIscsiDevices(disk, deps, signal);
    const detach = async (): Promise<void> => {
      if ((await disksOfTarget(disk, deps)) <= 1) await logOut(disk, deps, signal);
    };
    await deps.nodeVolumes.exclusively(targetKey(disk), detach, signal);
  };
}

/** The number of the node's disks of the same target, by their directories. */
async function disksOfTarget({ Portals, Iqn }: IscsiDisk, { fs, settings }: VolumePluginDeps): Promise<number> {
  const folder = nodePluginDirectory(settings.rootDir, PLUGIN);
  let count = 0;
  for (const parent of [folder, `${folder}/${BLOCK_FOLDER}`]) {
    const interfaces = (await fs.lstat(parent)) ? await fs.readDirectory(parent) : [];
    for (const { name } of interfaces.filter((each) => each.name.startsWith('iface-'))) {
      const disks = await fs.readDirectory(`${parent}/${name}`);
      count += disks.filter((each) => each.name.startsWith(`${Portals[0]}-${Iqn}-lun-`)).length;
    }
  }
  return count;
}
