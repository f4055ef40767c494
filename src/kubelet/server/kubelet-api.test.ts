/** What the server of a node answers, in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { silentLog } from '../../base/log.ts';
import { counter, gauge } from '../../base/metrics/declaration.ts';
import { CriError } from '../../cri/cri-error.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { IncomingUpgrade } from '../../host/network.ts';
import {
  exitedContainer,
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
import { streamAddress } from './stream-address.ts';

const never = new AbortController().signal;
const LOG = '/var/log/web.log';
const IDENTITY = { certificate: 'NODE', key: 'KEY' };
const LINE = '2026-01-01T00:00:00.5Z stdout F one\n2026-01-01T00:00:01Z stderr F two\n';

async function setUp(more: Partial<KubeletApiDeps> = {}) {
  const host = createMemoryHost();
  const { fs, network, clock } = host;
  const view = new ScriptedView();
  const calls: unknown[] = [];
  const offers: IncomingUpgrade[] = [];
  /** The runtime has seen the end of a client. */
  const left = Promise.withResolvers<void>();
  const streaming = await network.serveUpgrades((offer) => {
    offers.push(offer);
    if (offer.path !== '/cri/token') return { kind: 'refuse', status: 404, message: 'no such token' };
    const headers = [['X-Stream-Protocol-Version', offer.protocols[0] ?? '']] as const;
    return {
      kind: 'stream',
      headers,
      async serve(stream) {
        for await (const chunk of stream.chunks) await stream.write(chunk);
        stream.end();
        left.resolve();
      },
    };
  });
  const url = `http://127.0.0.1:${streaming.port}/cri/token`;
  const give = async (request: unknown) => {
    calls.push(request);
    return { url };
  };
  const api = createKubeletApi({
    ...{ view, fs, network, clock, log: silentLog, metrics: emptyMetrics() },
    runtime: { exec: give, attach: give, portForward: give },
    stats: new ScriptedStats(),
    authenticate: async () => ({ name: 'jane', groups: [] }),
    authorize: async () => ({ kind: 'allowed' }),
    splitStreams: true,
    tunnels: true,
    translatesStreams: false,
    debugging: ALL_HANDLERS,
    debug: debugDepsOf({ host, view }),
    checks: new Map([['ping', () => undefined]]),
    configuration: { maxPods: 110 },
    ...more,
  });
  const server = await network.serveTls({ host: '127.0.0.1', port: 10250 }, { identity: IDENTITY }, api);
  const target = { host: '127.0.0.1', port: server.port };
  const tls = { authorities: [IDENTITY.certificate] };
  const get = async (
    path: string,
    method: 'GET' | 'POST' | 'DELETE' = 'GET',
    asked: readonly (readonly [string, string])[] = [],
  ) => {
    const { status, body, headers } = await network.request(
      { target, scheme: 'https', tls, method, path, headers: asked },
      never,
    );
    const bytes = Buffer.concat(await Array.fromAsync(body));
    return { status, bytes, body: bytes.toString(), headers };
  };
  const upgrade = (path: string, signal = never) =>
    network.upgrade(
      {
        ...{ target, scheme: 'https', tls, method: 'POST', path, upgrade: 'SPDY/3.1' },
        headers: [
          ['X-Stream-Protocol-Version', 'v4.channel.k8s.io'],
          ['Authorization', 'Bearer secret'],
        ],
      },
      signal,
    );
  await fs.makeDirectory('/var/log');
  await fs.writeFile(LOG, LINE);
  return { ...host, view, calls, offers, left: left.promise, get, upgrade };
}

/** `hello-box` with a container `web` that runs and has ended once. */
function running() {
  const pod = staticPod();
  const containers = [runningContainer('c1', 'web', LOG), exitedContainer('c0', 'web', '/var/log/gone.log')];
  const sandbox = { id: 's1', attempt: 0, ready: true, createdAt: 1n, hostNetwork: false, ips: [], runtimeHandler: '' };
  const lastState = { terminated: { exitCode: 1, containerID: 'fake://c0' } };
  const state = { state: { running: {} }, containerID: 'fake://c1', lastState };
  const status = { name: 'web', image: '', imageID: '', ready: true, restartCount: 1, ...state };
  return reportOf(pod, {
    status: { ...READY, containerStatuses: [status] },
    observed: { ...observedOf(pod, containers), sandboxes: [sandbox] },
  });
}

