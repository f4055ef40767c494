import type { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import type { NriUpdate } from '../nri/nri.ts';
import type { OciResources, OciSpec } from '../oci/oci-spec.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { type ContainerDeps, monitoredName } from './container-deps.ts';
import { readBundleConfig, writeBundleConfig } from './container-files.ts';
import type { ContainerStore } from './container-store.ts';

export type UpdateDeps = Pick<ContainerDeps, 'fs' | 'log' | 'paths' | 'runtimes'> & {
  readonly store: ContainerStore;
};

/** Applies updates of other containers that NRI plugins request. Rejects with the first error that may not be ignored. */
export type ApplyUpdates = (updates: readonly NriUpdate[], signal: AbortSignal) => Promise<void>;

export interface NewResources {
  readonly resources: OciResources;
  /** New resources of `ContainerConfig`; absent: unchanged. */
  readonly requested?: LinuxContainerResources;
}

/**
 * Changes the resources of a container in the kernel (if it runs), in its bundle (if it has not started) and in its
 * record. It does not take the container's lock: verbs of two containers may each update the other one.
 */
export async function changeResources(
  id: string,
  change: (record: ContainerRecord, spec: OciSpec) => NewResources,
  deps: UpdateDeps,
  signal: AbortSignal,
): Promise<ContainerRecord | undefined> {
  return deps.store.update(id, async (record) => {
    const { spec } = record;
    if (spec === undefined) return record;
    const { resources, requested } = change(record, spec);
    if (record.state.phase === 'running') {
      await runtimeForRecord(deps.runtimes, record).update(monitoredName(deps.paths, id), resources, signal);
    } else if (record.state.phase === 'created') {
      await rewriteBundleConfig(id, resources, deps);
    }
    return {
      ...record,
      config: configWithResources(record.config, requested),
      spec: specWithResources(spec, resources),
    };
  });
}

/** Applies an update that arrived during the start, when the OCI runtime may already have read the old resources. */
export async function applyUpdateDuringStart(
  before: OciResources | undefined,
  record: ContainerRecord,
  deps: Pick<UpdateDeps, 'paths' | 'runtimes'>,
  signal: AbortSignal,
): Promise<void> {
  const resources = record.spec?.linux.resources;
  if (resources === undefined || resources === before) return;
  await runtimeForRecord(deps.runtimes, record).update(monitoredName(deps.paths, record.id), resources, signal);
}

async function rewriteBundleConfig(id: string, resources: OciResources, deps: UpdateDeps): Promise<void> {
  const spec = await readBundleConfig(id, deps);
  if (spec) await writeBundleConfig(id, specWithResources(spec, resources), deps);
}

function specWithResources(spec: OciSpec, resources: OciResources): OciSpec {
  return { ...spec, linux: { ...spec.linux, resources } };
}

function configWithResources(
  config: ContainerRecord['config'],
  requested: LinuxContainerResources | undefined,
): ContainerRecord['config'] {
  if (!requested) return config;
  return { ...config, linux: { securityContext: undefined, ...config.linux, resources: requested } };
}

export function applyUpdates(deps: UpdateDeps): ApplyUpdates {
  return async (updates, signal) => {
    for (const { containerId, resources, ignoreFailure } of updates) {
      try {
        await changeResources(
          containerId,
          (_, { linux }) => ({ resources: mergeOciResources(linux.resources, resources) }),
          deps,
          signal,
        );
      } catch (error) {
        if (!ignoreFailure) throw error;
        deps.log.warn('cannot apply container update of an NRI plugin', { containerId, error });
      }
    }
  };
}

/** Values of the update replace the current ones field by field. */
export function mergeOciResources(current: OciResources, update: OciResources): OciResources {
  const { devices, memory, cpu, unified, hugepageLimits, ...whole } = update;
  const sizes = new Map([...(current.hugepageLimits ?? []), ...(hugepageLimits ?? [])].map((it) => [it.pageSize, it]));
  return {
    ...current,
    ...whole,
    devices: devices.length > 0 ? devices : current.devices,
    ...((memory || current.memory) && { memory: { ...current.memory, ...memory } }),
    ...((cpu || current.cpu) && { cpu: { ...current.cpu, ...cpu } }),
    ...((unified || current.unified) && { unified: { ...current.unified, ...unified } }),
    ...(sizes.size > 0 && { hugepageLimits: [...sizes.values()] }),
  };
}
