import { basename, dirname } from 'node:path/posix';
import { ignoreNotFound } from '../../cri/ignore-not-found.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { logLinkName } from '../logs/log-links.ts';
import type { ObservedContainer, ObservedPod } from '../pod/observed-pod.ts';
import { orphanPod } from '../pod/orphan-pod.ts';
import { containerDirectory } from '../pod/pod-paths.ts';

/** For a container in `unknown` state, which may run: it was already stopped before a newer one was created. */
const GRACE_SECONDS = 2n;

export interface RemovalDeps {
  readonly runtime: RuntimeService;
  readonly fs: FileSystem;
  readonly settings: { readonly rootDir: string; readonly containerLogsDir?: string | undefined };
}

/**
 * Removes a dead container with its logs, rotated ones included, its log link and its termination message. It is
 * removed from the runtime last, so that a failed removal is found again.
 */
export async function removeDeadContainer(
  pod: ObservedPod,
  container: ObservedContainer,
  deps: RemovalDeps,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, fs } = deps;
  const containerId = container.id;
  if (container.state === 'unknown') {
    await ignoreNotFound(runtime.stopContainer({ containerId, timeout: GRACE_SECONDS }, signal));
  }
  if (container.logPath !== '') await removeLogs(container.logPath, fs);
  await removeLogLink(pod, container, deps);
  await removeTerminationMessage(pod, container, deps);
  await ignoreNotFound(runtime.removeContainer({ containerId }, signal));
}

/** Removes the log link of a container, if any. */
export async function removeLogLink(
  pod: ObservedPod,
  { name, id }: ObservedContainer,
  { fs, settings }: Pick<RemovalDeps, 'fs' | 'settings'>,
): Promise<void> {
  if (settings.containerLogsDir === undefined) return;
  const owner = orphanPod(pod.uid, pod.name, pod.namespace);
  await fs.remove(`${settings.containerLogsDir}/${logLinkName(owner, name, id)}`);
}

async function removeLogs(logPath: string, fs: FileSystem): Promise<void> {
  const folder = dirname(logPath);
  if (!(await fs.stat(folder))) return;
  for (const { name } of await fs.readDirectory(folder)) {
    if (name.startsWith(basename(logPath))) await fs.remove(`${folder}/${name}`);
  }
}

/** Removes the message file only if the agent created it: a pod may mount its own file there. */
async function removeTerminationMessage(
  { uid }: ObservedPod,
  { name, terminationMessageFile: file }: ObservedContainer,
  { fs, settings }: RemovalDeps,
): Promise<void> {
  if (file !== undefined && dirname(file) === containerDirectory(settings.rootDir, uid, name)) await fs.remove(file);
}
