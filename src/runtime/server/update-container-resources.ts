import { badField } from '../../cri/bad-field.ts';
import { CriError } from '../../cri/cri-error.ts';
import { LinuxContainerResources } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { ContainerDeps } from '../container/container-deps.ts';
import { containerNotFound, failureOf } from '../container/container-failure.ts';
import { tellPlugins } from '../container/tell-plugins.ts';
import { type ApplyUpdates, changeResources, type UpdateDeps } from '../container/update-resources.ts';
import { updatedResources } from '../spec/resources.ts';

export type UpdateResourcesDeps = UpdateDeps &
  Pick<ContainerDeps, 'sandboxes' | 'nri' | 'machine'> & { readonly applyUpdates: ApplyUpdates };

/** Also of a container that does not run yet: it starts with the new values. */
export function updateContainerResources(deps: UpdateResourcesDeps): RuntimeService['updateContainerResources'] {
  return async ({ containerId, linux, windows }, signal) => {
    const known = deps.ledger.find(containerId);
    if (!known) throw containerNotFound(containerId);
    if (windows) throw badField('windows', 'this is a Linux node');
    if (!linux) return {};
    try {
      await deps.ledger.turn(known.id, () => update(known.id, linux, deps, signal));
    } catch (error) {
      throw failureOf('failed to update resources', error, signal);
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
  const { ledger, nri, log, sandboxes, applyUpdates, machine } = deps;
  const record = ledger.find(id);
  if (!record) throw containerNotFound(id);
  if (!record.spec) throw new CriError('FailedPrecondition', `container ${id} was never whole`);
  const wanted = updatedResources(record.spec.linux.resources, linux, machine);
  const sandbox = sandboxes.all.get(record.sandboxId);
  const decided = sandbox
    ? await nri.updateContainer(sandbox, record, wanted, signal)
    : { resources: wanted, updates: [] };
  const asked = mergedMessages(record.config.linux?.resources, linux);
  const updated = await changeResources(id, () => ({ resources: decided.resources, asked }), deps, signal);
  await applyUpdates(decided.updates, signal);
  if (!sandbox || !updated) return;
  await tellPlugins('updated', id, log, () => nri.postUpdateContainer(sandbox, updated, signal));
}

/** Zero and empty mean "as before". */
function mergedMessages(
  before: LinuxContainerResources | undefined,
  update: LinuxContainerResources,
): LinuxContainerResources {
  const isSet = (value: unknown): boolean =>
    typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
  const set = Object.entries(update).filter(([, value]) => isSet(value));
  return LinuxContainerResources.create({ ...before, ...Object.fromEntries(set) });
}
