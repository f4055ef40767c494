import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { LayerReferences } from './layer-references.ts';
import type { StorageLayout } from './storage-layout.ts';

interface SweepDeps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly layout: StorageLayout;
  readonly references: LayerReferences;
}

/** Removes incomplete items of killed processes. Idempotent, and safe while this process works. */
export async function sweepStorage(deps: SweepDeps): Promise<void> {
  await sweepUnfinished(deps);
  await sweepViews(deps);
}

async function sweepUnfinished({ fs, mounts, layout }: SweepDeps): Promise<void> {
  const left = (await fs.readDirectory(layout.allUnfinished)).map(({ name }) => `${layout.allUnfinished}/${name}`);
  const gone = left.filter((folder) => folder !== layout.unfinished);
  if (gone.length === 0) return;
  const mounted = (await mounts.list()).map(({ target }) => target).reverse();
  for (const folder of gone) {
    const real = await fs.realPath(folder);
    for (const target of mounted) {
      if (target.startsWith(`${real}/`)) await mounts.unmount(target, { lazy: true });
    }
    await fs.removeTree(folder);
  }
}

/** A reboot unmounts without notice. */
async function sweepViews({ fs, mounts, layout, references }: SweepDeps): Promise<void> {
  const mounted = new Set((await mounts.list()).map(({ target }) => target));
  for (const { name } of await fs.readDirectory(layout.views)) {
    const folder = `${layout.views}/${name}`;
    const hasTarget = (await fs.lstat(`${folder}/target`)) !== undefined;
    if (hasTarget && mounted.has(await fs.readText(`${folder}/target`))) continue;
    if (!references.isClaimed(`views/${name}`)) await fs.removeTree(folder);
  }
}
