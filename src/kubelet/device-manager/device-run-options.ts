import type { Device, Mount } from '../../cri/generated/runtime-v1.ts';
import { MountPropagation } from '../../cri/generated/runtime-v1.ts';
import type { ContainerAllocateResponse } from '../../plugins/generated/deviceplugin-v1beta1.ts';
import type { ContainerRunOptions } from '../pod/container-run-options.ts';

/** A setting that two plugins disagree about. The first one counts. */
export interface SettingConflict {
  readonly kind: 'env' | 'device' | 'mount' | 'annotation';
  /** The variable, the annotation, or the path in the container. */
  readonly key: string;
}

/** What plugins add to a container, joined from their responses for each of its resources. */
export function deviceRunOptions(responses: readonly ContainerAllocateResponse[]): {
  readonly options: ContainerRunOptions;
  readonly conflicts: readonly SettingConflict[];
} {
  const conflicts: SettingConflict[] = [];
  const first = <T>(
    kind: SettingConflict['kind'],
    entries: readonly (readonly [string, T])[],
    compared: (each: T) => string,
  ): ReadonlyMap<string, T> => {
    const kept = new Map<string, T>();
    for (const [key, each] of entries) {
      const known = kept.get(key);
      if (known === undefined) kept.set(key, each);
      else if (compared(known) !== compared(each)) conflicts.push({ kind, key });
    }
    return kept;
  };
  const texts = (list: readonly Readonly<Record<string, string>>[]) => list.flatMap((each) => Object.entries(each));
  const env = first('env', texts(responses.map(({ envs }) => envs)), String);
  const annotations = first('annotation', texts(responses.map((each) => each.annotations)), String);
  const devices = responses.flatMap((each) => each.devices);
  const mounts = responses.flatMap((each) => each.mounts);
  const byPath = <T extends { readonly containerPath: string }>(list: readonly T[]) =>
    list.map((each) => [each.containerPath, each] as const);
  const source = ({ hostPath }: { readonly hostPath: string }) => hostPath;
  return {
    options: {
      env,
      annotations,
      devices: [...first('device', byPath(devices), source).values()].map(toDevice),
      mounts: [...first('mount', byPath(mounts), source).values()].map(toMount),
      cdiDevices: [...new Set(responses.flatMap(({ cdiDevices }) => cdiDevices.map(({ name }) => name)))],
    },
    conflicts,
  };
}

function toDevice({ containerPath, hostPath, permissions }: ContainerAllocateResponse['devices'][number]): Device {
  return { containerPath, hostPath, permissions };
}

function toMount({ containerPath, hostPath, readOnly }: ContainerAllocateResponse['mounts'][number]): Mount {
  return {
    containerPath,
    hostPath,
    readonly: readOnly,
    selinuxRelabel: false,
    propagation: MountPropagation.PROPAGATION_PRIVATE,
    uidMappings: [],
    gidMappings: [],
    recursiveReadOnly: false,
    image: undefined,
    imageSubPath: '',
  };
}
