import { CriError } from '../../cri/cri-error.ts';
import { ListPodSandboxRequest } from '../../cri/generated/runtime-v1.ts';
import { FolderTakenError } from '../../host/folder-claims.ts';
import type { Host } from '../../host/host.ts';
import type { EmbeddedRuntime } from '../../runtime/embedded-runtime.ts';
import { type ClaimedFolders, serveStateSocket } from './claim-folders.ts';
import { runtimeFolders } from './embedded-settings.ts';

/** Which state folder the pods of a root folder have. */
interface StateRecord {
  /** Of the boot in which it was written: pods do not outlive it. */
  readonly bootId: string;
  readonly stateDir: string;
}

export interface PreviousStateOptions {
  readonly host: Host;
  /** Both folders are ours. */
  readonly places: ClaimedFolders;
  /** A runtime on the same root folder with that state folder. */
  open(stateDir: string, signal: AbortSignal): Promise<EmbeddedRuntime>;
}

/**
 * Takes down the pods of an earlier process that had the same root folder and another state folder: with their namespaces,
 * mounts and monitors elsewhere they can be neither adopted nor removed from here.
 */
export async function removePreviousState(options: PreviousStateOptions, signal: AbortSignal): Promise<void> {
  const { host, places } = options;
  const { fs } = host;
  const path = `${runtimeFolders(places).rootDir}/state.json`;
  const bootId = (await fs.readText('/proc/sys/kernel/random/boot_id')).trim();
  const earlier = (await fs.stat(path)) === undefined ? undefined : decodeState(await fs.readText(path));
  if (earlier?.bootId === bootId && earlier.stateDir !== places.stateDir) {
    await removePodsOfState(earlier.stateDir, options, signal);
  }
  const record: StateRecord = { bootId, stateDir: places.stateDir };
  await fs.writeAtomic(path, JSON.stringify(record));
}

async function removePodsOfState(stateDir: string, options: PreviousStateOptions, signal: AbortSignal): Promise<void> {
  const { host, places, open } = options;
  const folder = runtimeFolders({ ...places, stateDir }).stateDir;
  if ((await host.fs.stat(folder)) === undefined) return; // an end that left nothing
  const earlier = { ...places, stateDir };
  const unavailable = Promise.reject(new CriError('Unavailable', 'the state folder is being removed'));
  unavailable.catch(() => {});
  // A live process with another root folder may have the folder by now; then only our pods go from it.
  const owner = await serveStateSocket(earlier, 'agent', unavailable, signal).catch((error: unknown) => {
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

/** `undefined`: cut short by a crash of the machine, which has ended the pods too. */
function decodeState(text: string): StateRecord | undefined {
  try {
    const { bootId, stateDir } = JSON.parse(text) as Partial<Record<keyof StateRecord, unknown>>;
    return typeof bootId === 'string' && typeof stateDir === 'string' ? { bootId, stateDir } : undefined;
  } catch {
    return undefined;
  }
}
