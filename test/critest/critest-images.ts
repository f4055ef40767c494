import type { ImageFile } from '../../src/app/images/oci-archive.ts';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import type { DebianRoot } from './debian-root.ts';

/** An image that critest pulls, built here from Debian's programs. */
export interface CritestImage {
  /** Without the host, which is redirected to the local registry. */
  readonly repository: string;
  readonly tags: readonly string[];
  /** Lowest layer first. */
  readonly layers: readonly (readonly ImageFile[])[];
  readonly config: CritestImageConfig;
}

export interface CritestImageConfig {
  readonly User?: string;
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
}

/** Hosts of the images; one local registry serves all of them. */
export const CRITEST_HOSTS = ['registry.k8s.io', 'gcr.io', 'k8s.gcr.io'] as const;

const PATH = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
const USERS = [
  'root:x:0:0:root:/root:/bin/sh\n',
  'www-data:x:33:33:www-data:/var/www:/bin/false\n',
  'nobody:x:65534:65534:nobody:/:/bin/false\n', // words: quoted
].join('');
const GROUPS = 'root:x:0:\nwww-data:x:33:\nnogroup:x:65534:\n';
const STAGING = 'k8s-staging-cri-tools';
const E2E = 'e2e-test-images';

/** Every image that specs of critest 1.36 pull, except the one that is pulled by the digest of the published image. */
export function critestImages(debian: DebianRoot): readonly CritestImage[] {
  const base = busyboxLayer(debian);
  const shell = (repository: string, tags: readonly string[], ...more: readonly ImageFile[][]): CritestImage => ({
    repository,
    tags,
    layers: [base, ...more],
    config: { Cmd: ['sh'], Env: PATH },
  });
  /** Like critest's own images: busybox with one empty file, which makes each a distinct image. */
  const marked = (name: string, mark: string, ...tags: string[]): CritestImage =>
    shell(`${STAGING}/${name}`, tags, [text(mark, '')]);
  const ofUser = (name: string, user: string): CritestImage => {
    const image = shell(`${STAGING}/test-image-user-${name}`, ['latest']);
    return { ...image, config: { ...image.config, User: user } };
  };
  return [
    shell(`${E2E}/busybox`, ['1.29-2']),
    webServer(base, nginxLayer(debian, 80), `${E2E}/nginx`, '1.14-2'),
    webServer(base, nginxLayer(debian, 12003), `${STAGING}/hostnet-nginx-${goArchitecture()}`, 'latest'),
    httpd(base, debian),
    noNewPrivileges(base, debian),
    pause(debian),
    marked('test-image-1', 'test-image-1', 'latest'),
    marked('test-image-2', 'test-image-2', 'latest'),
    marked('test-image-3', 'test-image-3', 'latest'),
    marked('test-image-latest', 'test-image-latest', 'latest'),
    marked('test-image-tags', 'same-image', '1', '2', '3'),
    marked('test-image-tag', 'test', 'test'),
    marked('test-image-tag', 'all', 'all'),
    ofUser('uid', '1002'),
    ofUser('username', 'www-data'),
    ofUser('uid-group', '1003:1004'),
    ofUser('username-group', 'www-data:1004'),
    predefinedGroup(base),
  ];
}

/**
 * Debian's busybox, in the build whose shell opens the programs that it runs, with a link for each applet. `ls` is a
 * separate file because a spec masks it; `pgrep` and `ipcs` are not in this busybox.
 */
function busyboxLayer(debian: DebianRoot): readonly ImageFile[] {
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

function nginxLayer(debian: DebianRoot, port: number): readonly ImageFile[] {
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

function webServer(
  base: readonly ImageFile[],
  server: readonly ImageFile[],
  repository: string,
  tag: string,
): CritestImage {
  const config = { Cmd: ['nginx', '-g', 'daemon off;'], Env: PATH };
  return { repository, tags: [tag], layers: [base, server], config };
}

/** Apache at the path of the published image, which a spec expects in the log. */
function httpd(base: readonly ImageFile[], debian: DebianRoot): CritestImage {
  const modules = ['mpm_event', 'dir', 'authz_core'];
  const configuration = `ServerRoot /usr/local/apache2
ServerName localhost
PidFile /tmp/httpd.pid
DefaultRuntimeDir /tmp
Mutex file:/tmp default
User www-data
Group www-data
${modules.map((name) => `LoadModule ${name}_module modules/mod_${name}.so\n`).join('')}Listen 80
ErrorLog /proc/self/fd/2
DocumentRoot /usr/local/apache2/htdocs
DirectoryIndex index.html
`;
  const server = layer(
    ...debian.program('/usr/sbin/apache2', '/usr/local/apache2/bin/httpd'),
    ...modules.map((name) =>
      debian.file(`/usr/lib/apache2/modules/mod_${name}.so`, `/usr/local/apache2/modules/mod_${name}.so`, 0o644),
    ),
    text('usr/local/apache2/conf/httpd.conf', configuration),
    text('usr/local/apache2/htdocs/index.html', '<html><body><h1>It works!</h1></body></html>\n'),
  );
  const program = '/usr/local/apache2/bin/httpd';
  const config = { Cmd: [program, '-f', '/usr/local/apache2/conf/httpd.conf', '-DFOREGROUND'], Env: PATH };
  return { repository: `${E2E}/httpd`, tags: ['2.4.39-4'], layers: [base, server], config };
}

/** A setuid-root shell, which is ineffective with no_new_privs. */
function noNewPrivileges(base: readonly ImageFile[], debian: DebianRoot): CritestImage {
  const shell = layer(...debian.program('/usr/bin/bash', '/nnp', 0o4755));
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's variable
  const config = { User: '1000', Entrypoint: ['/nnp', '-p', '-c', 'echo "Effective uid: ${EUID}"'], Env: PATH };
  return { repository: `${E2E}/nonewprivs`, tags: ['1.3'], layers: [base, shell], config };
}

function pause(debian: DebianRoot): CritestImage {
  const program = [debian.file('/usr/bin/catatonit', '/pause')];
  return { repository: 'pause', tags: ['3.9'], layers: [program], config: { Entrypoint: ['/pause', '-P'], Env: PATH } };
}

function predefinedGroup(base: readonly ImageFile[]): CritestImage {
  const user = layer(
    text('etc/passwd', `${USERS}default-user:x:1000:1000:Linux User,,,:/home/default-user:/bin/sh\n`),
    text('etc/group', `${GROUPS}default-user:x:1000:\ngroup-defined-in-image:x:50000:default-user\n`),
  );
  const config = { User: '1000', Cmd: ['sh'], Env: PATH };
  return { repository: `${STAGING}/test-image-predefined-group`, tags: ['latest'], layers: [base, user], config };
}

function text(path: string, content: string): ImageFile {
  return { kind: 'file', path, mode: 0o644, data: new TextEncoder().encode(content) };
}

/** Each path once, and each directory before its entries. */
function layer(...files: readonly ImageFile[]): readonly ImageFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const known = new Set(byPath.keys());
  return [...byPath.values()].flatMap((file) => {
    const parts = file.path.split('/').slice(0, -1);
    const parents = parts.map((_, index) => parts.slice(0, index + 1).join('/')).filter((path) => !known.has(path));
    for (const path of parents) known.add(path);
    return [...parents.map((path) => ({ kind: 'directory', path, mode: 0o755 }) as const), file];
  });
}
