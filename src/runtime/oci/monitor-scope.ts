import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Systemd } from '../../host/systemd.ts';

/** systemd moves a process in milliseconds; a start does not wait longer for one that hangs. */
const MOVE_TIMEOUT_MS = 5_000;

/**
 * As runc does with containers: without the default dependencies, systemd does not stop the scope at a shutdown before the
 * agent has stopped its pods. Processes can be moved only into a delegated scope.
 */
const PROPERTIES = {
  Description: 'Monitors of containers (conmon)',
  Slice: 'system.slice',
  Delegate: true,
  DefaultDependencies: false,
  CollectMode: 'inactive-or-failed',
} as const;

export interface MonitorScopeDeps {
  readonly systemd: Pick<Systemd, 'moveToScope'>;
  readonly clock: Pick<Clock, 'deadline'>;
  readonly log: Log;
}

/**
 * The systemd scope of all monitors. A monitor starts in the cgroup of the agent's service, and systemd kills whatever is left
 * there when the service stops or crashes; with its monitor, a container would lose its log and its exit code.
 */
export class MonitorScope {
  readonly #name: string;
  readonly #deps: MonitorScopeDeps;

  constructor(name: string, deps: MonitorScopeDeps) {
    this.#name = name;
    this.#deps = deps;
  }

  /** Moves a monitor that has no children yet. Never rejects: without systemd's help the container starts all the same. */
  async adopt(pid: number, containerId: string): Promise<void> {
    const { systemd, clock, log } = this.#deps;
    try {
      await systemd.moveToScope(this.#name, [pid], PROPERTIES, clock.deadline(MOVE_TIMEOUT_MS));
    } catch (error) {
      log.warn(
        "cannot move a container's monitor to its scope: the container will not survive a stop of this service",
        {
          container: containerId,
          error,
        },
      );
    }
  }
}
