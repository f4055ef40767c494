import { readFileSync } from 'node:fs';
import type { ImageFile } from '../../src/app/images/oci-archive.ts';
import { digestOf } from '../../src/runtime/storage/digest.ts';
import type { DebianRoot } from '../critest/debian-root.ts';
import {
  busyboxLayer,
  GROUPS,
  layer,
  nginxLayer,
  noNewPrivileges,
  PATH,
  pause,
  type TestImage,
  text,
  USERS,
  webServer,
} from '../critest/image-files.ts';
import { packImage } from '../critest/push-image.ts';

/** Debian packages with the programs of these images, beside those of critest's images. */
export const CONFORMANCE_PACKAGES: readonly string[] = [
  'bind9-dnsutils',
  'curl',
  'dash',
  'hostname',
  'iperf',
  'iproute2',
  'netcat-openbsd',
];

/** Hosts of the images; one local registry serves all of them. */
export const CONFORMANCE_HOSTS: readonly string[] = ['registry.k8s.io'];

const E2E = 'e2e-test-images';

/** Paths of files that go to the image of agnhost. */
export interface AgnhostFiles {
  readonly program: string;
  /** With which it serves HTTPS. */
  readonly certificate: string;
  readonly key: string;
}

/**
 * Every image that specs of NodeConformance pull, made of Debian's programs. The names and tags are those of Kubernetes
 * v1.36.4 (test/utils/image/manifest.go).
 */
export async function conformanceImages(debian: DebianRoot, agnhost: AgnhostFiles): Promise<readonly TestImage[]> {
  const base = busyboxLayer(debian);
  const shell = shellLayer(debian);
  const config = { Cmd: ['sh'], Env: PATH };
  const pauseImage = pause(debian, '3.10.2');
  return [
    { repository: `${E2E}/busybox`, tags: ['1.37.0-1'], layers: [base, shell], config },
    { repository: `${E2E}/ipc-utils`, tags: ['1.4'], layers: [base], config },
    { repository: `${E2E}/nonroot`, tags: ['1.5'], layers: [base], config: { ...config, User: '1234' } },
    { repository: `${E2E}/glibc-dns-testing`, tags: ['2.0.0'], layers: [base, glibcLayer(debian)], config },
    webServer(base, nginxLayer(debian, 80), `${E2E}/nginx`, '1.15-4'),
    webServer(base, [...nginxLayer(debian, 80), text('etc/version', '1.27\n')], `${E2E}/nginx`, '1.27-0'),
    noNewPrivileges(base, debian, `${E2E}/nonewprivs`, '1.4'),
    pauseImage,
    {
      repository: `${E2E}/agnhost`,
      tags: ['2.63.0', '2.55'],
      layers: [base, agnhostLayer(debian, agnhost), await fakeRegistryLayer(pauseImage)],
      config: { Entrypoint: ['/agnhost'], Cmd: ['pause'], Env: PATH },
    },
  ];
}

/**
 * The shell of the published image keeps variables whose names have dashes; that of Debian's busybox drops them, and bash
 * keeps them. So `sh -c env` is answered by bash, everything else by busybox. `nmeter` is not in Debian's busybox; specs
 * take the time with milliseconds from it.
 */
function shellLayer(debian: DebianRoot): readonly ImageFile[] {
  const shell = ['#!/bin/bash', '[[ $1 == -c && $2 == env ]] && exec env', 'exec -a /bin/sh /bin/busybox "$@"', ''];
  return layer(...debian.program('/usr/bin/bash', '/bin/bash'), script('bin/sh', shell), nmeter());
}

function script(path: string, lines: readonly string[]): ImageFile {
  return { kind: 'file', path, mode: 0o755, data: new TextEncoder().encode(lines.join('\n')) };
}

/** What `nmeter -d0 %3t` prints first. */
function nmeter(): ImageFile {
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: the shell's variables
  return script('bin/nmeter', [
    '#!/bin/bash',
    'now=$EPOCHREALTIME part=${now#*.}',
    'TZ=UTC printf "%(%H:%M:%S)T.%s\\n" "${now%.*}" "${part:0:3}"',
    '',
  ]);
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: the shell's variables
}

/** The programs, users and groups of agnhost's Dockerfile. */
function agnhostLayer(debian: DebianRoot, { program, certificate, key }: AgnhostFiles): readonly ImageFile[] {
  const programs = ['bash', 'curl', 'dig', 'iperf', 'ipcs', 'nslookup'].flatMap((name) =>
    debian.program(`/usr/bin/${name}`),
  );
  return layer(
    { kind: 'file', path: 'agnhost', mode: 0o755, data: readFileSync(program) },
    { kind: 'file', path: 'localhost.crt', mode: 0o644, data: readFileSync(certificate) },
    { kind: 'file', path: 'localhost.key', mode: 0o644, data: readFileSync(key) },
    { kind: 'link', path: 'agnhost-2', target: 'agnhost' },
    ...programs,
    ...debian.program('/usr/bin/bash', '/bin/bash'),
    ...debian.program('/bin/nc.openbsd', '/usr/bin/nc'),
    ...debian.program('/bin/ip', '/bin/ip'),
    ...debian.program('/bin/ss', '/bin/ss'),
    { kind: 'link', path: 'usr/local/bin/iperf', target: '/usr/bin/iperf' },
    nmeter(),
    text('etc/passwd', `${USERS}user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n`),
    text('etc/group', `${GROUPS}user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n`),
    { kind: 'directory', path: 'uploads', mode: 0o755 },
    { kind: 'directory', path: 'home/user-defined-in-image', mode: 0o755 },
  );
}

/** Debian's own shell, resolver and `hostname`, which is linked with glibc. */
function glibcLayer(debian: DebianRoot): readonly ImageFile[] {
  return layer(
    ...debian.program('/usr/bin/dash', '/bin/sh'),
    ...debian.program('/usr/bin/dig'),
    ...debian.program('/usr/bin/hostname', '/bin/hostname'),
    text('etc/nsswitch.conf', 'hosts: files dns\n'),
  );
}

/** What `agnhost fake-registry-server` serves: the pause image as `pause:testing`. */
async function fakeRegistryLayer(image: TestImage): Promise<readonly ImageFile[]> {
  const { blobs, manifest, list } = await packImage(image);
  const root = 'var/registry/pause';
  const stored = (folder: string, data: Uint8Array): ImageFile => {
    const [algorithm = '', hash = ''] = digestOf(data).split(':');
    return { kind: 'file', path: `${root}/${folder}/${algorithm}/${hash.slice(0, 2)}/${hash}/data`, mode: 0o644, data };
  };
  return layer(
    ...blobs.map((data) => stored('blobs', data)),
    stored('manifests', manifest),
    stored('manifests', list),
    text(`${root}/manifests/testing`, `${digestOf(list)}\n`),
  );
}
