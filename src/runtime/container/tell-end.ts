import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { ContainerDeps } from './container-deps.ts';
import { tellPlugins } from './tell-plugins.ts';
import type { ApplyUpdates } from './update-resources.ts';

export type TellEndDeps = Pick<ContainerDeps, 'clock' | 'events' | 'log' | 'nri' | 'sandboxes'> & {
  readonly applyUpdates: ApplyUpdates;
};

/** Plugins have limits of their own; this one is for their updates. */
const TELL_MS = 60_000;

/** After the record says that it has ended. Never rejects: nobody can undo an end. */
export function tellEnd(deps: TellEndDeps): (record: ContainerRecord) => Promise<void> {
  return async (record) => {
    const { clock, events, log, nri, sandboxes, applyUpdates } = deps;
    const { id, sandboxId } = record;
    events.publish({ type: ContainerEventType.CONTAINER_STOPPED_EVENT, sandboxId, containerId: id });
    const sandbox = sandboxes.all.get(sandboxId);
    if (!sandbox) return;
    const signal = clock.deadline(TELL_MS);
    await tellPlugins('stopped', id, log, async () => {
      await applyUpdates(await nri.stopContainer(sandbox, record, signal), signal);
    });
  };
}
