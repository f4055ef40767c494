import { type ChildProcess, type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type CertificateAuthority,
  certificatesSkipReason,
  createAuthority,
  createSigningKey,
  type Subject,
} from './cluster-certificates.ts';
import { clusterTool, clusterToolsSkipReason } from './cluster-tools.ts';
import { end, launch, started } from './daemon-fixture.ts';
import { freePort } from './free-port.ts';
import { unmountBelow } from './runtime-cleanup.ts';
import { until } from './until.ts';

const PORT_ATTEMPTS = 3;
/** The timeout of `kubectl`, for the busiest machine. */
const PATIENCE = '--timeout=180s';
const ADMIN: Subject = { user: 'admin', groups: ['system:masters'] };
const run = promisify(execFile);

/** An etcd and a kube-apiserver on loopback, without scheduler and controllers. */
export interface ControlPlane {
  /** `https://127.0.0.1:…` */
  readonly url: string;
  readonly folder: string;
  readonly authority: CertificateAuthority;
  /** The kubeconfig of that user. */
  kubeconfig(subject?: Subject): string;
  /** Runs `kubectl` as an administrator and returns its output; rejects when it fails. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** Starts `kubectl` as an administrator, with its streams. */
  startKubectl(args: readonly string[], env?: Readonly<Record<string, string>>): ChildProcessWithoutNullStreams;
  /** Resolves when a user has that permission, `get nodes --subresource=metrics`: new roles take effect a little later. */
  allowed(subject: Subject, ...what: readonly string[]): Promise<void>;
  /** Resolves when the conditions hold, in order: `web` for a pod, `node/box`; `create`, `condition=Ready`. */
  wait(object: string, ...conditions: readonly string[]): Promise<void>;
  /** A field of a pod: `.status.phase`. */
  field(pod: string, path: string): Promise<string>;
  /** Deletes pods by name; resolves when they are gone. */
  remove(...pods: readonly string[]): Promise<void>;
  /** Creates or changes objects from manifests. */
  apply(...objects: readonly object[]): Promise<void>;
  /** Creates a namespace with the objects that controllers would add and pods need. */
  prepareNamespace(name: string): Promise<void>;
  /** Stops the API server; its data stays. */
  pause(): Promise<void>;
  /** Starts the API server again at the same address. */
  resume(): Promise<void>;
  stop(): Promise<void>;
}

/** The `{ skip }` reason of a test when it cannot run here, else `false`. */
export function clusterSkipReason(): string | false {
  return clusterToolsSkipReason('etcd', 'kube-apiserver', 'kubectl') || certificatesSkipReason();
}

/** `flags` are added to those of the API server. */
export async function startControlPlane(...flags: readonly string[]): Promise<ControlPlane> {
  sweepDeadRuns();
  const folder = mkdtempSync(join(tmpdir(), `nodelet-cluster-${process.pid}-`));
  const authority = createAuthority(join(folder, 'pki'));
  createSigningKey(join(folder, 'pki'));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rmSync(folder, { recursive: true, force: true }));
  const etcd = await onFreePorts((ports) => startEtcd(folder, ports));
  undo.defer(() => end(etcd.daemon, 'SIGKILL'));
  const api = await onFreePorts((ports) => startApiServer({ folder, authority, etcdUrl: etcd.url, flags }, ports));
  undo.defer(() => end(api.daemon, 'SIGKILL'));
  const plane = controlPlane(folder, authority, etcd.daemon, api);
  await plane.prepareNamespace('default');
  undo.move();
  return plane;
}

/** Removes directories of killed runs; their programs ended with them. */
function sweepDeadRuns(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = /^nodelet-cluster-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    unmountBelow(join(tmpdir(), name));
    rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}

/** A server program and how to start it again. */
interface Server {
  readonly url: string;
  readonly daemon: ChildProcess;
  start(): Promise<ChildProcess>;
}

