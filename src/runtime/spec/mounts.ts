import { posix } from 'node:path';
import { CriError } from '../../cri/cri-error.ts';
import { invalidField } from '../../cri/field-error.ts';
import { type Mount, MountPropagation } from '../../cri/generated/runtime-v1.ts';
import type { OciMount } from '../oci/oci-spec.ts';
import { defaultMounts } from './default-mounts.ts';
import { imageDeclaredVolumes } from './image-volumes.ts';
import { mapsIds } from './mount-rules.ts';
import { ociMappings } from './namespace-rules.ts';
import type { MountSource, SpecFacts } from './spec-facts.ts';
import type { SpecRequest } from './spec-request.ts';

export interface ContainerMounts {
  readonly mounts: readonly OciMount[];
  /** Absent: private, the default of runtimes. */
  readonly rootfsPropagation?: 'rshared' | 'rslave';
}

/** The API promises that nothing in an image volume can be executed. */
const IMAGE_VOLUME_FLAGS = ['nosuid', 'nodev', 'noexec'];

export function containerMounts(request: SpecRequest, facts: SpecFacts): ContainerMounts {
  const requested = request.container.mounts.map((mount, index) =>
    requestedMount(mount, index, facts.mountSources.get(index)),
  );
  const taken = new Set(requested.map(({ destination }) => cleanPath(destination)));
  const isFree = ({ destination }: OciMount): boolean => !taken.has(cleanPath(destination));
  // A container that mounts its own /dev provides everything in it, except for the pod's shared memory.
  const isWanted = ({ destination }: OciMount): boolean => !(taken.has('/dev') && destination.startsWith('/dev/'));

  const privileged = request.container.linux?.securityContext?.privileged === true;
  const defaults = defaultMounts({ privileged, cgroupWritable: request.handler.cgroupWritable }).filter(
    (mount) => isFree(mount) && isWanted(mount),
  );
  const binds = [...requested, ...sandboxMounts(request).filter(isFree), ...volumeMounts(request)];
  // Shallow paths first, so that no mount covers those below it.
  binds.sort((a, b) => depth(a.destination) - depth(b.destination));
  const rootfsPropagation = rootPropagation(request.container.mounts);
  return { mounts: [...defaults, ...binds], ...(rootfsPropagation && { rootfsPropagation }) };
}

function requestedMount(mount: Mount, index: number, source: MountSource | undefined): OciMount {
  if (source === undefined) throw new CriError('Internal', `mounts[${index}]: source was not resolved`);
  const mappings = mapsIds(mount) &&
    !source.mapped && { uidMappings: ociMappings(mount.uidMappings), gidMappings: ociMappings(mount.gidMappings) };
  const readonly = mount.readonly || mount.image !== undefined;
  const access = readonly ? (mount.recursiveReadOnly ? 'rro' : 'ro') : 'rw';
  return {
    destination: mount.containerPath,
    type: 'bind',
    source: source.path,
    options: ['rbind', propagationOption(mount, index, source), access, ...(mount.image ? IMAGE_VOLUME_FLAGS : [])],
    ...mappings,
  };
}

/** The kernel propagates mounts only from a shared mount (or, to the container, from a slave). */
function propagationOption(mount: Mount, index: number, { path, propagation, mapped }: MountSource): string {
  const notOnMount = (required: string): Error =>
    invalidField(
      `mounts[${index}].propagation`,
      `path ${JSON.stringify(mapped ? mount.hostPath : path)} is not on a ${required} mount`,
    );
  switch (mount.propagation) {
    case MountPropagation.PROPAGATION_BIDIRECTIONAL:
      if (propagation !== 'shared') throw notOnMount('shared');
      return 'rshared';
    case MountPropagation.PROPAGATION_HOST_TO_CONTAINER:
      if (propagation !== 'shared' && propagation !== 'slave') throw notOnMount('shared or slave');
      return 'rslave';
    default:
      return 'rprivate';
  }
}

function rootPropagation(mounts: readonly Mount[]): ContainerMounts['rootfsPropagation'] {
  const required = new Set(mounts.map(({ propagation }) => propagation));
  if (required.has(MountPropagation.PROPAGATION_BIDIRECTIONAL)) return 'rshared';
  return required.has(MountPropagation.PROPAGATION_HOST_TO_CONTAINER) ? 'rslave' : undefined;
}

/** These files and the volumes are created with the container's owner, so no IDs are mapped. */
function sandboxMounts({ files, container, namespaces }: SpecRequest): OciMount[] {
  const access = container.linux?.securityContext?.readonlyRootfs ? 'ro' : 'rw';
  const file = (destination: string, source: string): OciMount => ({
    destination,
    type: 'bind',
    source,
    options: ['rbind', 'rprivate', access],
  });
  return [
    file('/etc/hostname', files.hostname),
    file('/etc/hosts', files.hosts),
    file('/etc/resolv.conf', files.resolvConf),
    // Repeated, because crun removes the flags of the source; the node's own /dev/shm keeps its flags.
    {
      destination: '/dev/shm',
      type: 'bind',
      source: files.shm,
      options: ['rbind', 'rprivate', 'rw', ...(namespaces.ipc === undefined ? [] : ['nosuid', 'noexec', 'nodev'])],
    },
  ];
}

function volumeMounts(request: SpecRequest): OciMount[] {
  return imageDeclaredVolumes(request).map(({ containerPath, hostPath }) => ({
    destination: containerPath,
    type: 'bind',
    source: hostPath,
    options: ['rbind', 'rprivate', 'rw'],
  }));
}

function depth(path: string): number {
  return cleanPath(path).split('/').length;
}

function cleanPath(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
}
