import type { CsiPluginDeps } from './csi-deps.ts';
import type { CsiUse } from './csi-uses.ts';

/** The pod does not need the volume any more. The controller may detach it when no pod does. */
export async function stopUsing(use: CsiUse, deps: CsiPluginDeps, signal: AbortSignal): Promise<void> {
  const { csi, nodeVolumes, attachedVolumes } = deps;
  csi.uses.remove(use);
  const users = await nodeVolumes.usersOf(use.id, signal);
  if (users.size > 0 || csi.uses.isNeeded(use.id)) return;
  csi.uses.sizes.forget(use.id);
  attachedVolumes.release(use.id);
}