function controlPlane(folder: string, authority: CertificateAuthority, etcd: ChildProcess, api: Server): ControlPlane {
  let daemon = api.daemon;
  const kubeconfig = (subject = ADMIN): string => writeKubeconfig(api.url, authority, subject);
  // Its own cache: another server may have used the same address before.
  const asAdmin = ['--kubeconfig', kubeconfig(), '--cache-dir', join(folder, 'kubectl')];
  const kubectl = async (...args: readonly string[]): Promise<string> => {
    const { stdout } = await run(clusterTool('kubectl'), [...asAdmin, ...args], { maxBuffer: 64 * 2 ** 20 });
    return stdout;
  };
  const apply = async (...objects: readonly object[]): Promise<void> => {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    const child = run(clusterTool('kubectl'), [...asAdmin, 'apply', '--server-side', '-f', '-']);
    child.child.stdin?.end(list);
    await child;
  };
  return {
    url: api.url,
    folder,
    authority,
    kubeconfig,
    kubectl,
    startKubectl: (args, env = {}) =>
      spawn(clusterTool('kubectl'), [...asAdmin, ...args], { env: { ...process.env, ...env } }),
    async allowed({ user, groups = [] }, ...what) {
      const who = [`--as=${user}`, ...groups.map((group) => `--as-group=${group}`)];
      await until(() => kubectl('auth', 'can-i', ...what, ...who));
    },
    async wait(object, ...conditions) {
      const named = object.includes('/') ? object : `pod/${object}`;
      for (const condition of conditions) await kubectl('wait', named, `--for=${condition}`, PATIENCE);
    },
    field: (pod, path) => kubectl('get', 'pod', pod, `-ojsonpath={${path}}`),
    async remove(...pods) {
      await kubectl('delete', 'pods', ...pods, PATIENCE);
    },
    apply,
    prepareNamespace: (name) => apply(...namespaceObjects(name, readFileSync(authority.caFile, 'utf8'))),
    pause: () => end(daemon, 'SIGKILL'), // SIGTERM would wait for its watchers
    async resume() {
      daemon = await api.start();
    },
    async stop() {
      await end(daemon, 'SIGKILL');
      await end(etcd, 'SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The manifest of a pod that is bound to a node. */
export function podOn(nodeName: string, name: string, spec: object): object {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec: { nodeName, ...spec } };
}

/** The service account of pods, and the CA certificate that is projected beside its token. */
function namespaceObjects(name: string, ca: string): readonly object[] {
  const metadata = (of: string) => ({ name: of, namespace: name });
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadata('default') },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata('kube-root-ca.crt'), data: { 'ca.crt': ca } },
  ];
}

function writeKubeconfig(url: string, { caFile, issue }: CertificateAuthority, subject: Subject): string {
  const { certFile, keyFile } = issue(subject);
  const path = certFile.replace(/\.crt$/, '.kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority': caFile } }],
    users: [{ name: subject.user, user: { 'client-certificate': certFile, 'client-key': keyFile } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: subject.user } }],
    'current-context': 'test',
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

/** These programs cannot take a port from the kernel: a chosen port may have been taken meanwhile. */
async function onFreePorts(start: (ports: { first: number; second: number }) => Promise<Server>): Promise<Server> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start({ first: await freePort(), second: await freePort() });
    } catch (error) {
      if (attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

async function startEtcd(folder: string, { first, second }: { first: number; second: number }): Promise<Server> {
  const [url, peers] = [`http://127.0.0.1:${first}`, `http://127.0.0.1:${second}`];
  const args = [
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=default=${peers}`,
    '--unsafe-no-fsync', // no data has to survive this machine
  ];
  const start = (): Promise<ChildProcess> =>
    startTool('etcd', args, folder, async () => (await fetch(`${url}/readyz`)).ok);
  return { url, start, daemon: await start() };
}

interface ApiServerParts {
  readonly folder: string;
  readonly authority: CertificateAuthority;
  readonly etcdUrl: string;
  readonly flags: readonly string[];
}

async function startApiServer(parts: ApiServerParts, { first: port }: { first: number }): Promise<Server> {
  const { folder, authority } = parts;
  const url = `https://127.0.0.1:${port}`;
  const { certFile, keyFile } = authority.issue(ADMIN);
  const client = { ca: readFileSync(authority.caFile), cert: readFileSync(certFile), key: readFileSync(keyFile) };
  const isReady = (): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const request = get(`${url}/readyz`, { ...client, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      });
      request.once('error', reject);
    });
  const start = (): Promise<ChildProcess> => startTool('kube-apiserver', apiServerFlags(parts, port), folder, isReady);
  return { url, start, daemon: await start() };
}

function apiServerFlags({ folder, authority, etcdUrl, flags }: ApiServerParts, port: number): readonly string[] {
  const server = authority.issue({ user: 'kube-apiserver', addresses: ['127.0.0.1', 'localhost', '10.96.0.1'] });
  const toKubelets = authority.issue({ user: 'kube-apiserver-kubelet-client', groups: ['system:masters'] });
  return [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none', // it would reject a loopback address
    `--secure-port=${port}`,
    `--tls-cert-file=${server.certFile}`,
    `--tls-private-key-file=${server.keyFile}`,
    `--client-ca-file=${authority.caFile}`,
    `--kubelet-certificate-authority=${authority.caFile}`,
    `--kubelet-client-certificate=${toKubelets.certFile}`,
    `--kubelet-client-key=${toKubelets.keyFile}`,
    '--kubelet-preferred-address-types=InternalIP', // node names are not in DNS
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged',
    '--service-cluster-ip-range=10.96.0.0/24',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(folder, 'pki/service-accounts.pub')}`,
    `--service-account-signing-key-file=${join(folder, 'pki/service-accounts.key')}`,
    ...flags,
  ];
}

function startTool(
  name: 'etcd' | 'kube-apiserver',
  args: readonly string[],
  folder: string,
  isReady: () => Promise<boolean>,
): Promise<ChildProcess> {
  const logPath = join(folder, `${name}.log`);
  return started(launch([clusterTool(name), ...args], logPath), isReady, logPath);
}
