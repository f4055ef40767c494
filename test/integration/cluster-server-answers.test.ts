/** Responses of a node's server compared with those of kubelet. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type ClientRequest, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { skipReason as containerdSkipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { freePort } from './free-port.ts';
import { type GoKubelet, goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { NODELET_KUBELET, nodeletNodeSkipReason } from './nodelet-node.ts';
import {
  ACCEPTS,
  CONDITIONS,
  DEBUG_PATHS,
  GUARDED,
  HEALTHZ,
  LOG_FOLDER,
  OPEN,
  PAGES,
  PATHS,
  READ_ONLY_DEBUG_PATHS,
  SPDY,
  STATIC,
  STATIC_UID,
  STREAMS,
  VERBOSITIES,
} from './server-requests.ts';
import { startPlaneAndRuntime } from './test-cluster.ts';
import { until } from './until.ts';

const NODE = 'box';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'];

/** Bodies that are compared elsewhere or change over time. */
const OWN_BODY =
  /^(\w+ \/(pods\/?|runningpods\/|metrics(\/(cadvisor|probes|resource|slis))?)|(GET|POST) \/stats\/summary|GET \/debug\/pprof\/(profile\?seconds=1|heap(\?debug=1)?|cmdline|symbol)|GET \/logs\/)$/;
/** Whose keys and series are compared. */
const STATS = ['/stats/summary', '/stats/summary?only_cpu_and_memory=true', '/metrics/resource'];
/** Keys of statistics that may differ, and why. */
const ALLOWED_STATS = [
  // kubelet shows zeros on cgroup v1, which has no pressure
  /\.(psi|io)\b/,
  // needs two readings, which either agent may not have yet
  /\.usageNanoCores$/,
  // kubelet's cAdvisor does not find the containers of a containerd that is not the machine's
  /^\.pods\[[^\]]*\]\.(network|process_stats)/,
  // without a limit containerd reports zero, which kubelet takes over without cAdvisor
  /\.containers\[[^\]]*\]\.(memory\.availableBytes|swap\.swapAvailableBytes)$/,
  /container_swap_limit_bytes/,
  // kubelet looks its own cgroup up after five minutes
  /^\.node\.systemContainers\[kubelet\]/,
  // measured once in a minute
  /^\.pods\[[^\]]*\]\.volume/,
  // the bridges of other tests
  /\.interfaces\[/,
];
const HEADERS = [
  'accept-ranges',
  'content-disposition',
  'content-range',
  'content-type',
  'last-modified',
  'warning',
  'x-go-pprof',
  'x-content-type-options',
  'allow',
  'location',
  'upgrade',
  'x-stream-protocol-version',
  'x-accepted-stream-protocol-versions',
];

type Ask = (method: string, path: string, options?: object, headers?: OutgoingHttpHeaders) => Promise<object>;

suite('the port of a node beside that of kubelet', { skip: skip() }, () => {
  let plane: ControlPlane;
  let runtime: TestContainerd;
  let agent: GoKubelet | undefined;
  before(async () => {
    [plane, runtime] = await startPlaneAndRuntime(startContainerd);
  });
  after(async () => {
    await agent?.stop();
    await runtime?.stop();
    await plane?.stop();
  });

  test('every response has the same status, headers and text', async () => {
    const manifests = join(plane.folder, 'manifests');
    mkdirSync(manifests);
    using _files = writeLogFiles();
    const config = { staticPodPath: manifests, enableSystemLogQuery: true, readOnlyPort: await freePort() };
    const plan = { ...runtime, plane, nodeName: NODE, config };
    agent = await startGoKubelet(plan);
    await startPods(plane, manifests);
    const theirs = await answersOf(plane, agent.folder);
    assert.match(startBeside(agent.folder), /--root-dir: \S+ is in use by kubelet with pid \d+: stop it first\n$/);
    await agent.kill();
    agent = await startGoKubelet({ ...plan, command: NODELET_KUBELET });
    const ours = await answersOf(plane, agent.folder);
    const differing = Object.keys(theirs).filter((asked) => !isDeepStrictEqual(ours[asked], theirs[asked]));
    const only = (all: Record<string, object>) => differing.map((asked) => [asked, all[asked]]);
    assert.deepEqual(only(ours), only(theirs));
  });
});

function skip(): string | false {
  return goKubeletSkipReason() || containerdSkipReason() || nodeletNodeSkipReason();
}

/** What Nodelet says when it is started while kubelet runs on the same root directory. */
function startBeside(folder: string): string {
  const [program, command] = NODELET_KUBELET;
  const { status, stderr } = spawnSync(program, [command, `--root-dir=${join(folder, 'root')}`], { encoding: 'utf8' });
  assert.equal(status, 1, stderr);
  return stderr;
}

