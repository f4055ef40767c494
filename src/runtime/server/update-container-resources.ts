import { CriError } from '../../cri/cri-error.ts';
import { invalidField } from '../../cri/field-error.ts';
import { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { ContainerDeps } from '../container/container-deps.ts';
import { asCriError, containerNotFound } from '../container/container-errors.ts';
import { notifyPlugins } from '../container/notify-plugins.ts';
import { type ApplyUpdates, changeResources, type UpdateDeps } from '../container/update-resources.ts';
import { mergeResources } from '../spec/resources.ts';

export type UpdateResourcesDeps = UpdateDeps &
  Pick<ContainerDeps, 'sandboxes' | 'nri' | 'machine'> & { readonly applyUpdates: ApplyUpdates };

/** A container that has not started yet starts with the new values. */
export function updateContainerResources(deps: UpdateResourcesDeps): RuntimeService['updateContainerResources'] {
  return async ({ containerId, linux, windows }, signal) => {
    const known = deps.store.find(containerId);
    if (!known) throw containerNotFound(containerId);
    if (windows) throw invalidField('windows', 'this is a Linux node');
    if (!linux) return {};
    try {
      await deps.store.withLock(known.id, () => update(known.id, linux, deps, signal));
    } catch (error) {
      throw asCriError('failed to update resources', error, signal);
    }
    return {};
  };
}

async function update(
  id: string,
  linux: LinuxContainerResources,
  deps: UpdateResourcesDeps,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { store, nri, log, sandboxes, applyUpdates, machine } = deps;
  const record = store.find(id);
  if (!record) throw containerNotFound(id);
  if (!record.spec) throw new CriError('FailedPrecondition', `container ${id} was never fully created`);
  const wanted = mergeResources(record.spec.linux.resources, linux, machine);
  const sandbox = sandboxes.all.get(record.sandboxId);
  const decided = sandbox
    ? await nri.updateContainer(sandbox, record, wanted, signal)
    : { resources: wanted, updates: [] };
  const requested = mergeResourceMessages(record.config.linux?.resources, linux);
  const updated = await changeResources(id, () => ({ resources: decided.resources, requested }), deps, signal);
  await applyUpdates(decided.updates, signal);
  if (!sandbox || !updated) return;
  await notifyPlugins('updated', id, log, () => nri.postUpdateContainer(sandbox, updated, signal));
}

/** Zero and empty values leave the current ones unchanged. */
function mergeResourceMessages(
  before: LinuxContainerResources | undefined,
  update: LinuxContainerResources,
): LinuxContainerResources {
  const isSet = (value: unknown): boolean =>
    typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
  const set = Object.entries(update).filter(([, value]) => isSet(value));
  const unified = { ...before?.unified, ...update.unified };
  const limits = new Map([...(before?.hugepageLimits ?? []), ...update.hugepageLimits].map((it) => [it.pageSize, it]));
  const hugepageLimits = [...limits.values()];
  return LinuxContainerResources.create({ ...before, ...Object.fromEntries(set), unified, hugepageLimits });
}
