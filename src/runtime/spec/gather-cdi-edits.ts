import { failedPrecondition } from '../../cri/field-error.ts';
import type { ContainerConfig } from '../../cri/generated/runtime-v1.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { cdiEditsFor, requestedCdiDevices } from '../cdi/cdi-devices.ts';
import type { CdiDeviceNode, CdiEdits } from '../cdi/cdi-spec.ts';
import { loadCdiSpecs } from '../cdi/load-cdi-specs.ts';
import { hostDevice } from './gather-devices.ts';

/** Read for each container: vendors may rewrite their files at any time. */
export async function gatherCdiEdits(
  container: ContainerConfig,
  folders: readonly string[],
  fs: FileSystem,
): Promise<readonly CdiEdits[]> {
  const devices = requestedCdiDevices(container);
  if (devices.length === 0) return [];
  const edits = cdiEditsFor(devices, await loadCdiSpecs(folders, fs));
  return Promise.all(
    edits.map(async (edit) => ({
      ...edit,
      deviceNodes: await Promise.all(edit.deviceNodes.map((node) => completeNode(node, fs))),
    })),
  );
}

async function completeNode(node: CdiDeviceNode, fs: FileSystem): Promise<CdiDeviceNode> {
  const { type, major, minor, hostPath, path } = node;
  if (type === 'p' || (type !== undefined && major !== undefined && minor !== undefined)) return node;
  const stat = await fs.stat(hostPath);
  const device = stat && hostDevice(path, stat);
  if (device === undefined) throw failedPrecondition('CDI_devices', `no device at ${hostPath}`);
  if (type !== undefined && type !== 'u' && type !== device.type) {
    throw failedPrecondition('CDI_devices', `${hostPath} is of type ${device.type}, not ${type}`);
  }
  return { fileMode: device.fileMode, ...node, type: device.type, major: device.major, minor: device.minor };
}
