import type { Clock } from '../../host/clock.ts';
import type { Processes } from '../../host/processes.ts';

export interface LeftoverPluginDeps {
  readonly processes: Pick<Processes, 'find' | 'waitForExit' | 'killTree'>;
  readonly clock: Pick<Clock, 'deadline'>;
}

/** Far longer than a responsive plugin takes. A DEL beside one that still runs would come too early. */
const TIMEOUT_MS = 10_000;

/**
 * Waits for plugins that a previous process started for a sandbox: they outlive it. Kills those that take too long.
 * Scans all processes of the machine.
 */
export async function waitForLeftoverPlugins(
  sandboxId: string,
  deps: LeftoverPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { processes, clock } = deps;
  const ofSandbox = `CNI_CONTAINERID=${sandboxId}`;
  const leftover = await processes.find(({ env }) => env.includes(ofSandbox));
  if (leftover.length === 0) return;
  const timeout = AbortSignal.any([signal, clock.deadline(TIMEOUT_MS)]);
  for (const plugin of leftover) {
    try {
      await processes.waitForExit(plugin, timeout);
    } catch {
      signal.throwIfAborted();
      await processes.killTree(plugin);
      await processes.waitForExit(plugin, signal);
    }
  }
}
