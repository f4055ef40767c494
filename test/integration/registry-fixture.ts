import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { busyboxImage } from '../../src/app/images/local-images.ts';
import { ociArchive } from '../../src/app/images/oci-archive.ts';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import { digestOf } from '../../src/runtime/storage/digest.ts';
import { end, launch, started } from './daemon-fixture.ts';
import { freePort } from './free-port.ts';
import { runtimeSkipReason } from './runtime-fixture.ts';

const PORT_ATTEMPTS = 5;
const OPENSSL = '/usr/bin/openssl';
const PROGRAMS = [
  '/usr/bin/docker-registry',
  join(import.meta.dirname, '../../.tools/registry/usr/bin/docker-registry'),
];

export const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';

/** The credentials of a registry with authentication. */
export const LOGIN = { username: 'tester', password: 'example-password' } as const;
/** The header that distinguishes a registry from another one on the same port. */
const MARK = 'x-test-folder';
/** The output of `htpasswd -nbB -C 5` for it. */
const HTPASSWD = 'tester:$2y$05$xjuHnfuCX6GmpAthYdZNxuuLFFL5rX4sXPpOyx039zReHVQUSbOF6\n';

/** Debian's docker-registry, with its own port and directory. */
export interface TestRegistry {
  /** As in image names: `127.0.0.1:40123`. */
  readonly address: string;
  readonly port: number;
  /** The certificate that a client must trust; absent: it speaks HTTP. */
  readonly caFile: string | undefined;
  /** Creates a unique busybox image and pushes it. Returns its name. */
  push(repository: string): Promise<string>;
  /** The same with a given image. */
  pushContent(repository: string, content: ImageContent): Promise<string>;
  /** Stops it; its content stays. */
  pause(): Promise<void>;
  /** Starts it again at the same address, perhaps with other options; `tls` does not change. */
  resume(options?: RegistryOptions): Promise<void>;
  stop(): Promise<void>;
}

export interface RegistryOptions {
  /** Whether it requires `LOGIN`. */
  readonly asksForLogin?: boolean;
  readonly tls?: boolean;
  /** Whether it requires a token of this server. */
  readonly token?: TokenIssuer;
}

export interface ImageContent {
  /** Of type `MANIFEST_TYPE`. */
  readonly manifest: Uint8Array;
  /** Its configuration and its layers. */
  readonly blobs: readonly Uint8Array[];
}

export interface TokenIssuer {
  readonly realm: string;
  readonly service: string;
  readonly issuer: string;
  /** The certificate of the key that signs tokens. */
  readonly certificateFile: string;
}

/** The `{ skip }` reason of a test when it cannot run here, else `false`. */
export function registrySkipReason(): string | false {
  return registryMissingReason() || runtimeSkipReason();
}

/** The same for tests that need only the registry. */
export function registryMissingReason(): string | false {
  if (!PROGRAMS.some((path) => existsSync(path))) return 'not installed: docker-registry';
  return existsSync(OPENSSL) ? false : 'not installed: openssl';
}

export async function startRegistry(options: RegistryOptions = {}): Promise<TestRegistry> {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-registry-'));
  const caFile = options.tls ? makeCertificate(folder) : undefined;
  // The registry cannot take a port from the kernel: a chosen port may have been taken meanwhile.
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const place = { folder, port, caFile };
    writeConfiguration(place, options);
    try {
      return testRegistry(place, await start(place));
    } catch (error) {
      if (attempt < PORT_ATTEMPTS) continue;
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }
}

interface Place {
  readonly folder: string;
  readonly port: number;
  readonly caFile: string | undefined;
}

function testRegistry(place: Place, first: ChildProcess): TestRegistry {
  const address = `127.0.0.1:${place.port}`;
  let daemon = first;
  const pushContent = async (repository: string, { manifest, blobs }: ImageContent): Promise<string> => {
    for (const blob of blobs) await pushBlob(place, repository, blob);
    await expectCreated(send(place, 'PUT', `/v2/${repository}/manifests/1`, manifest, MANIFEST_TYPE));
    return `${address}/${repository}:1`;
  };
  return {
    address,
    port: place.port,
    caFile: place.caFile,
    push: (repository) => pushContent(repository, namedBusybox(`${address}/${repository}:1`)),
    pushContent,
    pause: () => end(daemon, 'SIGTERM'),
    async resume(options) {
      if (options) writeConfiguration(place, options);
      daemon = await start(place);
    },
    async stop() {
      await end(daemon, 'SIGTERM');
      rmSync(place.folder, { recursive: true, force: true });
    },
  };
}

