import { CriError } from '../../cri/cri-error.ts';
import { ListPodSandboxRequest } from '../../cri/generated/runtime-v1.ts';
import { FolderTakenError } from '../../host/folder-claims.ts';
import type { Host } from '../../host/host.ts';
import type { EmbeddedRuntime } from '../../runtime/embedded-runtime.ts';
import { type ClaimedFolders, serveStateSocket } from './claim-folders.ts';
import { runtimeFolders } from './embedded-settings.ts';

/** The state folder of the pods of a root folder. */
interface StateRecord {
  /** The boot in which it was written: pods do not outlive it. */
  readonly bootId: string;
  readonly stateDir: string;
}

export interface PreviousStateOptions {
  readonly host: Host;
  /** Both are claimed. */
  readonly folders: ClaimedFolders;
  /** Opens a runtime on the same root folder with that state folder. */
  open(stateDir: string, signal: AbortSignal): Promise<EmbeddedRuntime>;
}

/**
 * Removes the pods of a previous process with the same root folder and a different state folder. Their namespaces, mounts
 * and monitors are in that folder, so that a runtime on the new one could neither adopt nor remove them.
 */
export async function removePreviousState(options: PreviousStateOptions, signal: AbortSignal): Promise<void> {
  const { host, folders } = options;
  const { fs } = host;
  const path = `${runtimeFolders(folders).rootDir}/state.json`;
  const bootId = (await fs.readText('/proc/sys/kernel/random/boot_id')).trim();
  const previous = (await fs.stat(path)) === undefined ? undefined : decodeState(await fs.readText(path));
  if (previous?.bootId === bootId && previous.stateDir !== folders.stateDir) {
    await removePodsOfState(previous.stateDir, options, signal);
  }
  const record: StateRecord = { bootId, stateDir: folders.stateDir };
  await fs.writeAtomic(path, JSON.stringify(record));
}

async function removePodsOfState(stateDir: string, options: PreviousStateOptions, signal: AbortSignal): Promise<void> {
  const { host, folders, open } = options;
  const folder = runtimeFolders({ ...folders, stateDir }).stateDir;
  if ((await host.fs.stat(folder)) === undefined) return; // the previous process removed all of its pods
  const previous = { ...folders, stateDir };
  const unavailable = Promise.reject(new CriError('Unavailable', 'the state folder is being removed'));
  unavailable.catch(() => {});
  // A running process with another root folder may hold the folder by now; then only the pods of this root are removed.
  const owner = await serveStateSocket(previous, 'agent', unavailable, signal).catch((error: unknown) => {
    if (!(error instanceof FolderTakenError)) throw error;
  });
  try {
    await removePods(await open(stateDir, signal), signal);
    if (owner !== undefined) await host.fs.removeTree(folder);
  } finally {
    await owner?.close();
  }
}

async function removePods(runtime: EmbeddedRuntime, signal: AbortSignal): Promise<void> {
  const service = runtime.cri.runtime;
  try {
    const { items } = await service.listPodSandbox(ListPodSandboxRequest.create(), signal);
    for (const { id } of items) {
      await service.stopPodSandbox({ podSandboxId: id }, signal);
      await service.removePodSandbox({ podSandboxId: id }, signal);
    }
  } finally {
    await runtime.close();
  }
}

/** Returns `undefined` for a truncated record: the machine crashed, which has stopped the pods too. */
function decodeState(text: string): StateRecord | undefined {
  try {
    const { bootId, stateDir } = JSON.parse(text) as Partial<Record<keyof StateRecord, unknown>>;
    return typeof bootId === 'string' && typeof stateDir === 'string' ? { bootId, stateDir } : undefined;
  } catch {
    return undefined;
  }
}
