import type { Log } from '../../base/log.ts';
import type { Namespaces } from '../../host/namespaces.ts';
import type { MonitoredName, OciRuntime, OciRuntimes } from '../oci/oci-runtime.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import type { CleanupRetryQueue } from './cleanup-retry-queue.ts';
import { type PauseRole, pauseRole } from './plan-sandbox.ts';
import type { SandboxStore } from './sandbox-store.ts';

const SIGKILL = 9;

/** Writes the bundle of a pause container (config.json, rootfs) at `bundle`. */
export type PreparePause = (request: PauseRequest, signal: AbortSignal) => Promise<void>;

export interface PauseRequest {
  readonly record: SandboxRecord;
  readonly role: Exclude<PauseRole, 'none'>;
  /** A folder that does not exist yet. */
  readonly bundle: string;
}

interface StartDeps {
  readonly paths: Pick<RuntimePaths, 'bundle'>;
  readonly namespaces: Pick<Namespaces, 'pin'>;
  readonly preparePause: PreparePause;
}

/** Starts the process and pins the namespaces that came with it. */
export async function startPause(
  record: SandboxRecord,
  runtime: OciRuntime,
  { paths, namespaces, preparePause }: StartDeps,
  signal: AbortSignal,
): Promise<number> {
  const role = pauseRole(record.namespaces);
  if (role === 'none') throw new Error('a sandbox without a process has no pause container');
  const name = pauseName(paths, record.id);
  await preparePause({ record, role, bundle: name.bundle }, signal);
  const { pid } = await runtime.start({ ...name, terminal: false, stdin: false, stdinOnce: false }, signal);
  const { network, ipc, uts, pid: ofProcesses, user } = record.namespaces;
  await namespaces.pin(pid, {
    ...(role === 'makes' && network !== undefined ? { network } : {}),
    ...(role === 'makes' && ipc !== undefined ? { ipc } : {}),
    ...(role === 'makes' && uts !== undefined ? { uts } : {}),
    ...(ofProcesses === undefined ? {} : { pid: ofProcesses }),
    ...(user === undefined ? {} : { user: user.path }),
  });
  return pid;
}

/** Safe to repeat, and when it never ran. */
export async function stopPause(runtime: OciRuntime, name: MonitoredName, signal: AbortSignal): Promise<void> {
  try {
    // A runtime that has to kill by itself (runc) waits a tenth of a second before it looks.
    await runtime.kill(name, SIGKILL);
    await runtime.ended(name, signal);
  } catch {
    signal.throwIfAborted(); // else the removal kills what is there
  }
  await runtime.remove(name, signal);
}

export function pauseName(paths: Pick<RuntimePaths, 'bundle'>, id: string): MonitoredName {
  return { id, bundle: paths.bundle(id) };
}

/** Whoever started it; the default where that handler is not configured any more. */
export function runtimeForHandler(runtimes: OciRuntimes, handler: string): OciRuntime {
  const runtime = runtimes.handler(handler) ?? runtimes.handler('');
  if (runtime) return runtime;
  throw new Error(`there is no runtime handler ${JSON.stringify(handler)}`);
}

interface WatchDeps {
  readonly store: SandboxStore;
  readonly later: Pick<CleanupRetryQueue, 'add'>;
  readonly runtimes: OciRuntimes;
  readonly paths: Pick<RuntimePaths, 'bundle'>;
  readonly log: Log;
}

/** Follows the pause processes: a sandbox whose process ends by itself is not ready any more. */
export class PauseWatcher {
  readonly #deps: WatchDeps;
  readonly #closing = new AbortController();
  readonly #following = new Set<Promise<void>>();

  constructor(deps: WatchDeps) {
    this.#deps = deps;
  }

  /** Also for one that has ended already. */
  follow(record: SandboxRecord): void {
    const following = this.#follow(record).finally(() => this.#following.delete(following));
    this.#following.add(following);
  }

  /** Stops watching; the processes go on. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#following);
  }

  async #follow(record: SandboxRecord): Promise<void> {
    const { later, runtimes, paths, log } = this.#deps;
    const { id, runtimeHandler } = record;
    try {
      await runtimeForHandler(runtimes, runtimeHandler).ended(pauseName(paths, id), this.#closing.signal);
      await this.#end(id);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      log.error('cannot follow the process of a sandbox', { sandboxId: id, error });
      // Beside what may have to be finished of the sandbox itself.
      later.add(`${id}/process`, async () => this.follow(record));
    }
  }

  async #end(id: string): Promise<void> {
    const { store, log } = this.#deps;
    await store.withLock(id, async () => {
      const now = store.all.get(id);
      if (now?.state.phase !== 'ready') return;
      log.warn('the process of a sandbox has ended', { sandboxId: id });
      await store.updateState(now, { phase: 'notReady', networkDown: now.namespaces.network === undefined });
    });
  }
}
