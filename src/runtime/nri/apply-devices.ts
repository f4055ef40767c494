import type { OciDevice, OciDeviceRule } from '../oci/oci-spec.ts';
import { adjustKeyed, markedChanges } from './adjust-keyed.ts';
import { AdjustmentError } from './adjustment-error.ts';
import type { LinuxDevice } from './generated/nri-v1alpha1.ts';
import { omitUndefined, toNumber } from './plain-values.ts';

const FIELD = 'linux.devices';

/** Returns the devices, and the cgroup rules for the new ones. */
export function adjustDevices(
  devices: readonly OciDevice[],
  requested: readonly LinuxDevice[],
): { readonly devices: readonly OciDevice[]; readonly rules: readonly OciDeviceRule[] } {
  const changes = markedChanges(requested, ({ path }) => path, ociDevice);
  return {
    devices: adjustKeyed(devices, ({ path }) => path, changes),
    rules: changes.flatMap(({ item }) => (item === undefined ? [] : accessRule(item))),
  };
}

function ociDevice({ path, type, major, minor, fileMode, uid, gid }: LinuxDevice): OciDevice {
  if (type !== 'c' && type !== 'b' && type !== 'p' && type !== 'u') {
    throw new AdjustmentError(FIELD, `${path}: unknown type "${type}"`);
  }
  return {
    path,
    type,
    major: toNumber(major, FIELD),
    minor: toNumber(minor, FIELD),
    ...omitUndefined({ fileMode: fileMode?.value, uid: uid?.value, gid: gid?.value }),
  };
}

function accessRule({ type, major, minor }: OciDevice): readonly OciDeviceRule[] {
  if (type === 'p') return [];
  const access = type === 'b' ? 'rwm' : 'rw';
  return [{ allow: true, type: type === 'b' ? 'b' : 'c', access, ...omitUndefined({ major, minor }) }];
}
