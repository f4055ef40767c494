import type { Container, Volume, VolumeDevice, VolumeMount } from '../generated/core-v1.ts';
import { type FieldErrors, forbidden, invalid, notFound, oneOf, required } from './field-error.ts';
import { descendingPath, noBacksteps } from './validate-paths.ts';

/** The volumes of the pod that are fit to be mounted, by name. */
export type Volumes = ReadonlyMap<string, Volume>;

export function* validateMounts(path: string, container: Container, volumes: Volumes): FieldErrors {
  const { volumeMounts = [], volumeDevices = [] } = container;
  const points = new Set<string>();
  for (const [index, mount] of volumeMounts.entries()) {
    const at = `${path}[${index}]`;
    const { name, mountPath } = mount;
    if (name === '') yield required(`${at}.name`);
    if (!volumes.has(name)) yield notFound(`${at}.name`, name);
    if (mountPath === '') yield required(`${at}.mountPath`);
    if (points.has(mountPath)) yield invalid(`${at}.mountPath`, mountPath, 'must be unique');
    points.add(mountPath);
    if (volumeDevices.some((device) => device.name === name)) {
      yield invalid(`${at}.name`, name, 'must not already exist in volumeDevices');
    }
    if (volumeDevices.some((device) => device.devicePath === mountPath)) {
      yield invalid(`${at}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices');
    }
    yield* validateSubPath(path, at, mount);
    yield* validatePropagation(`${path}.mountPropagation`, mount, container);
    yield* validateRecursiveReadOnly(`${path}.recursiveReadOnly`, mount);
  }
}

export function* validateDevices(path: string, container: Container, volumes: Volumes): FieldErrors {
  const { volumeMounts = [], volumeDevices = [] } = container;
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [index, device] of volumeDevices.entries()) {
    const at = `${path}[${index}]`;
    const { name, devicePath } = device;
    yield* validateDeviceVolume(`${at}.name`, device, { volumes, taken: names });
    if (devicePath === '') yield required(`${at}.devicePath`);
    if (paths.has(devicePath)) yield invalid(`${at}.devicePath`, devicePath, 'must be unique');
    if ([...noBacksteps('', devicePath)].length > 0) {
      yield invalid(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')");
    } else {
      paths.add(devicePath);
    }
    if (volumeMounts.some((mount) => mount.name === name)) {
      yield invalid(`${at}.name`, name, 'must not already exist in volumeMounts');
    }
    if (volumeMounts.some((mount) => mount.mountPath === devicePath)) {
      yield invalid(`${at}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts');
    }
    if (name !== '') names.add(name);
  }
}

function* validateDeviceVolume(
  path: string,
  { name }: VolumeDevice,
  { volumes, taken }: { volumes: Volumes; taken: ReadonlySet<string> },
): FieldErrors {
  const volume = volumes.get(name);
  if (name === '') yield required(path);
  if (taken.has(name)) yield invalid(path, name, 'must be unique');
  if (!volume) yield notFound(path, name);
  else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
    yield invalid(path, name, 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode');
  }
}

/** The API server names the list here, not the mount. */
function* validateSubPath(path: string, at: string, { subPath, subPathExpr }: VolumeMount): FieldErrors {
  if (subPath) yield* descendingPath(`${path}.subPath`, subPath);
  if (!subPathExpr) return;
  if (subPath) yield invalid(`${at}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive');
  yield* descendingPath(`${path}.subPathExpr`, subPathExpr);
}

function* validatePropagation(path: string, { mountPropagation }: VolumeMount, container: Container): FieldErrors {
  if (mountPropagation === undefined) return;
  yield* oneOf(path, mountPropagation, ['Bidirectional', 'HostToContainer', 'None']);
  if (mountPropagation === 'Bidirectional' && !container.securityContext?.privileged) {
    yield forbidden(path, 'Bidirectional mount propagation is available only to privileged containers');
  }
}

function* validateRecursiveReadOnly(path: string, mount: VolumeMount): FieldErrors {
  const { recursiveReadOnly, readOnly, mountPropagation = 'None' } = mount;
  if (recursiveReadOnly === undefined || recursiveReadOnly === 'Disabled') return;
  if (recursiveReadOnly !== 'Enabled' && recursiveReadOnly !== 'IfPossible') {
    return yield* oneOf(path, recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']);
  }
  if (!readOnly) yield forbidden(path, 'may only be specified when readOnly is true');
  if (mountPropagation !== 'None') {
    yield forbidden(path, 'may only be specified when mountPropagation is None or not specified');
  }
}
