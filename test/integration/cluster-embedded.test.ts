/** `nodelet kubelet` as a cluster node with the embedded runtime. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type EmbeddedNode, embeddedNodeSkipReason, startEmbeddedNode } from './cluster-embedded-node.ts';
import { type ControlPlane, podOn } from './cluster-fixture.ts';
import { commandResult, withForwardedPort } from './cluster-server-clients.ts';
import { becomes, until } from './until.ts';

const NODE = 'whole';
const PAGE = 'mkdir /www; echo served > /www/index.html; httpd -f -p 8080 -h /www';
/** Counts to the end of its input, however often clients attach and detach. */
const LISTEN = 'echo ready; while read line; do echo "got $line"; done';

describe('a node with the embedded runtime', { skip: embeddedNodeSkipReason() }, () => {
  let node: EmbeddedNode;
  let plane: ControlPlane;
  before(async () => {
    node = await startEmbeddedNode(NODE);
    plane = node.plane;
    const apart = { restartPolicy: 'Never', automountServiceAccountToken: false };
    const outside = [{ name: 'outside', hostPath: { path: plane.folder, type: 'Directory' } }];
    const mounts = [{ name: 'outside', mountPath: '/outside' }];
    const ends = 'until [ -e /outside/go ]; do sleep 0.05; done; echo gone meanwhile';
    await plane.apply(
      podOf('account', PAGE, { readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 } }),
      podOf('listens', LISTEN, { stdin: true }, apart),
      podOf('ends', ends, { volumeMounts: mounts }, { ...apart, volumes: outside }),
    );
    for (const pod of ['account', 'listens', 'ends']) await plane.wait(pod, 'condition=Ready');
  });
  after(() => node?.stop());

  const containers = async (): Promise<object> => {
    const { items }: { items: Pod[] } = JSON.parse(await plane.kubectl('get', 'pods', '-ojson'));
    return Object.fromEntries(
      items.map(({ metadata, status }) => {
        const [main] = status?.containerStatuses ?? [];
        return [metadata.name, [main?.containerID, main?.restartCount, main?.state?.running?.startedAt]];
      }),
    );
  };
  const said = (pod: string, ...command: readonly string[]) => plane.kubectl('exec', pod, '--', ...command);

  /** All streaming operations of `kubectl`. */
  async function isServed(): Promise<void> {
    assert.match(await until(() => plane.kubectl('logs', 'listens')), /^ready\n/);
    const command = plane.startKubectl(['exec', '-i', 'account', '--', 'sh', '-c', 'cat; echo err >&2; exit 7']);
    command.stdin.end('in\n');
    const stderr = 'err\ncommand terminated with exit code 7\n';
    assert.deepEqual(await commandResult(command), { stdout: 'in\n', stderr, code: 7 });
    const [there, back] = [join(plane.folder, 'there'), join(plane.folder, 'back')];
    writeFileSync(there, randomBytes(1_000_000));
    await plane.kubectl('cp', there, 'account:/tmp/file');
    await plane.kubectl('cp', 'account:/tmp/file', back);
    assert.ok(readFileSync(back).equals(readFileSync(there)));
    await withForwardedPort(plane, { pod: 'account', port: 8080 }, async (url) => {
      assert.equal(await (await fetch(url)).text(), 'served\n');
    });
  }

  test('a pod of the default service account is ready, with its token', async () => {
    const account = '/var/run/secrets/kubernetes.io/serviceaccount';
    assert.equal(await said('account', 'cat', `${account}/namespace`), 'default');
    const token = (await said('account', 'cat', `${account}/token`)).split('.')[1] ?? '';
    assert.equal(JSON.parse(atob(token)).sub, 'system:serviceaccount:default:default');
  });

  test('the node declares that its runtime supports WebSockets', async () => {
    const [features, version] = await Promise.all([
      plane.kubectl('get', 'node', NODE, '-ojsonpath={.status.declaredFeatures}'),
      plane.kubectl('get', 'node', NODE, '-ojsonpath={.status.nodeInfo.containerRuntimeVersion}'),
    ]);
    assert.ok(JSON.parse(features).includes('ExtendWebSocketsToKubelet'));
    assert.match(version, /^nodelet:\/\//);
  });

  test('kubectl logs, exec, cp and port-forward', isServed);

  test('kubectl attach', async () => {
    const attached = plane.startKubectl(['attach', '-i', '-q', 'listens']);
    attached.stdin.write('one\n');
    await untilOutput(attached.stdout, 'got one');
    attached.kill('SIGKILL');
    await once(attached, 'close');
  });

  test('after SIGKILL nothing restarts, running containers are served again, and exits meanwhile are reported', async () => {
    const before = await containers();
    const [following, reading] = [
      plane.startKubectl(['exec', '-i', 'account', '--', 'sh', '-c', 'echo here; cat']),
      plane.startKubectl(['logs', '-f', 'ends']),
    ];
    const ended = [following, reading].map((child) => once(child, 'close'));
    await untilOutput(following.stdout, 'here');
    await node.kill();
    await Promise.all(ended); // its streams end with the agent
    writeFileSync(join(plane.folder, 'go'), '');
    await node.start();
    await plane.wait('ends', 'jsonpath={.status.phase}=Succeeded');
    assert.equal(await plane.kubectl('logs', 'ends'), 'gone meanwhile\n');
    await isServed();
    const attached = plane.startKubectl(['attach', '-i', '-q', 'listens']);
    attached.stdin.write('two\n');
    await untilOutput(attached.stdout, 'got two');
    attached.kill('SIGKILL');
    await once(attached, 'close');
    const { ends: _, ...now } = Object.fromEntries(Object.entries(await containers()));
    const { ends: __, ...then } = Object.fromEntries(Object.entries(before));
    assert.deepEqual(now, then);
  });

  test('a new pod runs after that; deleted pods leave no resources', async () => {
    await plane.apply(podOf('late', 'sleep 1000'));
    await plane.wait('late', 'condition=Ready');
    assert.notDeepEqual(node.remainingResources(), []);
    await plane.kubectl('delete', 'pods', '--all', '--timeout=60s');
    await becomes(() => node.remainingResources(), []);
  });

  function podOf(name: string, line: string, container: object = {}, spec: object = {}): object {
    return podOn(NODE, name, {
      dnsPolicy: 'Default',
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sh', '-c', line], ...container }],
      ...spec,
    });
  }
});

/** Resolves when the stream contains the text. */
async function untilOutput(stream: NodeJS.ReadableStream, words: string): Promise<void> {
  let text = '';
  stream.on('data', (chunk) => {
    text += chunk;
  });
  await until(() => text.includes(words));
}
