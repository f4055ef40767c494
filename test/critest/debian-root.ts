import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageFile } from '../../src/app/images/oci-archive.ts';

/** The packages of critest's images. */
const PACKAGES: readonly string[] = [
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

/** A directory with unpacked Debian packages, the source of the programs in images. */
export interface DebianRoot {
  /** A file at path `to` of an image. */
  file(from: string, to: string, mode?: number): ImageFile;
  /** A program at path `to` of an image, with all its shared libraries. */
  program(from: string, to?: string, mode?: number): readonly ImageFile[];
  /** Runs a program in the root. */
  run(path: string, ...args: string[]): string;
}

/** Uses the packages in the cache, or downloads them. `more` packages are added to those of critest's images. */
export function debianRoot(cache: string, more: readonly string[] = []): DebianRoot {
  const packages = [...PACKAGES, ...more];
  const folder = join(cache, `debian-${createHash('sha256').update(packages.join()).digest('hex').slice(0, 12)}`);
  if (!existsSync(folder)) fetchInto(folder, packages);
  return openRoot(folder);
}

function openRoot(folder: string): DebianRoot {
  // Absolute links of a package are relative to its root, not to the host's.
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

/** Renames the directory only when it is complete. */
function fetchInto(folder: string, packages: readonly string[]): void {
  const part = `${folder}.part-${process.pid}`;
  const archives = join(part, 'archives');
  const root = join(part, 'root');
  try {
    mkdirSync(join(archives, 'partial'), { recursive: true });
    download(archives, packages);
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

/** Downloads the packages with all dependencies: apt sees an empty list of installed packages. */
function download(archives: string, packages: readonly string[]): void {
  const options = [`Dir::Cache::archives=${archives}`, 'Dir::State::status=/dev/null', 'APT::Sandbox::User=root'];
  const flags = [...options, 'Debug::NoLocking=1'].flatMap((option) => ['-o', option]);
  const install = ['--yes', '--quiet=2', '--download-only', '--no-install-recommends', 'install', ...packages];
  const fetch = (): Buffer => execFileSync('apt-get', [...flags, ...install], { stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    fetch();
  } catch {
    // The package lists of a fresh machine are absent or stale.
    execFileSync('apt-get', ['--quiet=2', 'update'], { stdio: ['ignore', 'pipe', 'pipe'] });
    fetch();
  }
}
