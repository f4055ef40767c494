import type { ImageFile } from '../../src/app/images/oci-archive.ts';
import type { DebianRoot } from './debian-root.ts';

/** An image that specs pull, built here from Debian's programs. */
export interface TestImage {
  /** Without the host, which is redirected to the local registry. */
  readonly repository: string;
  readonly tags: readonly string[];
  /** Lowest layer first. */
  readonly layers: readonly (readonly ImageFile[])[];
  readonly config: TestImageConfig;
}

export interface TestImageConfig {
  readonly User?: string;
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
}

export const PATH = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
export const USERS = [
  'root:x:0:0:root:/root:/bin/sh\n',
  'www-data:x:33:33:www-data:/var/www:/bin/false\n',
  'nobody:x:65534:65534:nobody:/:/bin/false\n', // words: quoted
].join('');
export const GROUPS = 'root:x:0:\nwww-data:x:33:\nnogroup:x:65534:\n';

/**
 * Debian's busybox, in the build whose shell opens the programs that it runs, with a link for each applet. `ls` is a
 * separate file because a spec masks it; `pgrep` and `ipcs` are not in this busybox.
 */
export function busyboxLayer(debian: DebianRoot): readonly ImageFile[] {
  const own = [
    ...debian.program('/usr/bin/busybox', '/bin/busybox'),
    ...debian.program('/usr/bin/ls', '/bin/ls'),
    ...debian.program('/usr/bin/pgrep', '/bin/pgrep'),
    ...debian.program('/usr/bin/ipcs', '/bin/ipcs'),
  ];
  const taken = new Set(own.map(({ path }) => path));
  const applets = debian.run('/usr/bin/busybox', '--list').trim().split('\n');
  const links = applets
    .filter((applet) => !taken.has(`bin/${applet}`))
    .map((applet) => ({ kind: 'link', path: `bin/${applet}`, target: 'busybox' }) as const);
  return layer(
    ...own,
    ...links,
    text('etc/passwd', USERS),
    text('etc/group', GROUPS),
    { kind: 'directory', path: 'root', mode: 0o700 },
    { kind: 'directory', path: 'tmp', mode: 0o1777 },
  );
}

export function nginxLayer(debian: DebianRoot, port: number): readonly ImageFile[] {
  const configuration = `user www-data; worker_processes 1; pid /var/run/nginx.pid; error_log /dev/stderr;
events {}
http { access_log /dev/stdout; server { listen ${port}; root /usr/share/nginx/html; } }
`;
  return layer(
    ...debian.program('/usr/sbin/nginx'),
    text('etc/nginx/nginx.conf', configuration),
    text('usr/share/nginx/html/index.html', '<h1>Welcome to nginx!</h1>\n'),
    { kind: 'directory', path: 'var/run', mode: 0o755 },
    { kind: 'directory', path: 'var/log/nginx', mode: 0o755 },
    { kind: 'directory', path: 'var/lib/nginx', mode: 0o755 },
  );
}

export function webServer(
  base: readonly ImageFile[],
  server: readonly ImageFile[],
  repository: string,
  tag: string,
): TestImage {
  const config = { Cmd: ['nginx', '-g', 'daemon off;'], Env: PATH };
  return { repository, tags: [tag], layers: [base, server], config };
}

/** A setuid-root shell, which is ineffective with no_new_privs. */
export function noNewPrivileges(
  base: readonly ImageFile[],
  debian: DebianRoot,
  repository: string,
  tag: string,
): TestImage {
  const shell = layer(...debian.program('/usr/bin/bash', '/nnp', 0o4755));
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's variable
  const config = { User: '1000', Entrypoint: ['/nnp', '-p', '-c', 'echo "Effective uid: ${EUID}"'], Env: PATH };
  return { repository, tags: [tag], layers: [base, shell], config };
}

/** Debian's catatonit in its mode for a pod's first process. */
export function pause(debian: DebianRoot, tag: string): TestImage {
  const program = [debian.file('/usr/bin/catatonit', '/pause')];
  return { repository: 'pause', tags: [tag], layers: [program], config: { Entrypoint: ['/pause', '-P'], Env: PATH } };
}

export function text(path: string, content: string): ImageFile {
  return { kind: 'file', path, mode: 0o644, data: new TextEncoder().encode(content) };
}

/** Each path once, and each directory before its entries. */
export function layer(...files: readonly ImageFile[]): readonly ImageFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const known = new Set(byPath.keys());
  return [...byPath.values()].flatMap((file) => {
    const parts = file.path.split('/').slice(0, -1);
    const parents = parts.map((_, index) => parts.slice(0, index + 1).join('/')).filter((path) => !known.has(path));
    for (const path of parents) known.add(path);
    return [...parents.map((path) => ({ kind: 'directory', path, mode: 0o755 }) as const), file];
  });
}
