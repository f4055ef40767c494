import type { Log } from '../../base/log.ts';
import type { Namespaces } from '../../host/namespaces.ts';
import type { ContainerRef, OciRuntime, OciRuntimes } from '../oci/oci-runtime.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
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
  /** A directory that does not exist yet. */
  readonly bundle: string;
}

interface StartDeps {
  readonly paths: Pick<RuntimePaths, 'bundle'>;
  readonly namespaces: Pick<Namespaces, 'pin'>;
  readonly preparePause: PreparePause;
}

/** Starts the pause process and pins the namespaces that it created. Returns its PID. */
export async function startPause(
  record: SandboxRecord,
  runtime: OciRuntime,
  { paths, namespaces, preparePause }: StartDeps,
  signal: AbortSignal,
): Promise<number> {
  const role = pauseRole(record.namespaces);
  if (role === 'none') throw new Error('sandbox needs no pause container');
  const name = pauseName(paths, record.id);
  await preparePause({ record, role, bundle: name.bundle }, signal);
  const { pid } = await runtime.start({ ...name, terminal: false, stdin: false, stdinOnce: false }, signal);
  const { network, ipc, uts, pid: pidNamespace, user } = record.namespaces;
  await namespaces.pin(pid, {
    ...(role === 'creates' && network !== undefined ? { network } : {}),
    ...(role === 'creates' && ipc !== undefined ? { ipc } : {}),
    ...(role === 'creates' && uts !== undefined ? { uts } : {}),
    ...(pidNamespace === undefined ? {} : { pid: pidNamespace }),
    ...(user === undefined ? {} : { user: user.path }),
  });
  return pid;
}

/** Idempotent, also if the process never ran. */
export async function stopPause(runtime: OciRuntime, name: ContainerRef, signal: AbortSignal): Promise<void> {
  try {
    // Killed here because `delete --force` of runc polls every 100 ms.
    await runtime.kill(name, SIGKILL);
    await runtime.wait(name, signal);
  } catch {
    signal.throwIfAborted(); // otherwise the removal kills the process
  }
  await runtime.remove(name, signal);
}

export function pauseName(paths: Pick<RuntimePaths, 'bundle'>, id: string): ContainerRef {
  return { id, bundle: paths.bundle(id) };
}

interface WatchDeps {
  readonly store: SandboxStore;
  readonly cleanups: Pick<CleanupRetryQueue, 'add'>;
  readonly runtimes: OciRuntimes;
  readonly paths: Pick<RuntimePaths, 'bundle'>;
  readonly log: Log;
}

/** Watches pause processes. A sandbox whose pause process exits becomes not ready. */
export class PauseWatcher {
  readonly #deps: WatchDeps;
  readonly #closing = new AbortController();
  readonly #watching = new Set<Promise<void>>();

  constructor(deps: WatchDeps) {
    this.#deps = deps;
  }

  /** The process may have exited already. */
  watch(record: SandboxRecord): void {
    const watching = this.#watch(record).finally(() => this.#watching.delete(watching));
    this.#watching.add(watching);
  }

  /** Stops watching; the processes keep running. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#watching);
  }

  async #watch(record: SandboxRecord): Promise<void> {
    const { cleanups, runtimes, paths, log } = this.#deps;
    const { id } = record;
    try {
      await runtimeForRecord(runtimes, record).wait(pauseName(paths, id), this.#closing.signal);
      await this.#recordExit(id);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      log.error('cannot watch pause process of sandbox', { sandboxId: id, error });
      // A separate key, because a cleanup of the sandbox itself may be queued too.
      cleanups.add(`${id}/process`, async () => this.watch(record));
    }
  }

  async #recordExit(id: string): Promise<void> {
    const { store, log } = this.#deps;
    await store.withLock(id, async () => {
      const now = store.all.get(id);
      if (now?.state.phase !== 'ready') return;
      log.warn('pause process of sandbox exited', { sandboxId: id });
      await store.updateState(now, { phase: 'notReady', networkDown: now.namespaces.network === undefined });
    });
  }
}
