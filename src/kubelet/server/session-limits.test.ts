/** The number of streaming sessions of a pod and of a user, and every way in which a session ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { CriError } from '../../cri/cri-error.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { eventLoopTurn } from '../../host/linux/process/event-loop-turn.ts';
import type { ByteStream, UpgradedConnection } from '../../host/network.ts';
import {
  observedOf,
  READY,
  reportOf,
  runningContainer,
  ScriptedView,
  staticPod,
} from '../local-api/fake/scripted-view.ts';
import { ScriptedStats } from '../stats/fake/scripted-stats.ts';
import { ALL_HANDLERS, debugDepsOf } from './debug-deps.fixture.ts';
import { createKubeletApi, type KubeletApiDeps } from './kubelet-api.ts';
import { emptyMetrics } from './served-metrics.fixture.ts';

const never = new AbortController().signal;
const IDENTITY = { certificate: 'NODE', key: 'KEY' };

async function setUp(limits: Pick<KubeletApiDeps, 'sessionsPerPod' | 'sessionsPerUser'>) {
  const host = createMemoryHost();
  const { fs, network, clock } = host;
  const view = new ScriptedView();
  for (const name of ['a', 'b']) view.show(podNamed(name));
  const served: ByteStream[] = [];
  const runtime = { path: '/cri/token', error: undefined as Error | undefined };
  const streaming = await network.serveUpgrades(({ path }) => {
    if (path !== '/cri/token') return { kind: 'refuse', status: 404, message: 'no such token' };
    return {
      kind: 'stream',
      async serve(stream) {
        served.push(stream);
        for await (const chunk of stream.chunks) await stream.write(chunk);
        stream.end();
      },
    };
  });
  const give = async () => {
    if (runtime.error) throw runtime.error;
    return { url: `http://127.0.0.1:${streaming.port}${runtime.path}` };
  };
  const api = createKubeletApi({
    ...{ view, fs, network, clock, log: silentLog, ...limits },
    metrics: emptyMetrics(),
    runtime: { exec: give, attach: give, portForward: give },
    stats: new ScriptedStats(),
    debug: debugDepsOf({ host, view }),
    authenticate: async ({ headers }) => ({ name: headers['x-user'] ?? 'jane', groups: [] }),
    authorize: async () => ({ kind: 'allowed' }),
    ...{ splitStreams: true, tunnels: true, translatesStreams: true, debugging: ALL_HANDLERS },
    ...{ checks: new Map(), configuration: {} },
  });
  const server = await network.serveTls({ host: '127.0.0.1', port: 10250 }, { identity: IDENTITY }, api);
  const target = { host: '127.0.0.1', port: server.port };
  const tls = { authorities: [IDENTITY.certificate] };
  const open = (pod = 'a', user = 'jane', signal = never): Promise<UpgradedConnection> => {
    const path = `/exec/default/${pod}-box/web?command=cat&output=1&input=1`;
    const headers = [['X-User', user] as const];
    return network.upgrade(
      { target, scheme: 'https', tls, method: 'POST', path, upgrade: 'SPDY/3.1', headers },
      signal,
    );
  };
  const plain = async (pod: string) => {
    const path = `/exec/default/${pod}-box/web?command=cat&output=1`;
    const { status } = await network.request({ target, scheme: 'https', tls, method: 'POST', path }, never);
    return status;
  };
  return { open, plain, runtime, served, clock };
}

function podNamed(name: string) {
  const pod = staticPod(name);
  return reportOf(pod, { status: READY, observed: observedOf(pod, [runningContainer(`c-${name}`, 'web', '/log')]) });
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await eventLoopTurn();
}

const OVER: Record<string, { pod: string; user: string; status: number | undefined; body?: RegExp }> = {
  'the same pod': {
    pod: 'a',
    user: 'joe',
    status: 429,
    body: /response 429: .* streaming sessions of pod default\/a-box exceeded: 1$/,
  },
  'the same user': {
    pod: 'b',
    user: 'jane',
    status: 429,
    body: /response 429: .* streaming sessions of user jane exceeded: 1$/,
  },
  'another pod and user': { pod: 'b', user: 'joe', status: undefined },
};

for (const [what, { pod, user, status, body }] of Object.entries(OVER)) {
  test(`one session more of ${what} is ${status === undefined ? 'opened' : `answered with ${status}`}`, async () => {
    const { open } = await setUp({ sessionsPerPod: 1, sessionsPerUser: 1 });
    await open('a', 'jane');
    if (status === undefined) await open(pod, user);
    else await assert.rejects(open(pod, user), { code: 'EPROTO', message: body });
  });
}

test('by default a pod may have 128 sessions', async () => {
  const { open } = await setUp({});
  for (let count = 0; count < 128; count++) await open();
  await assert.rejects(open(), { message: /response 429: .* of pod default\/a-box exceeded: 128$/ });
});

type Scene = Awaited<ReturnType<typeof setUp>>;

const ENDS: Record<string, (scene: Scene) => Promise<unknown>> = {
  'the client disconnects': async ({ open }) => (await open()).stream.close(),
  'the client ends its input and the runtime its output': async ({ open }) => (await open()).stream.end(),
  'the client is gone without a word': async ({ open }) => {
    const gone = new AbortController();
    await open('a', 'jane', gone.signal);
    gone.abort(new Error('gone'));
  },
  'the runtime disconnects and the client stays': async ({ open, served, clock }) => {
    await open();
    served[0]?.close();
    await clock.advance(10_000);
  },
  'the runtime refuses the upgrade': async ({ open, runtime }) => {
    runtime.path = '/other';
    await assert.rejects(open());
    runtime.path = '/cri/token';
  },
  'the runtime gives no address': async ({ open, runtime }) => {
    runtime.error = new CriError('Unknown', 'broken');
    await assert.rejects(open());
    runtime.error = undefined;
  },
  'the pod does not exist': async ({ open }) => assert.rejects(open('none')),
  'no upgrade is requested': async ({ plain }) => assert.equal(await plain('a'), 500),
};

for (const [what, end] of Object.entries(ENDS)) {
  test(`a session is released when ${what}`, async () => {
    const scene = await setUp({ sessionsPerPod: 1, sessionsPerUser: 1 });
    await end(scene);
    await settled();
    await scene.open();
  });
}
