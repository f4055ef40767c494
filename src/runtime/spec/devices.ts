import { invalidField } from '../../cri/field-error.ts';
import type { OciDevice, OciDeviceRule } from '../oci/oci-spec.ts';
import type { SpecFacts } from './spec-facts.ts';
import type { SpecRequest } from './spec-request.ts';

/** A device file of the host, with its path in the container. */
export interface HostDevice {
  readonly path: string;
  readonly type: 'c' | 'b';
  readonly major: number;
  readonly minor: number;
  readonly fileMode: number;
  readonly uid: number;
  readonly gid: number;
}

export interface ContainerDevices {
  readonly devices: readonly OciDevice[];
  /** Cgroup rules; the runtime itself adds those of every container (/dev/null, …). */
  readonly rules: readonly OciDeviceRule[];
}

const DENY_ALL: OciDeviceRule = { allow: false, access: 'rwm' };
const ALLOW_ALL: OciDeviceRule = { allow: true, access: 'rwm' };

/** Whether the container gets every device of the machine. */
export function hasHostDevices({ container, handler }: Pick<SpecRequest, 'container' | 'handler'>): boolean {
  return container.linux?.securityContext?.privileged === true && handler.privilegedDevices === 'host';
}

export function containerDevices(request: SpecRequest, facts: SpecFacts): ContainerDevices {
  const { container, handler } = request;
  const privileged = container.linux?.securityContext?.privileged === true;
  const byPath = new Map<string, OciDevice>();
  if (hasHostDevices(request)) for (const device of facts.hostDevices) byPath.set(device.path, device);
  const rules: OciDeviceRule[] = [DENY_ALL];
  for (const [index, { containerPath, hostPath, permissions }] of container.devices.entries()) {
    checkDevice(`devices[${index}]`, { containerPath, hostPath, permissions });
    const found = facts.devices.get(index);
    if (found === undefined) throw invalidField(`devices[${index}].host_path`, `no device at ${hostPath}`);
    for (const device of found) {
      const { type, major, minor } = device;
      byPath.set(device.path, device);
      rules.push({ allow: true, type, major, minor, access: permissions || 'rwm' });
    }
  }
  const allowsAll = privileged && handler.privilegedDevices !== 'requested';
  return { devices: [...byPath.values()], rules: allowsAll ? [ALLOW_ALL] : rules };
}

export function checkDevice(
  field: string,
  device: { readonly containerPath: string; readonly hostPath: string; readonly permissions: string },
): void {
  if (!device.hostPath.startsWith('/')) {
    throw invalidField(`${field}.host_path`, `${JSON.stringify(device.hostPath)} is not absolute`);
  }
  if (device.containerPath !== '' && !device.containerPath.startsWith('/')) {
    throw invalidField(`${field}.container_path`, `${JSON.stringify(device.containerPath)} is not absolute`);
  }
  if (!/^[rwm]*$/.test(device.permissions)) {
    throw invalidField(`${field}.permissions`, `${JSON.stringify(device.permissions)} must consist of r, w and m`);
  }
}
