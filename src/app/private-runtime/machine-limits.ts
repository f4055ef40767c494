import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { Snapshotter } from './containerd-config.ts';

/** linux/capability.h */
const CAP_SYS_RESOURCE = 24n;

/** `status` is the text of /proc/self/status. Text that says nothing about capabilities has none. */
export function mayRaiseLimits(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
}

/**
 * Tries an overlay in `root`: whether one works depends on the kernel and on the file system there (overlay on
 * overlay, some network file systems), and neither can be asked. Leaves nothing.
 */
export async function workingSnapshotter(root: string, fs: FileSystem, mounts: Mounts): Promise<Snapshotter> {
  const probe = `${root}/overlay-probe`;
  const part = (name: string): string => `${probe}/${name}`;
  // Of a start that was killed half-way: what it changed would make a working overlay look broken.
  await mounts.unmount(part('merged'));
  await fs.removeTree(probe);
  try {
    for (const name of ['lower', 'upper', 'work', 'merged']) await fs.makeDirectory(part(name), 0o700);
    await fs.writeFile(`${part('lower')}/file`, '');
    const data = `lowerdir=${part('lower')},upperdir=${part('upper')},workdir=${part('work')}`;
    await mounts.mount({ source: 'overlay', target: part('merged'), type: 'overlay', data });
    // A file of the lower layer must be replaceable by one of the upper: some file systems fail only here.
    await fs.rename(`${part('merged')}/file`, `${part('merged')}/renamed`);
    return 'overlayfs';
  } catch {
    return 'native';
  } finally {
    await mounts.unmount(part('merged'));
    await fs.removeTree(probe);
  }
}