test('an unknown client, or may not, gets nothing', async () => {
  const stranger = await setUp({ authenticate: async () => undefined });
  const { status, body } = await stranger.get('/pods');
  assert.deepEqual([status, body], [401, 'Unauthorized']);
  const unsure = await setUp({ authenticate: async () => Promise.reject(new Error('away')) });
  assert.equal((await unsure.get('/pods')).status, 401);
  const refused = await (await setUp({ authorize: async () => ({ kind: 'refused' }) })).get('/pods');
  const who = 'user=jane, verb=get, resource=nodes';
  assert.deepEqual([refused.status, refused.body], [403, `Forbidden (${who}, subresource(s)=[pods proxy])\n`]);
  const failing = await setUp({ authorize: async () => ({ kind: 'failed', subresource: 'pods', error: 'away' }) });
  const failed = await failing.get('/pods');
  assert.deepEqual([failed.status, failed.body], [500, `Authorization error (${who}, subresource=pods)`]);
});

test('/pods has each pod with its status; /runningpods the observed pods', async () => {
  const { view, get } = await setUp();
  view.show(running());
  view.show(reportOf(staticPod('later')));
  const pods = JSON.parse((await get('/pods')).body);
  assert.deepEqual([pods.kind, pods.apiVersion], ['PodList', 'v1']);
  const shown = pods.items.map(({ metadata, status }: ReturnType<typeof reportOf>['pod']) => [
    metadata.name,
    status?.phase,
  ]);
  assert.deepEqual(shown, [
    ['hello-box', 'Running'],
    ['later-box', 'Pending'],
  ]);
  // Kubernetes writes these out whether or not there are any.
  assert.deepEqual(pods.items[0].spec.containers[0].resources, {});
  assert.deepEqual(
    new Set(pods.items[0].status.conditions.map((each: object) => 'lastProbeTime' in each)),
    new Set([true]),
  );
  const { items } = JSON.parse((await get('/runningpods/')).body);
  assert.deepEqual(items, [
    {
      metadata: { name: 'hello-box', namespace: 'default', uid: 'default-hello' },
      spec: { containers: [{ name: 'web', image: 'sha256:1', resources: {} }] },
      status: {},
    },
  ]);
});

test('unknown paths and redirects are answered without authentication', async () => {
  const { get } = await setUp({ authenticate: async () => undefined });
  const answers = await Promise.all(
    ['/nothing', '/healthz/other', '/runningpods?a=1&b=2', '//pods', '/%zz'].map(async (path) => {
      const { status, headers, body } = await get(path);
      return [status, headers['location'] ?? headers['x-content-type-options'], body];
    }),
  );
  assert.deepEqual(answers, [
    [404, 'nosniff', '404 page not found\n'],
    [404, 'nosniff', '404 page not found\n'],
    [307, '/runningpods/?a=1&b=2', '<a href="/runningpods/?a=1&amp;b=2">Temporary Redirect</a>.\n\n'],
    [307, '/pods', '<a href="/pods">Temporary Redirect</a>.\n\n'],
    [400, undefined, '400 Bad Request'],
  ]);
  assert.deepEqual((await get('/runningpods', 'POST')).body, '');
});

test('an unknown method gets the allowed ones', async () => {
  const { get } = await setUp();
  const { status, headers, body } = await get('/pods', 'POST');
  assert.deepEqual([status, headers['allow'], body], [405, 'GET', '405: Method Not Allowed']);
  assert.equal((await get('/healthz', 'POST')).body, 'ok');
});

test('/healthz lists the checks with ?verbose, without the reasons of failures', async () => {
  const { get } = await setUp({
    checks: new Map<string, () => string | undefined>([
      ['ping', () => undefined],
      ['syncloop', () => 'sync Loop took longer than expected'],
    ]),
  });
  const { status, body } = await get('/healthz');
  assert.deepEqual([status, body], [500, '[+]ping ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n']);
  assert.equal((await get('/healthz?exclude=syncloop')).body, 'ok');
  assert.equal((await get('/healthz/ping')).body, 'ok');
  const one = await get('/healthz/syncloop');
  const why = 'internal server error: sync Loop took longer than expected\n';
  assert.deepEqual([one.status, one.body], [500, why]);
  const healthy = await setUp();
  assert.equal((await healthy.get('/healthz')).body, 'ok');
  assert.equal((await healthy.get('/healthz?verbose')).body, '[+]ping ok\nhealthz check passed\n');
  const unknown = 'warn: some health checks cannot be excluded: no matches for "a","b"';
  const { body: warned } = await healthy.get('/healthz?verbose&exclude=b&exclude=a');
  assert.equal(warned, `[+]ping ok\n${unknown}\nhealthz check passed\n`);
});

test('/configz shows the configuration', async () => {
  const { get } = await setUp();
  assert.deepEqual(JSON.parse((await get('/configz')).body), { kubeletconfig: { maxPods: 110 } });
});

