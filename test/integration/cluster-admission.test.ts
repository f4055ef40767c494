/** Pods of a real API server as users and controllers create them, with all that the server adds. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { EXITS_ON_SIGTERM, shell } from './agent-fixture.ts';
import { podOn } from './cluster-fixture.ts';
import { NODELET_KUBELET, type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';

const NODE = 'box';
const GATE = 'example.com/balancer';
const skip = nodeletNodeSkipReason();

const CONTAINERS = [shell('main', EXITS_ON_SIGTERM)];

function podOf(name: string, spec: object): object {
  return podOn(NODE, name, { containers: CONTAINERS, ...spec });
}

describe('admission of pods of an API server', { skip }, () => {
  let node: NodeletNode;
  before(async () => {
    node = await startNodeletNode(NODE);
  });
  after(() => node?.stop());
  const setGate = async (status: string) => {
    const patch = JSON.stringify({ status: { conditions: [{ type: GATE, status }] } });
    await node.plane.kubectl('patch', 'pod', 'gated', '--subresource=status', `--patch=${patch}`);
  };

  test('a pod of `kubectl run` runs, with a token of its service account', async () => {
    const overrides = JSON.stringify({ spec: { nodeName: NODE } });
    const args = ['--restart=Always', `--overrides=${overrides}`, '--command', '--', 'sh', '-c', EXITS_ON_SIGTERM];
    await node.plane.kubectl('run', 'plain', `--image=${BUSYBOX_IMAGE}`, '--image-pull-policy=IfNotPresent', ...args);
    await node.plane.wait('plain', 'condition=Ready');
    assert.match(await node.plane.field('plain', '.spec.volumes[0].projected.sources[0]'), /serviceAccountToken/);
    assert.equal(await node.plane.field('plain', '.spec.tolerations[0].key'), 'node.kubernetes.io/not-ready');
  });

  test('a pod from the template of a Deployment runs', async () => {
    const labels = { app: 'web' };
    const constraint = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' };
    const spreading = { topologySpreadConstraints: [{ ...constraint, labelSelector: { matchLabels: labels } }] };
    const template = { metadata: { labels }, spec: { ...spreading, containers: CONTAINERS } };
    const metadata = { name: 'web', namespace: 'default' };
    const spec = { selector: { matchLabels: labels }, template };
    await node.plane.apply({ apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec });
    const defaulted = JSON.parse(await node.plane.kubectl('get', 'deployment', 'web', '-ojson')).spec.template;
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...defaulted.metadata, ...metadata } };
    await node.plane.apply({ ...pod, spec: { ...defaulted.spec, nodeName: NODE } });
    await node.plane.wait('web', 'condition=Ready');
  });

  test('a pod is ready once its readiness gate is set, and not before', async () => {
    await node.plane.apply(podOf('gated', { readinessGates: [{ conditionType: GATE }] }));
    await node.plane.wait('gated', 'condition=ContainersReady');
    const reason = await node.plane.field('gated', '.status.conditions[?(@.type=="Ready")].reason');
    assert.equal(reason, 'ReadinessGatesNotReady');
    await setGate('True');
    await node.plane.wait('gated', 'condition=Ready');
    await setGate('False');
    await node.plane.wait('gated', 'condition=Ready=false');
    assert.equal(await node.plane.field('gated', `.status.conditions[?(@.type=="${GATE}")].status`), 'False');
  });

  test('a pod with a node selector runs on a node that gets the label, also over a restart of the agent', async () => {
    await node.plane.kubectl('label', 'node', NODE, 'disk=fast');
    await node.plane.apply(podOf('fast', { nodeSelector: { disk: 'fast' } }));
    await node.plane.wait('fast', 'condition=Ready');
    const id = await node.plane.field('fast', '.status.containerStatuses[0].containerID');
    await node.restart();
    await node.plane.apply(podOf('faster', { nodeSelector: { disk: 'fast' } }));
    await node.plane.wait('faster', 'condition=Ready');
    assert.equal(await node.plane.field('fast', '.status.phase'), 'Running');
    assert.equal(await node.plane.field('fast', '.status.containerStatuses[0].containerID'), id);
  });

  test('a second agent on the same root directory is rejected, with the id of the first', async () => {
    const [program, ...kubelet] = NODELET_KUBELET;
    await assert.rejects(
      promisify(execFile)(program, [...kubelet, ...node.flags]),
      ({ stderr }: { stderr: string }) => {
        assert.match(stderr, /--root-dir: \S+\/root is in use by another agent \(pid \d+\)/);
        return true;
      },
    );
  });

  test('a host-network pod has the addresses of the node', async () => {
    await node.plane.apply(podOf('host', { hostNetwork: true }));
    await node.plane.wait('host', 'condition=Ready');
    const path = '{.status.addresses[?(@.type=="InternalIP")].address}';
    const internal = await node.plane.kubectl('get', 'node', NODE, `-ojsonpath=${path}`);
    assert.equal(await node.plane.field('host', '.status.hostIPs[*].ip'), internal);
    assert.equal(await node.plane.field('host', '.status.podIPs[*].ip'), internal);
  });

  test('a pod that requests more than the node has is rejected', async () => {
    const resources = { requests: { memory: '1Pi' } };
    const containers = [{ name: 'main', image: BUSYBOX_IMAGE, resources }];
    await node.plane.apply(podOf('huge', { containers }));
    await node.plane.wait('huge', 'jsonpath={.status.phase}=Failed');
    assert.equal(await node.plane.field('huge', '.status.reason'), 'OutOfmemory');
    const path = '{.status.allocatable.memory}';
    const allocatable = parseKibibytes(await node.plane.kubectl('get', 'node', NODE, `-ojsonpath=${path}`));
    assert.match(await node.plane.field('huge', '.status.message'), new RegExp(`capacity: ${allocatable}$`));
  });
});

function parseKibibytes(text: string): number {
  return Number(text.replace(/Ki$/, '')) * (text.endsWith('Ki') ? 1024 : 1);
}
