import assert from 'node:assert/strict';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { connectCri } from '../../src/cri/client.ts';
import { ListPodSandboxRequest, PodSandboxState } from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/linux-clock.ts';
import { removePods } from './daemon-fixture.ts';
import { type KubeletNode, kubeletNodeSkipReason, type PodChange, startKubeletNode } from './kubelet-node.ts';
import { registrySkipReason, startRegistry } from './registry-fixture.ts';
import type { TestRuntime } from './runtime-fixture.ts';
import { settledTraces } from './runtime-pod.ts';

/** How kubectl 1.36 is told which protocol to speak; WebSocket is its own choice. */
const TRANSPORTS = {
  WebSocket: {},
  SPDY: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' },
} as const;

suite("Kubernetes' own kubelet on `nodelet cri`", { skip: kubeletNodeSkipReason() }, () => {
  let node: KubeletNode;
  let atFirst: readonly string[];

  before(async () => {
    node = await startKubeletNode();
    atFirst = await tracesOfPods(node.runtime);
  });
  after(() => node?.stop());

  /** A pod of busybox whose container runs a line of shell. */
  const create = (name: string, line: string, { container, pod }: PodChange = {}): Promise<void> =>
    node.create({ [name]: { container: { command: ['sh', '-c', line], ...container }, pod: pod ?? {} } });

  test('the node names the runtime', async () => {
    const version = '-ojsonpath={.status.nodeInfo.containerRuntimeVersion}';
    assert.match(await node.plane.kubectl('get', 'node', node.name, version), /^nodelet:\/\/\d/);
  });

  test('a pod gets its volumes, its environment and its token, runs after its init container, and is logged', async () => {
    await node.plane.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'words', namespace: 'default' },
      data: { word: 'from a config map' },
    });
    const mounts = [
      { name: 'words', mountPath: '/words' },
      { name: 'shared', mountPath: '/shared' },
    ];
    const script = `cat /words/word /shared/made; echo " $WORD $(id -u) $(hostname)";
      test -s /var/run/secrets/kubernetes.io/serviceaccount/token && echo token`;
    await create('whole', script, {
      container: { env: [{ name: 'WORD', value: 'hi' }], volumeMounts: mounts, securityContext: { runAsUser: 1000 } },
      pod: {
        restartPolicy: 'Never',
        volumes: [
          { name: 'words', configMap: { name: 'words' } },
          { name: 'shared', emptyDir: {} },
        ],
        initContainers: [
          {
            name: 'first',
            image: BUSYBOX_IMAGE,
            command: ['sh', '-c', 'printf ", made before" > /shared/made'],
            volumeMounts: mounts,
          },
        ],
      },
    });
    await node.became('whole', '.status.phase', 'Succeeded');
    assert.equal(await node.plane.kubectl('logs', 'whole'), 'from a config map, made before hi 1000 whole\ntoken\n');
  });

  test('a container that ends is started again, and probes are asked', async () => {
    await create('again', 'test -e /seen/once || { touch /seen/once; exit 3; }; touch /tmp/ready; sleep 1000', {
      container: {
        volumeMounts: [{ name: 'seen', mountPath: '/seen' }],
        readinessProbe: { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1 },
      },
      pod: { volumes: [{ name: 'seen', emptyDir: {} }] },
    });
    await node.ready('again');
    const state = '.status.containerStatuses[0]';
    const [restarts, code] = [
      await node.field('again', `${state}.restartCount`),
      `${state}.lastState.terminated.exitCode`,
    ];
    assert.deepEqual([restarts, await node.field('again', code)], ['1', '3']);
  });

  test('an image is pulled from a registry', { skip: registrySkipReason() }, async () => {
    const registry = await startRegistry();
    try {
      await create('pulled', 'cat /etc/image', {
        container: { image: await registry.push('for-kubelet') },
        pod: { restartPolicy: 'Never' },
      });
      await node.became('pulled', '.status.phase', 'Succeeded');
      assert.match(await node.plane.kubectl('logs', 'pulled'), /for-kubelet:1$/);
    } finally {
      await registry.stop();
    }
  });

  test('what a pod uses is in the summary', async () => {
    await create('used', 'sleep 1000');
    await node.ready('used');
    const summary = JSON.parse(
      await node.plane.kubectl('get', '--raw', `/api/v1/nodes/${node.name}/proxy/stats/summary`),
    );
    const pod = summary.pods.find((each: { podRef: { name: string } }) => each.podRef.name === 'used');
    assert.ok(pod.containers[0].memory.workingSetBytes > 0);
  });

  for (const [transport, env] of Object.entries(TRANSPORTS)) {
    const name = `streams-${transport.toLowerCase()}`;

    test(`exec over ${transport}: streams, input and exit code`, async () => {
      await create(name, 'sleep 1000');
      await node.ready(name);
      const script = 'cat; echo out; echo err >&2; exit 7';
      const run = node.plane.startKubectl(['exec', '-i', name, '--', 'sh', '-c', script], env);
      run.stdin.end('in ');
      assert.deepEqual(await outcome(run), {
        stdout: 'in out\n',
        stderr: 'err\ncommand terminated with exit code 7\n',
        code: 7,
      });
    });

    test(`cp over ${transport}: into a pod and back`, async () => {
      const [there, back] = [join(node.plane.folder, `${name}-there`), join(node.plane.folder, `${name}-back`)];
      writeFileSync(there, randomBytes(3_000_000));
      await done(node.plane.startKubectl(['cp', there, `${name}:/tmp/file`], env));
      await done(node.plane.startKubectl(['cp', `${name}:/tmp/file`, back], env));
      assert.ok(readFileSync(back).equals(readFileSync(there)));
    });

    test(`attach over ${transport}: what is said comes back, and the end of input ends it`, async () => {
      const pod = `attach-${transport.toLowerCase()}`;
      await create(pod, 'while read line; do echo "heard $line"; done; echo over', {
        container: { stdin: true, stdinOnce: true },
        pod: { restartPolicy: 'Never' },
      });
      await node.ready(pod);
      const attached = node.plane.startKubectl(['attach', '-i', '-q', pod], env);
      attached.stdin.end('one\ntwo\n');
      const { stdout, code } = await outcome(attached);
      assert.deepEqual({ stdout, code }, { stdout: 'heard one\nheard two\nover\n', code: 0 });
      await node.became(pod, '.status.phase', 'Succeeded');
    });

    test(`port-forward over ${transport}`, async () => {
      const pod = `web-${transport.toLowerCase()}`;
      await create(pod, 'mkdir /www; echo served > /www/index.html; httpd -f -p 8080 -h /www', {
        container: { readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 } },
      });
      await node.ready(pod);
      const forward = node.plane.startKubectl(['port-forward', pod, ':8080'], env);
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

  test('the runtime is killed and started again: pods go on', async () => {
    await create('steady', 'sleep 1000');
    await node.ready('steady');
    const containerId = await node.field('steady', '.status.containerStatuses[0].containerID');
    await node.runtime.restart();
    assert.equal(await node.plane.kubectl('exec', 'steady', '--', 'echo', 'still here'), 'still here\n');
    const state = ['.containerID', '.restartCount'].map((path) => `.status.containerStatuses[0]${path}`);
    assert.deepEqual(await Promise.all(state.map((path) => node.field('steady', path))), [containerId, '0']);
  });

  test('after all pods are deleted nothing of them is left', async () => {
    await node.deletePods();
    const cri = connectCri(node.runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 10_000 });
    const signal = AbortSignal.timeout(60_000);
    const pods = join(node.plane.folder, node.name, 'root/pods');
    try {
      const alive = async (): Promise<unknown[]> => {
        const { items } = await cri.runtime.listPodSandbox(ListPodSandboxRequest.create(), signal);
        return [...items.filter(({ state }) => state === PodSandboxState.SANDBOX_READY), ...readdirSync(pods)];
      };
      while ((await alive()).length > 0) await linuxClock.sleep(100, signal); // its housekeeping comes every two seconds
      await removePods(cri); // kubelet does this with ended ones, but only once a minute
      assert.deepEqual(await tracesOfPods(node.runtime), atFirst);
      const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
      assert.deepEqual(
        mounts.filter((line) => line.includes(`${pods}/`)),
        [],
      );
    } finally {
      cri.close();
    }
  });
});

/** Without the cgroups that kubelet keeps for all pods of a class, and the port mappings of others. */
async function tracesOfPods(runtime: TestRuntime): Promise<readonly string[]> {
  const traces = await settledTraces(runtime);
  return traces.filter((line) => !/^-N CNI-|\/(kubepods|besteffort|burstable)$/.test(line));
}

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

async function outcome(child: ChildProcessWithoutNullStreams): Promise<Outcome> {
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await once(child, 'exit');
  return { stdout, stderr, code: child.exitCode };
}

async function done(child: ChildProcessWithoutNullStreams): Promise<void> {
  child.stdin.end();
  const { code, stderr } = await outcome(child);
  assert.equal(code, 0, stderr);
}

/** The port of this machine, as kubectl says it when it listens. Its output is read on: it writes at each connection. */
function forwardedPort(forward: ChildProcessWithoutNullStreams): Promise<number> {
  return new Promise((resolve, reject) => {
    forward.stdout.on('data', (chunk) => {
      const port = /127\.0\.0\.1:(\d+)/.exec(String(chunk))?.[1];
      if (port) resolve(Number(port));
    });
    text(forward.stderr).then((stderr) => reject(new Error(`kubectl ended: ${stderr}`)), reject);
  });
}