async function startPods(plane: ControlPlane, manifests: string): Promise<void> {
  const command = ['sh', '-c', 'echo hello; sleep 1000'];
  const containers = [{ name: 'main', image: BUSYBOX_IMAGE, command }];
  const spec = { dnsPolicy: 'Default', terminationGracePeriodSeconds: 0, containers };
  const metadata = { name: 'static', namespace: 'default', uid: STATIC_UID };
  writeFileSync(join(manifests, 'static.json'), JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec }));
  await plane.apply(podOn(NODE, 'talk', spec));
  for (const pod of ['talk', STATIC]) await plane.wait(pod, 'create', 'condition=Ready');
}

/** Responses by request. */
async function answersOf(plane: ControlPlane, folder: string): Promise<Record<string, object>> {
  for (const pod of ['talk', STATIC]) await until(() => plane.kubectl('logs', pod)); // the agent may not know the pod yet
  const ask = asking(plane, folder);
  const admin = certificateOf(plane, 'admin', ['system:masters']);
  const strangers: Record<string, { readonly tls?: object; readonly headers?: OutgoingHttpHeaders }> = {
    anonymous: {},
    token: { headers: { authorization: 'Bearer x' } },
    mallory: { tls: certificateOf(plane, 'mallory') },
  };
  const mirror = await plane.field(STATIC, '.metadata.uid');
  const answers: Record<string, object> = {};
  for (const path of [...PATHS, ...DEBUG_PATHS])
    for (const method of METHODS) answers[`${method} ${path}`] = await ask(method, path, admin);
  for (const [who, { tls, headers }] of Object.entries(strangers))
    for (const path of [...GUARDED, ...OPEN])
      for (const method of ['GET', 'POST']) answers[`${method} ${path} ${who}`] = await ask(method, path, tls, headers);
  for (const path of STREAMS)
    for (const method of ['GET', 'POST'])
      answers[`${method} ${path} SPDY`] = await ask(method, path.replace('MIRROR', mirror), admin, SPDY);
  for (const path of STATS) answers[`keys of ${path}`] = { keys: await until(() => statsKeys(plane, folder, path)) };
  for (const accept of ACCEPTS)
    for (const path of PAGES) answers[`${path} accept ${accept}`] = await ask('GET', path, admin, { accept });
  for (const headers of CONDITIONS) {
    answers[`file ${JSON.stringify(headers)}`] = await ask('GET', '/logs/LOGS/one.log', admin, headers);
  }
  for (const body of VERBOSITIES) {
    answers[`verbosity ${body}`] = await ask('PUT', '/debug/flags/v', { ...admin, body });
  }
  return { ...answers, ...(await readOnlyAnswers(folder)), ...(await healthzAnswers(folder)) };
}

/** The keys of the statistics of both pods, or their series; `undefined` while the agent does not have both pods. */
async function statsKeys(plane: ControlPlane, folder: string, path: string): Promise<readonly string[] | undefined> {
  const { address, port } = configurationOf(folder);
  const tls = { ca: readFileSync(plane.authority.caFile), ...certificateOf(plane, 'admin', ['system:masters']) };
  const body = await new Promise<string>((resolve, reject) => {
    const asked = request({ host: address, port, path, agent: false, ...tls });
    asked.once('response', (response) => text(response).then(resolve, reject));
    asked.once('error', reject).end();
  });
  const keys = path.startsWith('/stats') ? keysOf(JSON.parse(body)) : seriesOf(body);
  const hasBoth = ['talk', STATIC].every((pod) => keys.some((key) => key.includes(pod)));
  return hasBoth ? keys.filter((key) => !ALLOWED_STATS.some((allowed) => allowed.test(key))).toSorted() : undefined;
}

/** `.pods[talk].cpu.time`: list members by their names. */
function keysOf(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [path];
  if (Array.isArray(value)) return value.flatMap((each) => keysOf(each, `${path}[${each.name ?? each.podRef?.name}]`));
  return Object.entries(value).flatMap(([key, each]) => keysOf(each, `${path}.${key}`));
}

/** Lines without values and times. */
function seriesOf(body: string): readonly string[] {
  return body.split('\n').map((line) => (line.startsWith('#') ? line : line.replace(/ .*/, '')));
}

async function healthzAnswers(folder: string): Promise<Record<string, object>> {
  const port = configurationOf(folder).healthzPort;
  const answers: Record<string, object> = {};
  for (const path of HEALTHZ)
    for (const method of METHODS)
      answers[`${method} ${path} healthzPort`] = await answerOf(
        httpRequest({ host: '127.0.0.1', port, method, path, agent: false }),
      );
  return answers;
}

