import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Of `node_modules` and `dist`: the guest does not need them, and they are larger than all the others together. */
const BUILD_PACKAGES = [
  'nodelet',
  'library.mjs',
  'typescript',
  '@typescript',
  'esbuild',
  '@esbuild',
  '@bufbuild/buf-linux-x64',
  '@bufbuild/buf',
];
const SIZE_MB = 900;

/**
 * Makes a file system image of the checkout with its packages, its Node.js and its bundle, in `folder`. `more` is a directory
 * whose content is added.
 */
export function makeSourceImage(checkout: string, folder: string, more?: string): string {
  const tree = mkdtempSync(join(folder, 'source-'));
  const image = join(folder, 'source.img');
  try {
    const files = execFileSync('git', ['ls-files', '-z'], { cwd: checkout, maxBuffer: 2 ** 26 });
    copy(checkout, tree, files);
    const excluded = BUILD_PACKAGES.map((name) => `--exclude=./${name}`);
    for (const packages of ['node_modules', '.tools/node', 'dist']) {
      execFileSync('mkdir', ['-p', join(tree, packages)]);
      const archive = execFileSync('tar', ['-c', ...excluded, '.'], {
        cwd: join(checkout, packages),
        maxBuffer: 2 ** 30,
      });
      execFileSync('tar', ['-x'], { cwd: join(tree, packages), input: archive });
    }
    if (more) cpSync(more, tree, { recursive: true });
    execFileSync('mke2fs', ['-q', '-F', '-t', 'ext4', '-d', tree, image, `${SIZE_MB}M`], { stdio: 'pipe' });
    return image;
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/** Copies files whose names are separated by NUL. */
function copy(from: string, to: string, names: Buffer): void {
  const archive = execFileSync('tar', ['-c', '--null', '--files-from=-'], {
    cwd: from,
    input: names,
    maxBuffer: 2 ** 30,
  });
  execFileSync('tar', ['-x'], { cwd: to, input: archive });
}
