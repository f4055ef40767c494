/** `kubectl` with a node through the API server: logs, exec, cp, attach, port-forward. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { WebSocket } from 'ws';
import { shell } from './agent-fixture.ts';
import { type ControlPlane, clusterSkipReason, podOn } from './cluster-fixture.ts';
import { commandResult } from './cluster-server-clients.ts';
import { type ServingNode, startServingNode } from './cluster-server-node.ts';
import { testStreams, testWebSocketsWithoutFallback } from './kubectl-streams.ts';
import {
  embeddedSkipReason,
  runtimeSkipReason,
  startEmbedded,
  startRuntime,
  TEST_RUNTIME,
  type TestRuntime,
} from './runtime-fixture.ts';
import { startTestCluster, type TestCluster } from './test-cluster.ts';

const NODE = 'box';
const ACCOUNT = 'system:serviceaccount:default:default';
/** The channel of a WebSocket. */
const STDOUT = 1;
/** To a node that declares the feature the API server speaks WebSockets, to others SPDY, whatever `kubectl` speaks. */
const WEB_SOCKETS = ['ExtendWebSocketsToKubelet'];
const EXTERNAL = {
  start: () => startRuntime(),
  skip: (TEST_RUNTIME === 'embedded' && 'tested before') || clusterSkipReason() || runtimeSkipReason(),
  translatesStreams: true,
};
const RUNTIMES = [
  {
    name: 'the embedded runtime',
    start: () => startEmbedded(),
    skip: (TEST_RUNTIME !== 'containerd' && 'tested before') || clusterSkipReason() || embeddedSkipReason(),
    declaredFeatures: WEB_SOCKETS,
    translatesStreams: false,
  },
  { name: TEST_RUNTIME, ...EXTERNAL, declaredFeatures: WEB_SOCKETS },
  { name: `${TEST_RUNTIME}, by SPDY`, ...EXTERNAL, declaredFeatures: [] },
];

function podOf(name: string, line: string, container: object = {}, spec: object = {}): object {
  return podOn(NODE, name, {
    dnsPolicy: 'Default',
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    containers: [{ ...shell('main', line), ...container }],
    ...spec,
  });
}