/** Configures containerd for a registry; it reads the file at each pull. The embedded runtime detects the protocol itself. */
export function trustRegistry(folder: string, address: string, caFile?: string): void {
  const hosts = join(folder, 'certs.d', address);
  const url = `${caFile ? 'https' : 'http'}://${address}`;
  mkdirSync(hosts, { recursive: true });
  const ca = caFile ? `  ca = "${caFile}"\n` : '';
  const text = `server = "${url}"\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n${ca}`;
  writeFileSync(join(hosts, 'hosts.toml'), text);
}

/** Of a key beside it: `key.pem`. */
export function makeCertificate(folder: string): string {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', '/CN=registry', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '1'];
  const args = ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...subject];
  execFileSync(OPENSSL, args, { stdio: 'ignore' });
  return cert;
}

function writeConfiguration({ folder, port, caFile }: Place, { asksForLogin = false, token }: RegistryOptions): void {
  writeFileSync(join(folder, 'htpasswd'), HTPASSWD);
  const config = {
    version: 0.1,
    log: { level: 'warn' },
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: {
      addr: `127.0.0.1:${port}`,
      headers: { [MARK]: [folder] },
      ...(caFile && { tls: { certificate: caFile, key: join(folder, 'key.pem') } }),
    },
    ...(asksForLogin && { auth: { htpasswd: { realm: 'test', path: join(folder, 'htpasswd') } } }),
    ...(token && { auth: { token: { ...token, certificateFile: undefined, rootcertbundle: token.certificateFile } } }),
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
}

function start(place: Place): Promise<ChildProcess> {
  const logPath = join(place.folder, 'registry.log');
  const program = PROGRAMS.find((path) => existsSync(path)) ?? 'docker-registry';
  const daemon = launch([program, 'serve', join(place.folder, 'config.json')], logPath);
  return started(daemon, () => answers(place), logPath);
}

async function answers(place: Place): Promise<boolean> {
  const { status, mark } = await send(place, 'GET', '/v2/');
  return (status === 200 || status === 401) && mark === place.folder;
}

/** The image contains its own name in `/etc/image`. */
function namedBusybox(reference: string): ImageContent {
  const content = busyboxImage(goArchitecture(), readFileSync('/bin/busybox'), ['sh', 'sleep', 'true']);
  const name = new TextEncoder().encode(reference);
  const files = [...content.files, { kind: 'file', path: 'etc/image', mode: 0o644, data: name } as const];
  const archive = tarFiles(ociArchive({ ...content, reference, files }).bytes);
  const index = JSON.parse(new TextDecoder().decode(archive.get('index.json')));
  const manifestDigest: string = index.manifests[0].digest;
  const manifestPath = `blobs/${manifestDigest.replace(':', '/')}`;
  const blobs = [...archive].filter(([path]) => path.startsWith('blobs/sha256/') && path !== manifestPath);
  return { manifest: archive.get(manifestPath) ?? new Uint8Array(), blobs: blobs.map(([, data]) => data) };
}

async function pushBlob(place: Place, repository: string, data: Uint8Array): Promise<void> {
  const { location } = await send(place, 'POST', `/v2/${repository}/blobs/uploads/`);
  const url = new URL(location ?? '', `http://127.0.0.1:${place.port}`);
  url.searchParams.set('digest', digestOf(data));
  await expectCreated(send(place, 'PUT', `${url.pathname}${url.search}`, data, 'application/octet-stream'));
}

async function expectCreated(answer: Promise<Answer>): Promise<void> {
  const { status } = await answer;
  if (status !== 201) throw new Error(`the registry rejected a push: ${status}`);
}

interface Answer {
  readonly status: number | undefined;
  readonly location: string | undefined;
  readonly mark: unknown;
}

function send(
  { port, caFile }: Place,
  method: string,
  path: string,
  body?: Uint8Array,
  type?: string,
): Promise<Answer> {
  const headers = { ...(type && { 'content-type': type }), ...(body && { 'content-length': body.byteLength }) };
  const auth = `${LOGIN.username}:${LOGIN.password}`;
  const options: RequestOptions = { host: '127.0.0.1', port, method, path, auth, headers };
  return new Promise((resolve, reject) => {
    const request = caFile ? httpsRequest({ ...options, ca: readFileSync(caFile) }) : httpRequest(options);
    request.once('error', reject);
    request.once('response', (response) => {
      response.resume();
      const { statusCode: status, headers } = response;
      response.once('end', () => resolve({ status, location: headers.location, mark: headers[MARK] }));
    });
    request.end(body);
  });
}

/** The files of a tar archive as the fixture writes them: no long names, no extensions. */
function tarFiles(archive: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const text = (from: number, length: number): string =>
    new TextDecoder().decode(archive.subarray(from, from + length)).replace(/\0.*$/s, '');
  for (let at = 0; at < archive.byteLength && archive[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    files.set(text(at, 100), archive.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}
