import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageFile } from '../../src/app/images/oci-archive.ts';

const PACKAGES = [
  'apache2-bin',
  'bash',
  'busybox',
  'catatonit',
  'coreutils',
  'libc-bin',
  'nginx',
  'procps',
  'util-linux',
];

/** A folder with Debian's packages in it, unpacked and not installed: the programs that images are made of. */
export interface DebianRoot {
  /** A file under a name of the image. */
  file(from: string, to: string, mode?: number): ImageFile;
  /** A program under a name of the image, and every library that it is linked with. */
  program(from: string, to?: string, mode?: number): readonly ImageFile[];
  /** Runs a program of it. */
  run(path: string, ...args: string[]): string;
}

/** Takes what a run before has fetched into the cache, or fetches it. */
export function debianRoot(cache: string): DebianRoot {
  const folder = join(cache, `debian-${createHash('sha256').update(PACKAGES.join()).digest('hex').slice(0, 12)}`);
  if (!existsSync(folder)) fetchInto(folder);
  return rootAt(folder);
}

function rootAt(folder: string): DebianRoot {
  // A link of a package is absolute in its own root, not in that of this machine.
  const real = (path: string): string => run('/usr/bin/realpath', path).trim();
  const run = (path: string, ...args: string[]): string =>
    execFileSync('chroot', [folder, path, ...args], { encoding: 'utf8', env: { PATH: '/usr/sbin:/usr/bin' } });
  const file = (from: string, to: string, mode = 0o755): ImageFile => {
    return { kind: 'file', path: to.slice(1), mode, data: readFileSync(join(folder, real(from))) };
  };
  return {
    file,
    run,
    program(from, to = from, mode) {
      const libraries = [...run('/usr/bin/ldd', from).matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
      return [file(from, to, mode), ...libraries.map((path) => file(path, path))];
    },
  };
}

/** The folder gets its name only as a whole. */
function fetchInto(folder: string): void {
  const part = `${folder}.part-${process.pid}`;
  const archives = join(part, 'archives');
  const root = join(part, 'root');
  try {
    mkdirSync(join(archives, 'partial'), { recursive: true });
    download(archives);
    for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
      mkdirSync(join(root, 'usr', name), { recursive: true });
      symlinkSync(`usr/${name}`, join(root, name));
    }
    for (const archive of readdirSync(archives).filter((name) => name.endsWith('.deb'))) {
      const files = execFileSync('dpkg-deb', ['--fsys-tarfile', join(archives, archive)], { maxBuffer: 2 ** 30 });
      execFileSync('tar', ['-x', '--keep-directory-symlink', '-C', root], { input: files });
    }
    renameSync(root, folder);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}

/** With all that they depend on: apt is told that nothing is installed. */
function download(archives: string): void {
  const options = [`Dir::Cache::archives=${archives}`, 'Dir::State::status=/dev/null', 'APT::Sandbox::User=root'];
  const flags = [...options, 'Debug::NoLocking=1'].flatMap((option) => ['-o', option]);
  const install = ['--yes', '--quiet=2', '--download-only', '--no-install-recommends', 'install', ...PACKAGES];
  const fetch = (): Buffer => execFileSync('apt-get', [...flags, ...install], { stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    fetch();
  } catch {
    // The package lists of a fresh machine are absent or stale.
    execFileSync('apt-get', ['--quiet=2', 'update'], { stdio: ['ignore', 'pipe', 'pipe'] });
    fetch();
  }
}