function asking(plane: ControlPlane, folder: string): Ask {
  const { address, port } = configurationOf(folder);
  const ca = readFileSync(plane.authority.caFile);
  return (method, path, { body, ...tls }: { readonly body?: string } = {}, headers = {}) => {
    const asked = request({ host: address, port, method, path: logPath(path), ca, agent: false, headers, ...tls });
    return answerOf(asked, { isOwn: OWN_BODY.test(`${method} ${path}`), body });
  };
}

async function readOnlyAnswers(folder: string): Promise<Record<string, object>> {
  const { address, readOnlyPort } = configurationOf(folder);
  const answers: Record<string, object> = {};
  for (const path of [...PATHS, ...READ_ONLY_DEBUG_PATHS])
    for (const method of ['GET', 'HEAD', 'POST']) {
      const asked = httpRequest({ host: address, port: readOnlyPort, method, path: logPath(path), agent: false });
      const isOwn = OWN_BODY.test(`${method} ${path}`);
      answers[`${method} ${path} readOnlyPort`] = await answerOf(asked, { isOwn });
    }
  return answers;
}

function logPath(path: string): string {
  return path.replaceAll('LOGS', LOG_FOLDER);
}

/** Files and links in the log folder of this machine, until they are disposed of. */
function writeLogFiles(): Disposable {
  const folder = join('/var/log', LOG_FOLDER);
  rmSync(folder, { recursive: true, force: true }); // of a test that was killed
  for (const name of ['below', 'index']) mkdirSync(join(folder, name), { recursive: true });
  const files: Readonly<Record<string, string | Uint8Array>> = {
    'one.log': 'one\n',
    empty: '',
    binary: Uint8Array.of(0, 1, 2, 255),
    'page.html': '<b>x',
    'image.png': 'x',
    'data.json': '{}',
    'a b&c.txt': 'q',
    'LOGS.log': 'the log of a service',
    'below/inner.gz': 'zz',
    'index/index.html': '<html>hi',
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  symlinkSync('one.log', join(folder, 'inside'));
  symlinkSync('nowhere', join(folder, 'dangling'));
  return { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

function configurationOf(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'kubelet.json'), 'utf8'));
}

function answerOf(
  asked: ClientRequest,
  { isOwn = false, body = '' }: { readonly isOwn?: boolean; readonly body?: string | undefined } = {},
): Promise<object> {
  return new Promise((resolve, reject) => {
    asked.once('response', (response) => {
      const answer = text(response).then((all) => ({ ...shown(response, all), ...(isOwn && OWN) }));
      answer.then(resolve, reject);
    });
    asked.once('upgrade', (response, socket) => {
      socket.destroy();
      resolve(shown(response, ''));
    });
    asked.once('error', reject).end(body);
  });
}

/** In the place of what is compared elsewhere. */
const OWN = { body: 'its own', 'last-modified': 'its own' };

function shown({ statusCode, headers }: IncomingMessage, body: string): object {
  const shown = HEADERS.map((name) => [name, headers[name]]);
  return { status: statusCode, ...Object.fromEntries(shown), body: withoutPorts(comparable(body)) };
}

/** Without ids, times and versions of programs; kubelet draws the separator of its pages. */
function comparable(body: string): string {
  if (/^\nkubelet (flagz|statusz)\n/.test(body)) {
    return body
      .split('\n')
      .filter((line) => !/^(Started|Up|Go version)\b/.test(line))
      .map((line) => line.replace(/^([\w-]+(?: version)?)(?:: |:|=| )\s*/, '$1 '))
      .join('\n');
  }
  return body
    .replace(/\b[0-9a-f]{64}\b/g, 'ID')
    .replace(/("?startTime"?: ?)"[^"]*"/, '$1"TIME"')
    .replace(/("?uptimeSeconds"?: ?)\d+/, '$1 0')
    .replace(/("?goVersion"?: ?)"?[\w.]+"?/, '$1VERSION');
}

/** Each of the two agents has its own port. */
function withoutPorts(body: string): unknown {
  if (!body.startsWith('{"kubeletconfig":')) return body;
  const { port: _, healthzPort: __, readOnlyPort: ___, ...configuration } = JSON.parse(body).kubeletconfig;
  return configuration;
}

function certificateOf({ authority }: ControlPlane, user: string, groups: readonly string[] = []) {
  const { certFile, keyFile } = authority.issue({ user, groups });
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
}
