import type { FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { MemoryHost } from '../../src/host/fake/memory-host.ts';
import type { MachineFault } from './plan-machine.ts';
import { BOOT_ID } from './sim-machine.ts';

/** How often logind looks whether its locks are released. */
const CHECK_MS = 100;
const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';

/** A shutdown that was announced. */
export interface Shutdown {
  readonly at: number;
  /** An agent process delays it. */
  readonly isDelayed: boolean;
}

export interface SimPowerDeps {
  readonly host: MemoryHost;
  readonly runtime: FakeRuntime;
  /** Ends the agent process; the next one starts after `bootMs`. */
  readonly kill: (bootMs: number) => void;
  /** The locks are released, or `shutdown` has been delayed as long as logind allows. */
  readonly onReleased: (shutdown: Shutdown) => void;
  /** The lock is held at this moment. */
  readonly onDelayed: (shutdown: Shutdown) => void;
  readonly note: (line: string) => void;
}

/** The power of the machine, and logind, which ends it when no lock delays that. */
export class SimPower {
  readonly #deps: SimPowerDeps;
  #shutdown: Shutdown | undefined;
  #lastAt = Number.NEGATIVE_INFINITY;
  #boots = 1;
  #bootId = BOOT_ID;

  constructor(deps: SimPowerDeps) {
    this.#deps = deps;
  }

  get bootId(): string {
    return this.#bootId;
  }

  /** The current shutdown. */
  get shutdown(): Shutdown | undefined {
    return this.#shutdown;
  }

  /** The last moment at which the machine was shutting down. */
  get lastShutdownAt(): number {
    return this.#shutdown ? this.#now() : this.#lastAt;
  }

  inject({ ends, ms }: Extract<MachineFault, { kind: 'shutdown' }>): void {
    if (this.#shutdown) return;
    const { loginManager, clock } = this.#deps.host;
    const shutdown = { at: this.#now(), isDelayed: loginManager.locks.length > 0 };
    this.#shutdown = shutdown;
    loginManager.announce(true);
    if (ends === 'cancelled') clock.schedule(ms, () => this.#cancel(shutdown));
    this.#check(shutdown, ms);
  }

  #check(shutdown: Shutdown, bootMs: number): void {
    if (this.#shutdown !== shutdown) return;
    const { host, onReleased, onDelayed } = this.#deps;
    const { loginManager, clock } = host;
    const isOver = loginManager.locks.length === 0 || this.#now() - shutdown.at > loginManager.delayMs;
    if (!isOver) {
      onDelayed(shutdown);
      clock.schedule(CHECK_MS, () => this.#check(shutdown, bootMs));
      return;
    }
    onReleased(shutdown);
    void this.#powerOff(bootMs);
  }

  #cancel(shutdown: Shutdown): void {
    if (this.#shutdown !== shutdown) return;
    this.#end();
    this.#deps.note('the shutdown is cancelled');
    this.#deps.host.loginManager.announce(false);
  }

  async #powerOff(bootMs: number): Promise<void> {
    const { host, runtime, kill, note } = this.#deps;
    note('the machine is powered off');
    kill(bootMs);
    this.#end();
    for (const { id, state } of runtime.containers.values()) {
      if (state.phase === 'running') runtime.exitContainer(id, { exitCode: 137, reason: 'Error' });
    }
    for (const { id, state } of runtime.sandboxes.values()) if (state === 'ready') runtime.loseSandbox(id);
    const mounted = await host.mounts.list();
    for (const { target } of mounted.toReversed()) if (target !== '/') await host.mounts.unmount(target);
    await removeGroups(host, '/kubepods');
    this.#bootId = `00000000-0000-0000-0000-${String(++this.#boots).padStart(12, '0')}`;
    await host.fs.writeFile(BOOT_ID_FILE, `${this.#bootId}\n`);
  }

  #end(): void {
    this.#lastAt = this.#now();
    this.#shutdown = undefined;
  }

  #now(): number {
    return this.#deps.host.clock.monotonic();
  }
}

async function removeGroups({ cgroups }: MemoryHost, path: string): Promise<void> {
  if (!(await cgroups.exists(path))) return;
  for (const name of await cgroups.children(path)) await removeGroups({ cgroups } as MemoryHost, `${path}/${name}`);
  await cgroups.remove(path);
}
