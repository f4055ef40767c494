import type { Log } from '../../base/log.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { ContainerDeps } from './container-deps.ts';
import type { ApplyUpdates } from './update-resources.ts';

/** Notifies NRI plugins of an event that they cannot veto. Logs errors; never rejects. */
export async function notifyPlugins(
  event: string,
  id: string,
  log: Log,
  notify: () => Promise<unknown>,
): Promise<void> {
  try {
    await notify();
  } catch (error) {
    log.warn('cannot notify NRI plugins of a container event', { event, containerId: id, error });
  }
}

export type NotifyExitDeps = Pick<ContainerDeps, 'clock' | 'events' | 'log' | 'nri' | 'sandboxes'> & {
  readonly applyUpdates: ApplyUpdates;
};

/** Limit for the updates that plugins return; calls of plugins have their own timeouts. */
const UPDATE_TIMEOUT_MS = 60_000;

/** Returns the function that publishes an exit and notifies NRI plugins. Called after the exit is recorded; never rejects. */
export function createExitNotifier(deps: NotifyExitDeps): (record: ContainerRecord) => Promise<void> {
  return async (record) => {
    const { clock, events, log, nri, sandboxes, applyUpdates } = deps;
    const { id, sandboxId } = record;
    events.publish({ type: ContainerEventType.CONTAINER_STOPPED_EVENT, sandboxId, containerId: id });
    const sandbox = sandboxes.all.get(sandboxId);
    if (!sandbox) return;
    const signal = clock.deadline(UPDATE_TIMEOUT_MS);
    await notifyPlugins('stopped', id, log, async () => {
      await applyUpdates(await nri.stopContainer(sandbox, record, signal), signal);
    });
  };
}
