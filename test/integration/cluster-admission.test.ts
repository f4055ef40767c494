/** What a node takes from a real API server: pods as people and controllers make them, with all that the server adds. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { OBEDIENT } from './agent-fixture.ts';
import { type ControlPlane, clusterSkipReason, startControlPlane } from './cluster-fixture.ts';
import { type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { runtimeSkipReason, startRuntime, type TestRuntime } from './runtime-fixture.ts';

const BIN = join(import.meta.dirname, '../../bin/nodelet');
const NODE = 'box';
const GATE = 'example.com/balancer';
const skip = clusterSkipReason() || runtimeSkipReason() || nodeletNodeSkipReason();

function podOf(name: string, spec: object): object {
  const containers = [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sh', '-c', OBEDIENT] }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { nodeName: NODE, containers, ...spec } };
}

describe('admission of pods of an API server', { skip }, () => {
  let plane: ControlPlane;
  let runtime: TestRuntime;
  let node: NodeletNode;
  before(async () => {
    [plane, runtime] = await Promise.all([startControlPlane(), startRuntime()]);
    node = await startNodeletNode(plane, runtime, NODE);
  });
  after(async () => {
    await node?.stop();
    await runtime?.stop();
    await plane?.stop();
  });
  const wait = (pod: string, condition: string) =>
    plane.kubectl('wait', `pod/${pod}`, `--for=${condition}`, '--timeout=60s');
  const field = (pod: string, path: string) => plane.kubectl('get', 'pod', pod, `-ojsonpath={${path}}`);
  const setGate = async (status: string) => {
    const patch = JSON.stringify({ status: { conditions: [{ type: GATE, status }] } });
    await plane.kubectl('patch', 'pod', 'gated', '--subresource=status', `--patch=${patch}`);
  };

  test('a pod of `kubectl run` runs, with a token of its account', async () => {
    const overrides = JSON.stringify({ spec: { nodeName: NODE } });
    const args = ['--restart=Always', `--overrides=${overrides}`, '--command', '--', 'sh', '-c', OBEDIENT];
    await plane.kubectl('run', 'plain', `--image=${BUSYBOX_IMAGE}`, '--image-pull-policy=IfNotPresent', ...args);
    await wait('plain', 'condition=Ready');
    assert.match(await field('plain', '.spec.volumes[0].projected.sources[0]'), /serviceAccountToken/);
    assert.equal(await field('plain', '.spec.tolerations[0].key'), 'node.kubernetes.io/not-ready');
  });

  test('a pod from the template of a Deployment runs', async () => {
    const labels = { app: 'web' };
    const containers = [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sh', '-c', OBEDIENT] }];
    const constraint = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' };
    const spreading = { topologySpreadConstraints: [{ ...constraint, labelSelector: { matchLabels: labels } }] };
    const template = { metadata: { labels }, spec: { ...spreading, containers } };
    const metadata = { name: 'web', namespace: 'default' };
    const spec = { selector: { matchLabels: labels }, template };
    await plane.apply({ apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec });
    const defaulted = JSON.parse(await plane.kubectl('get', 'deployment', 'web', '-ojson')).spec.template;
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...defaulted.metadata, ...metadata } };
    await plane.apply({ ...pod, spec: { ...defaulted.spec, nodeName: NODE } });
    await wait('web', 'condition=Ready');
  });

  test('a pod is ready when others have opened its gate, and not before', async () => {
    await plane.apply(podOf('gated', { readinessGates: [{ conditionType: GATE }] }));
    await wait('gated', 'condition=ContainersReady');
    const reason = await field('gated', '.status.conditions[?(@.type=="Ready")].reason');
    assert.equal(reason, 'ReadinessGatesNotReady');
    await setGate('True');
    await wait('gated', 'condition=Ready');
    await setGate('False');
    await wait('gated', 'condition=Ready=false');
    assert.equal(await field('gated', `.status.conditions[?(@.type=="${GATE}")].status`), 'False');
  });

  test('a pod for nodes with a label runs on one that was given it, also over a restart of the agent', async () => {
    await plane.kubectl('label', 'node', NODE, 'disk=fast');
    await plane.apply(podOf('fast', { nodeSelector: { disk: 'fast' } }));
    await wait('fast', 'condition=Ready');
    const id = await field('fast', '.status.containerStatuses[0].containerID');
    await node.restart();
    await plane.apply(podOf('faster', { nodeSelector: { disk: 'fast' } }));
    await wait('faster', 'condition=Ready');
    assert.equal(await field('fast', '.status.phase'), 'Running');
    assert.equal(await field('fast', '.status.containerStatuses[0].containerID'), id);
  });

  test('a second agent on the folder of one that runs is refused, and told whose it is', async () => {
    const folder = join(plane.folder, NODE);
    const args = ['kubelet', `--config=${folder}/kubelet.json`, `--root-dir=${folder}/root`];
    await assert.rejects(promisify(execFile)(BIN, args), ({ stderr }: { stderr: string }) => {
      assert.match(stderr, /--root-dir: \S+\/root is in use by another agent \(pid \d+\)/);
      return true;
    });
  });

  test('a pod on the network of the node has its addresses', async () => {
    await plane.apply(podOf('host', { hostNetwork: true }));
    await wait('host', 'condition=Ready');
    const path = '{.status.addresses[?(@.type=="InternalIP")].address}';
    const internal = await plane.kubectl('get', 'node', NODE, `-ojsonpath=${path}`);
    assert.equal(await field('host', '.status.hostIPs[*].ip'), internal);
    assert.equal(await field('host', '.status.podIPs[*].ip'), internal);
  });

  test('a pod that asks for more than the node has to give is refused', async () => {
    const resources = { requests: { memory: '1Pi' } };
    const containers = [{ name: 'main', image: BUSYBOX_IMAGE, resources }];
    await plane.apply(podOf('huge', { containers }));
    await wait('huge', 'jsonpath={.status.phase}=Failed');
    assert.equal(await field('huge', '.status.reason'), 'OutOfmemory');
    const path = '{.status.allocatable.memory}';
    const allocatable = parseKibibytes(await plane.kubectl('get', 'node', NODE, `-ojsonpath=${path}`));
    assert.match(await field('huge', '.status.message'), new RegExp(`capacity: ${allocatable}$`));
  });
});

function parseKibibytes(text: string): number {
  return Number(text.replace(/Ki$/, '')) * (text.endsWith('Ki') ? 1024 : 1);
}
