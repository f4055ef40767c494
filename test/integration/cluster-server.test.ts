/** What `kubectl` gets from a node through the API server: logs, exec, cp, attach, port-forward. */
import assert from 'node:assert/strict';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { WebSocket } from 'ws';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type ControlPlane, clusterSkipReason, startControlPlane } from './cluster-fixture.ts';
import { type ServingNode, startServingNode } from './cluster-server-node.ts';
import {
  embeddedSkipReason,
  runtimeSkipReason,
  startEmbedded,
  startRuntime,
  TEST_RUNTIME,
  type TestRuntime,
} from './runtime-fixture.ts';

const NODE = 'box';
/** The channel of a WebSocket. */
const STDOUT = 1;
/** Of a node that declares the feature the API server wants WebSockets, of others SPDY whatever `kubectl` speaks. */
const RUNTIMES = [
  {
    name: 'the embedded runtime',
    start: () => startEmbedded(),
    skip: clusterSkipReason() || embeddedSkipReason(),
    declaredFeatures: ['ExtendWebSocketsToKubelet'],
  },
  {
    name: 'containerd',
    start: startRuntime,
    skip:
      (TEST_RUNTIME !== 'containerd' && 'the tests run on another runtime') ||
      clusterSkipReason() ||
      runtimeSkipReason(),
    declaredFeatures: [],
  },
];

function podOf(name: string, line: string, container: object = {}, spec: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName: NODE,
      dnsPolicy: 'Default',
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sh', '-c', line], ...container }],
      ...spec,
    },
  };
}

async function outcome(child: ChildProcessWithoutNullStreams) {
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { stdout, stderr, code };
}

for (const { name: runtimeName, start, skip, declaredFeatures } of RUNTIMES)
  describe(`the API of a node on ${runtimeName}`, { skip }, () => {
    let plane: ControlPlane;
    let runtime: TestRuntime;
    let node: ServingNode;
    before(async () => {
      [plane, runtime] = await Promise.all([startControlPlane(), start()]);
      node = await startServingNode(plane, runtime, { declaredFeatures });
    });
    after(async () => {
      await plane?.kubectl('delete', 'pods', '--all', '--timeout=60s').catch(() => {}); // the rest goes with the runtime
      await node?.stop();
      await runtime?.stop();
      await plane?.stop();
    });
    const wait = (pod: string, condition: string) =>
      plane.kubectl('wait', `pod/${pod}`, `--for=${condition}`, '--timeout=60s');
    const create = async (...args: Parameters<typeof podOf>) => {
      await plane.apply(podOf(...args));
      await wait(args[0], 'condition=Ready');
    };
    /** As somebody who shows a certificate or a token, or nothing. */
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

    test('logs: all, the last, with times, cut, and followed to the end', async () => {
      const line = 'echo one; echo two; echo three; until [ -e /go ]; do sleep 0.05; done; echo four';
      await create('talk', line, {}, { restartPolicy: 'Never' });
      const followed = plane.startKubectl(['logs', '-f', 'talk']);
      await once(followed.stdout, 'readable');
      await plane.kubectl('exec', 'talk', '--', 'touch', '/go');
      assert.deepEqual(await outcome(followed), { stdout: 'one\ntwo\nthree\nfour\n', stderr: '', code: 0 });
      assert.equal(await plane.kubectl('logs', 'talk'), 'one\ntwo\nthree\nfour\n');
      assert.equal(await plane.kubectl('logs', '--tail=2', 'talk'), 'three\nfour\n');
      assert.equal(await plane.kubectl('logs', '--limit-bytes=6', 'talk'), 'one\ntw');
      assert.match(await plane.kubectl('logs', '--timestamps', '--tail=1', 'talk'), /^\d{4}-\S+Z four\n$/);
      assert.equal(await plane.kubectl('logs', '--since=1h', 'talk'), 'one\ntwo\nthree\nfour\n');
    });

    test('logs: what there is not is told in the words of kubelet', async () => {
      await assert.rejects(
        plane.kubectl('logs', '--previous', 'talk'),
        /previous terminated container "main" in pod "talk" not found/,
      );
      await plane.apply(podOf('stuck', 'true', { image: 'nodelet.invalid/none:1', imagePullPolicy: 'Never' }));
      await wait('stuck', 'jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImageNeverPull');
      await assert.rejects(
        plane.kubectl('logs', 'stuck'),
        /\(BadRequest\): container "main" in pod "stuck" is waiting to start: ErrImageNeverPull/,
      );
    });

    for (const [transport, env] of [
      ['WebSockets', {}],
      ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
    ] as const) {
      const name = `shell-${transport.toLowerCase()}`;
      test(`exec over ${transport}: input, both outputs, the exit code`, async () => {
        await create(name, 'sleep 1000');
        const script = 'cat; echo out; echo err >&2; exit 7';
        const child = plane.startKubectl(['exec', '-i', name, '--', 'sh', '-c', script], env);
        child.stdin.end('in ');
        assert.deepEqual(await outcome(child), {
          stdout: 'in out\n',
          stderr: 'err\ncommand terminated with exit code 7\n',
          code: 7,
        });
      });

      test(`cp over ${transport}: into a pod and back`, async () => {
        const [there, back] = [join(plane.folder, `${name}-there`), join(plane.folder, `${name}-back`)];
        writeFileSync(there, randomBytes(3_000_000));
        assert.equal((await outcome(plane.startKubectl(['cp', there, `${name}:/tmp/file`], env))).code, 0);
        assert.equal((await outcome(plane.startKubectl(['cp', `${name}:/tmp/file`, back], env))).code, 0);
        assert.ok(readFileSync(back).equals(readFileSync(there)));
      });

      test(`attach over ${transport}: what is said comes back, and the end of input ends it`, async () => {
        const pod = `attach-${transport.toLowerCase()}`;
        const line = 'while read line; do echo "heard $line"; done; echo over';
        await create(pod, line, { stdin: true, stdinOnce: true }, { restartPolicy: 'Never' });
        const attached = plane.startKubectl(['attach', '-i', '-q', pod], env);
        attached.stdin.end('one\ntwo\n');
        const { stdout, code } = await outcome(attached);
        assert.deepEqual({ stdout, code }, { stdout: 'heard one\nheard two\nover\n', code: 0 });
      });

      test(`port-forward over ${transport}`, async () => {
        const pod = `web-${transport.toLowerCase()}`;
        await create(pod, 'mkdir /www; echo served > /www/index.html; httpd -f -p 8080 -h /www', {
          readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
        });
        const forward = plane.startKubectl(['port-forward', pod, ':8080'], env);
        try {
          const port = await forwardedPort(forward);
          const pages = Array.from({ length: 5 }, async () => (await fetch(`http://127.0.0.1:${port}/`)).text());
          assert.deepEqual(await Promise.all(pages), Array(5).fill('served\n'));
        } finally {
          forward.kill('SIGTERM');
          await once(forward, 'close');
        }
      });
    }

    test('a WebSocket that comes to the node itself is carried to the runtime', async () => {
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

    test('who shows nothing, or something wrong, is not let in; who may not is refused', async () => {
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
      assert.equal((await ask('/stats/summary', admin)).status, 404);
    });
  });

async function forwardedPort({ stdout }: ChildProcessWithoutNullStreams): Promise<string> {
  let said = '';
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    said += chunk;
    const port = /127\.0\.0\.1:(\d+)/.exec(said)?.[1];
    if (port !== undefined) return port;
  }
  throw new Error(`kubectl forwards nothing: ${said}`);
}
