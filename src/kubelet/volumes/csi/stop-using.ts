import type { CsiPluginDeps } from './csi-deps.ts';
import type { CsiUse } from './csi-uses.ts';

/**
 * The pod does not need the volume any more: unstages it after its last pod. The controller may detach it then. As in kubelet,
 * a volume that cannot be unstaged does not hold up the end of the pod: it is unstaged as an orphan, and stays attached until
 * then.
 */
export async function stopUsing(
  use: CsiUse,
  unstage: () => Promise<void>,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  try {
    await unstage();
  } catch {
    signal.throwIfAborted();
    deps.csi.uses.remove(use);
    deps.nodeVolumes.leave(use);
    return;
  }
  await releaseVolume(use, deps, signal);
}

/** The volume is not staged for the pod any more. */
export async function releaseVolume(use: CsiUse, deps: CsiPluginDeps, signal: AbortSignal): Promise<void> {
  const { csi, nodeVolumes, attachedVolumes } = deps;
  csi.uses.remove(use);
  const users = await nodeVolumes.usersOf(use.id, signal);
  if (users.size > 0 || csi.uses.isNeeded(use.id)) return;
  csi.uses.sizes.forget(use.id);
  attachedVolumes.release(use.id);
}
