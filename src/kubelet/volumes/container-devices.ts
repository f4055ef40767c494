import type { Container } from '../../api/generated/core-v1.ts';
import { Device } from '../../cri/generated/runtime-v1.ts';
import { PodError } from '../pod/pod-error.ts';
import type { HostDevice } from './volume-plugin.ts';

/**
 * The block devices of a container, by the names in `PodVolumes.devices`. Throws a `PodError`
 * (`CreateContainerConfigError`) for a device that does not exist.
 */
export function containerDevices(
  { name: containerName, volumeDevices = [] }: Container,
  devices: ReadonlyMap<string, HostDevice>,
): Device[] {
  return volumeDevices.map(({ name, devicePath }) => {
    if (!devicePath.startsWith('/')) throw configError(`error DevicePath \`${devicePath}\` must be an absolute path`);
    const device = devices.get(name);
    if (!device) throw configError(`cannot find volume "${name}" to pass into container "${containerName}"`);
    const permissions = device.readOnly ? 'r' : 'mrw';
    return Device.fromPartial({ containerPath: devicePath, hostPath: device.path, permissions });
  });
}

function configError(message: string): PodError {
  return new PodError('CreateContainerConfigError', message, { eventMessage: `Error: ${message}` });
}
