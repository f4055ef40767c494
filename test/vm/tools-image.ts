import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type ClusterTool, clusterTool, clusterToolsFolder } from '../integration/cluster-tools.ts';

const SPARE_MB = 64;

/** Makes a file system image of some programs of `scripts/cluster-tools.sh`, laid out as its cache, in `folder`. */
export function makeToolsImage(names: readonly ClusterTool[], folder: string): string {
  const tree = mkdtempSync(join(folder, 'tools-'));
  const image = join(folder, 'tools.img');
  try {
    const programs = join(tree, basename(clusterToolsFolder()));
    mkdirSync(programs);
    for (const name of names) copyFileSync(clusterTool(name), join(programs, name));
    const bytes = names.reduce((sum, name) => sum + statSync(join(programs, name)).size, 0);
    const megabytes = Math.ceil((bytes / 2 ** 20) * 1.1) + SPARE_MB;
    execFileSync('mke2fs', ['-q', '-F', '-t', 'ext4', '-d', tree, image, `${megabytes}M`], { stdio: 'pipe' });
    return image;
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}