test('/metrics, /metrics/probes and /metrics/slis show their registries, compressed when asked', async () => {
  const metrics = emptyMetrics();
  metrics.main.gauge(gauge('process_start_time_seconds', 'Start.')).set(1003.5);
  const { get } = await setUp({ metrics });
  const { body, headers } = await get('/metrics');
  assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores');
  assert.equal(headers['process-start-time-unix'], '1003');
  const labels = '{long_running="false",method="GET",path="metrics",server_type="readwrite"}';
  assert.deepEqual(
    body.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
    [
      `kubelet_http_inflight_requests${labels} 1`,
      `kubelet_http_requests_total${labels} 1`,
      'process_start_time_seconds 1003.5',
    ],
  );
  const packed = await get('/metrics', 'GET', [['Accept-Encoding', 'gzip']]);
  assert.equal(packed.headers['content-encoding'], 'gzip');
  assert.match(gunzipSync(packed.bytes).toString(), /^process_start_time_seconds 1003.5$/m);
  for (const path of ['/metrics/probes', '/metrics/slis'])
    assert.deepEqual([(await get(path)).status, (await get(path)).body], [200, '']);
});

test('DELETE /metrics/slis drops the counts of health checks', async () => {
  const metrics = emptyMetrics();
  const checks = metrics.slis.counter(counter('kubernetes_healthchecks_total', 'Checks.', { labels: ['name'] }));
  checks.increment({ name: 'ping' });
  const { get } = await setUp({ metrics });
  assert.match((await get('/metrics/slis')).body, /^kubernetes_healthchecks_total\{name="ping"\} 1$/m);
  const { status, headers, body } = await get('/metrics/slis', 'DELETE');
  assert.deepEqual([status, headers['content-type'], body], [200, 'text/plain; charset=utf-8', 'metrics reset\n']);
  assert.doesNotMatch((await get('/metrics/slis')).body, /ping/);
});

const LOGS = '/containerLogs/default/hello-box/web';
for (const [path, status, body] of [
  [LOGS, 200, 'one\ntwo\n'],
  [`${LOGS}?tailLines=1`, 200, 'two\n'],
  [`${LOGS}?limitBytes=5`, 200, 'one\nt'],
  [`${LOGS}?stream=Stderr&timestamps=true`, 200, '2026-01-01T00:00:01.000000000Z two\n'],
  [`${LOGS}?sinceTime=2026-01-01T00:00:01Z`, 200, 'two\n'],
  [
    `${LOGS}?previous=true`,
    200,
    'failed to try resolving symlinks in path "/var/log/gone.log": lstat /var/log/gone.log: no such file or directory',
  ],
  ['/containerLogs/default/none/web', 404, 'pod "none" does not exist'],
  ['/containerLogs/default/hello-box/other', 404, 'container "other" not found in pod "hello-box"'],
  [`${LOGS}?limitBytes=0`, 422, '{"message": "Invalid request."}'],
] as const) {
  test(`GET ${path} is answered with ${status}`, async () => {
    const { view, get } = await setUp();
    view.show(running());
    const answered = await get(path);
    assert.deepEqual([answered.status, answered.body], [status, body]);
  });
}

test('a log is found by the status at the API server, as long as the agent knows less', async () => {
  const { view, get } = await setUp();
  const { pod, status, ...report } = running();
  view.show({ ...report, pod: { ...pod, status }, status: { phase: 'Pending' } });
  assert.equal((await get(LOGS)).body, 'one\ntwo\n');
  view.show({ ...report, pod, status, observed: observedOf(pod, []) });
  assert.equal((await get(LOGS)).body, 'unable to retrieve container logs for fake://c1');
});

test('a log is followed until its container ends', async () => {
  const { view, fs, get } = await setUp();
  const report = running();
  view.show(report);
  const followed = get(`${LOGS}?follow=true`);
  await fs.writeFile(LOG, `${LINE}2026-01-01T00:00:02Z stdout F three\n`);
  view.show({ ...report, observed: observedOf(report.pod, [exitedContainer('c1', 'web', LOG)]) });
  assert.equal((await followed).body, 'one\ntwo\nthree\n');
  assert.equal(view.listeners, 0);
});

test('exec: the runtime gives an address, and bytes go both ways', async () => {
  const { view, calls, offers, upgrade } = await setUp();
  view.show(running());
  const { headers, stream } = await upgrade(
    '/exec/default/hello-box/web?command=ls&command=-l&input=1&output=1&error=1',
  );
  assert.deepEqual(calls, [
    { containerId: 'c1', cmd: ['ls', '-l'], stdin: true, stdout: true, stderr: true, tty: false },
  ]);
  assert.equal(headers['x-stream-protocol-version'], 'v4.channel.k8s.io');
  assert.deepEqual(offers[0]?.protocols, ['v4.channel.k8s.io']);
  await stream.write(Buffer.from('hello'));
  stream.end();
  assert.equal(Buffer.concat(await Array.fromAsync(stream.chunks)).toString(), 'hello');
});

