import type { ImageFile } from '../../src/app/images/oci-archive.ts';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import type { DebianRoot } from './debian-root.ts';
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
} from './image-files.ts';

/** Hosts of the images; one local registry serves all of them. */
export const CRITEST_HOSTS = ['registry.k8s.io', 'gcr.io', 'k8s.gcr.io'] as const;

const STAGING = 'k8s-staging-cri-tools';
const E2E = 'e2e-test-images';

/** Every image that specs of critest 1.36 pull, except the one that is pulled by the digest of the published image. */
export function critestImages(debian: DebianRoot): readonly TestImage[] {
  const base = busyboxLayer(debian);
  const shell = (repository: string, tags: readonly string[], ...more: readonly ImageFile[][]): TestImage => ({
    repository,
    tags,
    layers: [base, ...more],
    config: { Cmd: ['sh'], Env: PATH },
  });
  /** Like critest's own images: busybox with one empty file, which makes each a distinct image. */
  const marked = (name: string, mark: string, ...tags: string[]): TestImage =>
    shell(`${STAGING}/${name}`, tags, [text(mark, '')]);
  const ofUser = (name: string, user: string): TestImage => {
    const image = shell(`${STAGING}/test-image-user-${name}`, ['latest']);
    return { ...image, config: { ...image.config, User: user } };
  };
  return [
    shell(`${E2E}/busybox`, ['1.29-2']),
    webServer(base, nginxLayer(debian, 80), `${E2E}/nginx`, '1.14-2'),
    webServer(base, nginxLayer(debian, 12003), `${STAGING}/hostnet-nginx-${goArchitecture()}`, 'latest'),
    httpd(base, debian),
    noNewPrivileges(base, debian, `${E2E}/nonewprivs`, '1.3'),
    pause(debian, '3.9'),
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

/** Apache at the path of the published image, which a spec expects in the log. */
function httpd(base: readonly ImageFile[], debian: DebianRoot): TestImage {
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

function predefinedGroup(base: readonly ImageFile[]): TestImage {
  const user = layer(
    text('etc/passwd', `${USERS}default-user:x:1000:1000:Linux User,,,:/home/default-user:/bin/sh\n`),
    text('etc/group', `${GROUPS}default-user:x:1000:\ngroup-defined-in-image:x:50000:default-user\n`),
  );
  const config = { User: '1000', Cmd: ['sh'], Env: PATH };
  return { repository: `${STAGING}/test-image-predefined-group`, tags: ['latest'], layers: [base, user], config };
}
