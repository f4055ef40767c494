import type { VolumeMount } from '../../../api/generated/core-v1.ts';

type MountModes = Pick<VolumeMount, 'name' | 'readOnly' | 'recursiveReadOnly' | 'mountPropagation'>;

/**
 * Whether a mount is recursively read-only. `supported`: the pod's runtime handler supports it. Throws kubelet's
 * message when the request cannot be met.
 */
export function recursiveReadOnly(mount: MountModes, supported: boolean): boolean {
  const { name, readOnly, recursiveReadOnly: mode, mountPropagation = 'None' } = mount;
  if (mode === undefined || mode === 'Disabled') return false;
  if (!readOnly) throw new Error(`volume "${name}" requested recursive read-only mode, but it is not read-only`);
  if (mountPropagation !== 'None') {
    throw new Error(
      `volume "${name}" requested recursive read-only mode, but it is not compatible with propagation "${mountPropagation}"`,
    );
  }
  if (mode === 'IfPossible') return supported;
  if (mode !== 'Enabled') throw new Error(`unknown recursive read-only mode "${mode}"`);
  if (supported) return true;
  throw new Error(`volume "${name}" requested recursive read-only mode, but it is not supported by the runtime`);
}

/** The value in the container status; invalid requests show as `Disabled`. */
export function recursiveReadOnlyStatus(mount: MountModes, supported: boolean): 'Enabled' | 'Disabled' {
  try {
    return recursiveReadOnly(mount, supported) ? 'Enabled' : 'Disabled';
  } catch {
    return 'Disabled';
  }
}