for (const { name: runtimeName, start, skip, ...options } of RUNTIMES)
  describe(`the API of a node on ${runtimeName}`, { skip }, () => {
    let scene: TestCluster<TestRuntime, ServingNode>;
    let plane: ControlPlane;
    let node: ServingNode;
    before(async () => {
      scene = await startTestCluster(start, (...parts) => startServingNode(...parts, options));
      ({ plane, agent: node } = scene);
    });
    after(async () => {
      await plane?.remove('--all').catch(() => {}); // the rest is removed with the runtime
      await scene?.stop();
    });
    const create = async (...args: Parameters<typeof podOf>) => {
      await plane.apply(podOf(...args));
      await plane.wait(args[0], 'condition=Ready');
    };
    /** A request with a certificate, a token or no credentials. */
    const ask = (path: string, options: { readonly cert?: string; readonly key?: string; readonly token?: string }) =>
      new Promise<{ readonly status: number | undefined; readonly body: string }>((resolve, reject) => {
        const { token, ...tls } = options;
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const ca = readFileSync(plane.authority.caFile);
        const asked = request(
          { host: '127.0.0.1', port: node.port, path, ca, agent: false, headers, ...tls },
          (response) => {
            text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
          },
        );
        asked.once('error', reject).end();
      });
    const certificateOf = (user: string, groups: readonly string[] = []) => {
      const { certFile, keyFile } = plane.authority.issue({ user, groups });
      return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
    };

    test('logs: all, tail, timestamps, limit, and follow to the end', async () => {
      const line = 'echo one; echo two; echo three; until [ -e /go ]; do sleep 0.05; done; echo four';
      await create('talk', line, {}, { restartPolicy: 'Never' });
      const followed = plane.startKubectl(['logs', '-f', 'talk']);
      await once(followed.stdout, 'readable');
      await plane.kubectl('exec', 'talk', '--', 'touch', '/go');
      assert.deepEqual(await commandResult(followed), { stdout: 'one\ntwo\nthree\nfour\n', stderr: '', code: 0 });
      assert.equal(await plane.kubectl('logs', 'talk'), 'one\ntwo\nthree\nfour\n');
      assert.equal(await plane.kubectl('logs', '--tail=2', 'talk'), 'three\nfour\n');
      assert.equal(await plane.kubectl('logs', '--limit-bytes=6', 'talk'), 'one\ntw');
      assert.match(await plane.kubectl('logs', '--timestamps', '--tail=1', 'talk'), /^\d{4}-\S+Z four\n$/);
      assert.equal(await plane.kubectl('logs', '--since=1h', 'talk'), 'one\ntwo\nthree\nfour\n');
    });

    test("logs: errors match kubelet's messages", async () => {
      await assert.rejects(
        plane.kubectl('logs', '--previous', 'talk'),
        /previous terminated container "main" in pod "talk" not found/,
      );
      await plane.apply(podOf('stuck', 'true', { image: 'nodelet.invalid/none:1', imagePullPolicy: 'Never' }));
      await plane.wait('stuck', 'jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImageNeverPull');
      await assert.rejects(
        plane.kubectl('logs', 'stuck'),
        /\(BadRequest\): container "main" in pod "stuck" is waiting to start: ErrImageNeverPull/,
      );
    });

    testStreams(() => ({ plane, createShell: create }));
    testWebSocketsWithoutFallback(() => ({ plane, createShell: create }));

    test('a WebSocket to the node itself is proxied to the runtime', async () => {
      const path = '/exec/default/shell-spdy/main?command=echo&command=hello&output=1';
      const ca = readFileSync(plane.authority.caFile);
      const socket = new WebSocket(`wss://127.0.0.1:${node.port}${path}`, 'v4.channel.k8s.io', {
        ca,
        ...certificateOf('admin', ['system:masters']),
      });
      const said: string[] = [];
      socket.on('message', (message: Buffer) => {
        if (message[0] === STDOUT) said.push(message.subarray(1).toString());
      });
      await once(socket, 'close');
      assert.equal(socket.protocol, 'v4.channel.k8s.io');
      assert.equal(said.join(''), 'hello\n');
    });

    test('missing or invalid credentials are 401; missing permissions are 403', async () => {
      assert.deepEqual(await ask('/pods', {}), { status: 401, body: 'Unauthorized' });
      assert.deepEqual(await ask('/pods', { token: 'made-up' }), { status: 401, body: 'Unauthorized' });
      const { status, body } = await ask('/pods', certificateOf('mallory'));
      const refused = 'Forbidden (user=mallory, verb=get, resource=nodes, subresource(s)=[pods proxy])\n';
      assert.deepEqual({ status, body }, { status: 403, body: refused });
    });

    test('a service account comes in by its token, for what it may', async () => {
      const metadata = { name: 'scraper' };
      const rules = [{ apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] }];
      const subjects = [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }];
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'scraper' };
      await plane.apply(
        { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, rules },
        { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata, subjects, roleRef },
      );
      // The node caches rejected authorizations for a while.
      await plane.allowed({ user: ACCOUNT }, 'get', 'nodes', '--subresource=metrics');
      const token = (await plane.kubectl('create', 'token', 'default')).trim();
      const metrics = await ask('/metrics', { token });
      assert.equal(metrics.status, 200);
      assert.match(metrics.body, /^kubelet_node_name\{node="box"\} 1$/m);
      assert.match(metrics.body, /^kubelet_running_pods [1-9]\d*$/m);
      assert.match(metrics.body, /^process_start_time_seconds \d+/m);
      assert.equal((await ask('/configz', { token })).status, 403);
    });

    test('an administrator sees pods, health and configuration', async () => {
      const admin = certificateOf('admin', ['system:masters']);
      const pods = JSON.parse((await ask('/pods', admin)).body);
      assert.ok(pods.items.some((pod: { metadata: { name: string } }) => pod.metadata.name === 'talk'));
      assert.deepEqual(await ask('/healthz', admin), { status: 200, body: 'ok' });
      const { body: configz } = await ask('/configz', admin);
      assert.equal(JSON.parse(configz).kubeletconfig.kind, 'KubeletConfiguration');
      const summary = JSON.parse((await ask('/stats/summary', admin)).body);
      assert.ok(summary.pods.some((pod: { podRef: { name: string } }) => pod.podRef.name === 'web-spdy'));
    });
  });
