import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { connectCri } from '../../src/cri/client.ts';
import { ListPodSandboxRequest, PodSandboxState } from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { removePods } from './daemon-fixture.ts';
import { testStreams } from './kubectl-streams.ts';
import { type KubeletNode, kubeletNodeSkipReason, type PodChange, startKubeletNode } from './kubelet-node.ts';
import { registrySkipReason, startRegistry } from './registry-fixture.ts';
import type { TestRuntime } from './runtime-fixture.ts';
import { settledRuntimeResources } from './runtime-pod.ts';
import { becomes, until } from './until.ts';

const CRI_MS = 10_000;

suite("Kubernetes' own kubelet on `nodelet cri`", { skip: kubeletNodeSkipReason() }, () => {
  let node: KubeletNode;
  let atFirst: readonly string[];

  before(async () => {
    node = await startKubeletNode();
    atFirst = await tracesOfPods(node.runtime);
  });
  after(() => node?.stop());

  /** A busybox pod whose container runs a shell command. */
  const create = (name: string, line: string, { container, pod }: PodChange = {}): Promise<void> =>
    node.create({ [name]: { container: { command: ['sh', '-c', line], ...container }, pod: pod ?? {} } });

  test('the node names the runtime', async () => {
    const version = '-ojsonpath={.status.nodeInfo.containerRuntimeVersion}';
    assert.match(await node.plane.kubectl('get', 'node', node.name, version), /^nodelet:\/\/\d/);
  });

  test('a pod gets its volumes, environment and token, runs after its init container, and is logged', async () => {
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

  test('an exited container restarts, and probes run', async () => {
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

  test('resource usage of a pod is in the summary', async () => {
    await create('used', 'sleep 1000');
    await node.ready('used');
    const path = `/api/v1/nodes/${node.name}/proxy/stats/summary`;
    await until(async () => {
      const summary = JSON.parse(await node.plane.kubectl('get', '--raw', path)); // kubelet refreshes it periodically
      const pod = summary.pods.find((each: { podRef: { name: string } }) => each.podRef.name === 'used');
      return pod.containers[0].memory.workingSetBytes > 0;
    });
  });

  testStreams(() => ({
    plane: node.plane,
    async createShell(name, line, container = {}, pod = {}) {
      await create(name, line, { container, pod });
      await node.ready(name);
    },
  }));

  test('after a restart of the runtime pods keep running', async () => {
    await create('steady', 'sleep 1000');
    await node.ready('steady');
    const containerId = await node.field('steady', '.status.containerStatuses[0].containerID');
    await node.runtime.restart();
    // kubelet reconnects after a while.
    const said = await until(() => node.plane.kubectl('exec', 'steady', '--', 'echo', 'still here'));
    assert.equal(said, 'still here\n');
    const state = ['.containerID', '.restartCount'].map((path) => `.status.containerStatuses[0]${path}`);
    assert.deepEqual(await Promise.all(state.map((path) => node.field('steady', path))), [containerId, '0']);
  });

  test('after all pods are deleted no resource is left', async () => {
    await node.deletePods();
    const cri = connectCri(node.runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: CRI_MS });
    const pods = join(node.plane.folder, node.name, 'root/pods');
    try {
      const alive = async (): Promise<unknown[]> => {
        const signal = AbortSignal.timeout(CRI_MS);
        const { items } = await cri.runtime.listPodSandbox(ListPodSandboxRequest.create(), signal);
        return [...items.filter(({ state }) => state === PodSandboxState.SANDBOX_READY), ...readdirSync(pods)];
      };
      await becomes(alive, []); // kubelet's housekeeping runs every two seconds
      await removePods(cri); // kubelet removes ended sandboxes too, but only once a minute
      await becomes(() => tracesOfPods(node.runtime), atFirst); // the cgroups are removed by its housekeeping
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

/** Without kubelet's QoS cgroups, and without port mappings of other programs. */
async function tracesOfPods(runtime: TestRuntime): Promise<readonly string[]> {
  const traces = await settledRuntimeResources(runtime);
  return traces.filter((line) => !/^-N CNI-|\/(kubepods|besteffort|burstable)$/.test(line));
}
