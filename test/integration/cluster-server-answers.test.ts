/** Responses of a node's server compared with those of kubelet. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type ClientRequest, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { skipReason as containerdSkipReason, startContainerd, type TestContainerd } from './containerd-fixture.ts';
import { type GoKubelet, goKubeletSkipReason, startGoKubelet } from './go-kubelet.ts';
import { NODELET_KUBELET, nodeletNodeSkipReason } from './nodelet-node.ts';
import { startPlaneAndRuntime } from './test-cluster.ts';
import { until } from './until.ts';

const NODE = 'box';
const STATIC = `static-${NODE}`;
const STATIC_UID = '5ce2a4f1-0b4e-4f4e-9d5b-1f1a3c7e9b22';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'];

/** Requested with every method, as an administrator. */
const PATHS = [
  '/healthz',
  '/healthz/',
  '/healthz?exclude=nope&exclude=a&verbose',
  '/healthz?verbose=1&exclude=log',
  '/healthz/ping',
  '/healthz/ping/',
  '/healthz/log?verbose',
  '/healthz/syncloop',
  '/healthz/device-plugin',
  '/healthz/other',
  '/configz',
  '/configz/',
  '/pods',
  '/pods/',
  '/pods/x',
  '//pods',
  '/pods/../healthz?verbose=1',
  '/PODS',
  '/runningpods',
  '/runningpods/',
  '/metrics',
  '/metrics/',
  '/metrics/cadvisor',
  '/metrics/cadvisor/',
  '/metrics/resource',
  '/metrics/resource/',
  '/stats',
  '/stats/',
  '/stats/container',
  '/stats/summary',
  '/stats/summary/x',
  '/stats/summary?only_cpu_and_memory=%zz',
  '/stats/summary?a;b',
  '/',
  '/nothing',
  '/exec',
  '/attach/default',
  '/exec/default/talk/main',
  '/exec/default/talk/main?output=1',
  '/exec/default/none/main?output=1',
  '/portForward/default/talk',
  '/portForward/default/talk/wrong',
  '/containerLogs',
  '/containerLogs/default/talk',
  '/containerLogs/default/talk/main',
  '/containerLogs/default/talk/ma%69n/',
  '/containerLogs/default/talk/none',
  '/containerLogs/default/none/main',
  '/containerLogs/default/talk/main?tailLines=x',
  '/containerLogs/default/talk/main?limitBytes=0',
  '/containerLogs/default/talk/main?previous=true',
];

/** Requested without credentials, with an invalid token, and with the certificate of a user without permissions. */
const GUARDED = [
  '/pods',
  '/healthz',
  '/metrics',
  '/metrics/cadvisor',
  '/metrics/resource',
  '/stats/summary',
  '/configz',
  '/runningpods/',
  '/exec/default/talk/main?output=1',
];
const OPEN = ['/', '/nothing', '/healthz/other', '/runningpods', '//pods'];

/** Requested with an upgrade to SPDY. */
const STREAMS = [
  '/exec/default/talk/main?command=true&output=1',
  '/exec/default/talk/wrong/main?command=true&output=1',
  '/exec/default/talk/none?output=1',
  '/exec/default/talk/main',
  '/exec/default/talk/main?output=1&tty=1&error=1&command=true',
  '/attach/default/talk/main?output=1',
  '/attach/default/talk/wrong/main?output=1',
  '/attach/default/talk/none?output=1',
  `/exec/default/${STATIC}/MIRROR/main?command=true&output=1`,
  `/attach/default/${STATIC}/MIRROR/main?output=1`,
  `/attach/default/${STATIC}/${STATIC_UID}/main?output=1`,
  `/portForward/default/${STATIC}/MIRROR`,
  `/portForward/default/${STATIC}/${STATIC_UID}`,
  '/portForward/default/none',
];
const SPDY = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' };

/** Requested with every method on `healthzPort`, without TLS. */
const HEALTHZ = [
  '/healthz',
  '/healthz/',
  '/healthz?verbose',
  '/healthz?verbose=1&exclude=ping',
  '/healthz?exclude=log&exclude=nope&verbose',
  '/healthz/ping',
  '/healthz/ping/',
  '/healthz/ping?verbose',
  '/healthz/log',
  '/healthz/syncloop',
  '//healthz?verbose=1',
  '/x/../healthz/ping',
  '/HEALTHZ',
  '/livez',
  '/metrics',
  '/pods',
  '/runningpods',
  '/',
];

/** Bodies that are compared elsewhere or change over time. */
const OWN_BODY = /^(\w+ \/(pods\/?|runningpods\/|metrics(\/(cadvisor|resource))?)|(GET|POST) \/stats\/summary)$/;
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
  'content-type',
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
    const plan = { ...runtime, plane, nodeName: NODE, config: { staticPodPath: manifests } };
    agent = await startGoKubelet(plan);
    await startPods(plane, manifests);
    const theirs = await answersOf(plane, agent.folder);
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
  for (const path of PATHS) for (const method of METHODS) answers[`${method} ${path}`] = await ask(method, path, admin);
  for (const [who, { tls, headers }] of Object.entries(strangers))
    for (const path of [...GUARDED, ...OPEN])
      for (const method of ['GET', 'POST']) answers[`${method} ${path} ${who}`] = await ask(method, path, tls, headers);
  for (const path of STREAMS)
    for (const method of ['GET', 'POST'])
      answers[`${method} ${path} SPDY`] = await ask(method, path.replace('MIRROR', mirror), admin, SPDY);
  for (const path of STATS) answers[`keys of ${path}`] = { keys: await until(() => statsKeys(plane, folder, path)) };
  return { ...answers, ...(await healthzAnswers(folder)) };
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
  return (method, path, tls = {}, headers = {}) => {
    const asked = request({ host: address, port, method, path, ca, agent: false, headers, ...tls });
    return answerOf(asked, OWN_BODY.test(`${method} ${path}`));
  };
}

function configurationOf(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'kubelet.json'), 'utf8'));
}

function answerOf(asked: ClientRequest, isOwn = false): Promise<object> {
  return new Promise((resolve, reject) => {
    asked.once('response', (response) => {
      text(response).then((body) => resolve(shown(response, isOwn ? 'its own' : body)), reject);
    });
    asked.once('upgrade', (response, socket) => {
      socket.destroy();
      resolve(shown(response, ''));
    });
    asked.once('error', reject).end();
  });
}

function shown({ statusCode, headers }: IncomingMessage, body: string): object {
  const shown = HEADERS.map((name) => [name, headers[name]]);
  return { status: statusCode, ...Object.fromEntries(shown), body: withoutPorts(body) };
}

/** Each of the two agents has its own port. */
function withoutPorts(body: string): unknown {
  if (!body.startsWith('{"kubeletconfig":')) return body;
  const { port: _, healthzPort: __, ...configuration } = JSON.parse(body).kubeletconfig;
  return configuration;
}

function certificateOf({ authority }: ControlPlane, user: string, groups: readonly string[] = []) {
  const { certFile, keyFile } = authority.issue({ user, groups });
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
}
