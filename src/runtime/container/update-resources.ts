import type { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import type { NriUpdate } from '../nri/nri.ts';
import type { OciResources, OciSpec } from '../oci/oci-spec.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { type ContainerDeps, monitoredName, runtimeOf } from './container-deps.ts';
import { readConfig, writeConfig } from './container-files.ts';
import type { ContainerLedger } from './container-ledger.ts';

export type UpdateDeps = Pick<ContainerDeps, 'fs' | 'log' | 'paths' | 'runtimes'> & {
  readonly ledger: ContainerLedger;
};

/** Resources of other containers, as NRI plugins want them. Rejects with the first failure that is not to be ignored. */
export type ApplyUpdates = (updates: readonly NriUpdate[], signal: AbortSignal) => Promise<void>;

export interface NewResources {
  readonly resources: OciResources;
  /** What `ContainerConfig` says from now on; absent: as before. */
  readonly asked?: LinuxContainerResources;
}

/**
 * Changes the resources of a container in the kernel (where it runs), in its bundle (where it does not yet) and in its
 * record. It takes no turn: verbs of two containers may each want to change the other's.
 */
export async function changeResources(
  id: string,
  change: (record: ContainerRecord, spec: OciSpec) => NewResources,
  deps: UpdateDeps,
  signal: AbortSignal,
): Promise<ContainerRecord | undefined> {
  return deps.ledger.edit(id, async (record) => {
    const { spec } = record;
    if (spec === undefined) return record;
    const { resources, asked } = change(record, spec);
    if (record.life.phase === 'running') {
      await runtimeOf(deps.runtimes, record).update(monitoredName(deps.paths, id), resources, signal);
    } else if (record.life.phase === 'created') {
      await rewriteConfig(id, resources, deps);
    }
    return { ...record, config: withResources(record.config, asked), spec: withNewResources(spec, resources) };
  });
}

/** While it starts, the runtime may have read the old ones already. */
export async function catchUp(
  before: OciResources | undefined,
  record: ContainerRecord,
  deps: Pick<UpdateDeps, 'paths' | 'runtimes'>,
  signal: AbortSignal,
): Promise<void> {
  const resources = record.spec?.linux.resources;
  if (resources === undefined || resources === before) return;
  await runtimeOf(deps.runtimes, record).update(monitoredName(deps.paths, record.id), resources, signal);
}

async function rewriteConfig(id: string, resources: OciResources, deps: UpdateDeps): Promise<void> {
  const spec = await readConfig(id, deps);
  if (spec) await writeConfig(id, withNewResources(spec, resources), deps);
}

function withNewResources(spec: OciSpec, resources: OciResources): OciSpec {
  return { ...spec, linux: { ...spec.linux, resources } };
}

function withResources(
  config: ContainerRecord['config'],
  asked: LinuxContainerResources | undefined,
): ContainerRecord['config'] {
  if (!asked) return config;
  return { ...config, linux: { securityContext: undefined, ...config.linux, resources: asked } };
}

export function applyUpdates(deps: UpdateDeps): ApplyUpdates {
  return async (updates, signal) => {
    for (const { containerId, resources, ignoreFailure } of updates) {
      try {
        await changeResources(
          containerId,
          (_, { linux }) => ({ resources: merged(linux.resources, resources) }),
          deps,
          signal,
        );
      } catch (error) {
        if (!ignoreFailure) throw error;
        deps.log.warn('cannot update a container as an NRI plugin wants', { containerId, error });
      }
    }
  };
}

/** What the update says goes over what is there, value by value. */
export function merged(current: OciResources, update: OciResources): OciResources {
  const { devices, memory, cpu, ...whole } = update;
  return {
    ...current,
    ...whole,
    devices: devices.length > 0 ? devices : current.devices,
    ...((memory || current.memory) && { memory: { ...current.memory, ...memory } }),
    ...((cpu || current.cpu) && { cpu: { ...current.cpu, ...cpu } }),
  };
}