test('exec: the connection to the runtime ends when the client disconnects', async () => {
  const { view, upgrade, left } = await setUp();
  view.show(running());
  const gone = new AbortController();
  await upgrade('/exec/default/hello-box/web?command=ls&output=1', gone.signal);
  gone.abort();
  await left;
});

test('attach: whether there is a terminal was decided when the container started', async () => {
  const { view, calls, upgrade } = await setUp();
  view.show(running());
  await upgrade('/attach/default/hello-box/web?output=1&tty=1');
  assert.deepEqual(calls, [{ containerId: 'c1', stdin: false, stdout: true, stderr: false, tty: false }]);
});

test('port-forward: to the sandbox of the pod, and of no other UID', async () => {
  const { view, calls, upgrade } = await setUp();
  view.show(running());
  await upgrade('/portForward/default/hello-box/default-hello');
  assert.deepEqual(calls, [{ podSandboxId: 's1', port: [] }]);
  await assert.rejects(upgrade('/portForward/default/hello-box/other'), { status: 404, bodyText: 'pod not found' });
});

test('port-forward: a WebSocket that carries SPDY names no ports, where such are taken', async () => {
  const view = new ScriptedView();
  view.show(running());
  const calls: unknown[] = [];
  const give = async (request: unknown) => {
    calls.push(request);
    return { url: 'http://127.0.0.1/cri/token' };
  };
  const runtime = { exec: give, attach: give, portForward: give };
  const target = { verb: 'portForward', namespace: 'default', pod: 'hello-box', uid: '', container: '' } as const;
  const headers = { 'sec-websocket-protocol': 'SPDY/3.1+portforward.k8s.io' };
  const request = { query: new URLSearchParams(), upgrade: 'websocket', headers, signal: never };
  await streamAddress({ view, runtime, tunnels: true }, target, request);
  assert.deepEqual(calls, [{ podSandboxId: 's1', port: [] }]);
  await assert.rejects(streamAddress({ view, runtime, tunnels: false }, target, request), {
    status: 400,
    message: 'query parameter "port" is required',
  });
});

for (const [path, status, bodyText] of [
  ['/exec/default/none/web?output=1', 404, 'pod does not exist'],
  ['/exec/default/hello-box/other?output=1', 500, 'container not found ("other")'],
  ['/attach/default/hello-box/mirror/web?output=1', 500, 'pod hello-box_default not found'],
  ['/attach/default/hello-box/other?output=1', 500, 'container other not found in pod hello-box_default'],
  ['/exec/default/hello-box/web', 400, 'you must specify at least 1 of stdin, stdout, stderr'],
  ['/portForward/default/none', 404, 'pod does not exist'],
] as const) {
  test(`POST ${path} is rejected: ${bodyText}`, async () => {
    const { view, upgrade } = await setUp();
    view.show(running());
    await assert.rejects(upgrade(path), { status, bodyText });
  });
}

test('errors of the runtime have the matching status', async () => {
  for (const [code, status] of [
    ['NotFound', 404],
    ['ResourceExhausted', 429],
    ['Unknown', 500],
  ] as const) {
    const fail = () => Promise.reject(new CriError(code, 'no'));
    const { view, upgrade } = await setUp({ runtime: { exec: fail, attach: fail, portForward: fail } });
    view.show(running());
    const bodyText = `rpc error: code = ${code} desc = no`;
    await assert.rejects(upgrade('/exec/default/hello-box/web?output=1'), { status, bodyText });
  }
});

test('the response of the runtime to an expired address is passed on', async () => {
  const { view, upgrade, network } = await setUp();
  const gone = await network.serveUpgrades(() => ({ kind: 'refuse', status: 404, message: 'no such token' }));
  const give = async () => ({ url: `http://127.0.0.1:${gone.port}/cri/other` });
  const late = await setUp({ network, runtime: { exec: give, attach: give, portForward: give } });
  for (const each of [view, late.view]) each.show(running());
  await assert.rejects(late.upgrade('/exec/default/hello-box/web?output=1'), {
    status: 404,
    bodyText: 'no such token',
  });
  await upgrade('/exec/default/hello-box/web?output=1');
});

test('a stream request without an upgrade is rejected', async () => {
  const { view, get } = await setUp();
  view.show(running());
  const { status, body } = await get('/exec/default/hello-box/web?output=1', 'POST');
  assert.deepEqual([status, body], [500, 'Upgrade request required\n']);
});

test('without debugging handlers no pod can be reached', async () => {
  const { get } = await setUp({ debugging: undefined });
  const { status, body } = await get(LOGS);
  assert.deepEqual([status, body], [405, 'Debug endpoints are disabled.\n']);
});
