import { byCodePoint } from '../../../base/code-point-order.ts';
import { errorText } from '../../../base/error-text.ts';
import { goJson } from '../../../base/go/go-json.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import { attachmentName, CSI_PLUGIN, type CsiVolume, volumeId } from './csi-volume.ts';

/** The content of `vol_data.json`, which kubelet and the agent read to remove a volume of a lost pod. */
export type VolumeData = Readonly<Record<string, string>>;

/** What `vol_data.json` says about a volume. */
export interface KnownVolume {
  readonly driver: string;
  readonly handle: string;
  readonly lifecycle: CsiVolume['lifecycle'];
}

/** The data of a file system volume of a pod. */
export function podVolumeData({ name, handle, driver, lifecycle }: CsiVolume, nodeName: string): VolumeData {
  return {
    attachmentID: attachmentName(handle, driver, nodeName),
    driverName: driver,
    nodeName,
    specVolID: name,
    volumeHandle: handle,
    volumeLifecycleMode: lifecycle,
  };
}

/** The data of a volume that is staged. */
export function stagedVolumeData({ handle, driver }: CsiVolume): VolumeData {
  return { driverName: driver, volumeHandle: handle };
}

/** The data of a block volume. */
export function blockVolumeData(volume: CsiVolume, nodeName: string): VolumeData {
  const { volumeLifecycleMode: _, ...data } = podVolumeData(volume, nodeName);
  return data;
}

/** As kubelet writes it: Go's encoder sorts the keys and ends with a new line. */
export function volumeDataText(data: VolumeData): string {
  const sorted = Object.entries(data).sort(([a], [b]) => byCodePoint(a, b));
  return `${goJson(Object.fromEntries(sorted))}\n`;
}

export async function saveVolumeData(path: string, data: VolumeData, fs: FileSystem): Promise<void> {
  // kubelet truncates and writes. A file that is replaced at once cannot be found half-written after a crash.
  await fs.writeReplacing(path, volumeDataText(data), { mode: 0o644 }).catch((error: unknown) => {
    throw new Error(`${CSI_PLUGIN}: failed to save volume data file ${path}: ${errorText(error)}`, { cause: error });
  });
}

/** `undefined`: there is no such file. Rejects for a file that cannot be read. */
export async function loadVolumeData(path: string, fs: FileSystem): Promise<KnownVolume | undefined> {
  if (!(await fs.lstat(path))) return undefined;
  const text = await fs.readText(path);
  try {
    return knownVolumeOf(JSON.parse(text));
  } catch (error) {
    const message = `${CSI_PLUGIN}: failed to parse volume data file [${path}]: ${errorText(error)}`;
    throw new Error(message, { cause: error });
  }
}

/** The unique name of a persistent volume; `undefined` for an ephemeral one, which is of its pod alone. */
export function idOf({ driver, handle, lifecycle }: KnownVolume): string | undefined {
  return lifecycle === 'Persistent' ? volumeId(driver, handle) : undefined;
}

function knownVolumeOf(value: unknown): KnownVolume {
  if (typeof value !== 'object' || value === null) throw new Error('it is not an object');
  const text = (key: string): string => {
    const found: unknown = Reflect.get(value, key);
    if (typeof found !== 'string' || found === '') throw new Error(`${key} is missing`);
    return found;
  };
  const mode: unknown = Reflect.get(value, 'volumeLifecycleMode');
  const lifecycle = mode === 'Ephemeral' ? 'Ephemeral' : 'Persistent';
  return { driver: text('driverName'), handle: text('volumeHandle'), lifecycle };
}
