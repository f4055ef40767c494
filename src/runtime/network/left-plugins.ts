import type { Clock } from '../../host/clock.ts';
import type { Processes } from '../../host/processes.ts';

export interface LeftPluginDeps {
  readonly processes: Pick<Processes, 'find' | 'waitForExit' | 'killTree'>;
  readonly clock: Pick<Clock, 'deadline'>;
}

/** Far longer than a plugin takes that gets an answer; a DEL beside one that never gets any would come too early. */
const PATIENCE_MS = 10_000;

/**
 * Resolves when no plugin is at work any more that an earlier life of ours started for a sandbox: our death does not end
 * them. One that takes too long is killed. Looks at every process of the machine.
 */
export async function endLeftPlugins(sandboxId: string, deps: LeftPluginDeps, signal: AbortSignal): Promise<void> {
  const { processes, clock } = deps;
  const ofSandbox = `CNI_CONTAINERID=${sandboxId}`;
  const left = await processes.find(({ env }) => env.includes(ofSandbox));
  if (left.length === 0) return;
  const patience = AbortSignal.any([signal, clock.deadline(PATIENCE_MS)]);
  for (const plugin of left) {
    try {
      await processes.waitForExit(plugin, patience);
    } catch {
      signal.throwIfAborted();
      await processes.killTree(plugin);
      await processes.waitForExit(plugin, signal);
    }
  }
}
