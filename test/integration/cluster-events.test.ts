/** Events and service account tokens of a real API server, on a node that is `nodelet kubelet`. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Event } from '../../src/api/generated/core-v1.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { OBEDIENT } from './agent-fixture.ts';
import { type ControlPlane, clusterSkipReason, startControlPlane } from './cluster-fixture.ts';
import { type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { runtimeSkipReason, startRuntime, type TestRuntime } from './runtime-fixture.ts';

const NODE = 'box';
const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
const ASK_AGAIN_MS = 50;
const skip = clusterSkipReason() || runtimeSkipReason() || nodeletNodeSkipReason();

function podOf(name: string, line: string, spec: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      nodeName: NODE,
      dnsPolicy: 'Default',
      containers: [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sh', '-c', line] }],
      ...spec,
    },
  };
}

/** Leaves a letter in a file of the machine at each of its starts. */
function restartingPod(name: string, path: string): object {
  const volumeMounts = [{ name: 'starts', mountPath: '/starts' }];
  const command = ['sh', '-c', 'printf x >> /starts; sleep 2; exit 3'];
  return podOf(name, '', {
    automountServiceAccountToken: false,
    containers: [{ name: 'main', image: BUSYBOX_IMAGE, command, volumeMounts }],
    volumes: [{ name: 'starts', hostPath: { path, type: 'File' } }],
  });
}

describe('events and tokens of an API server', { skip }, () => {
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

  const wait = (pod: string, condition: string): Promise<string> =>
    plane.kubectl('wait', `pod/${pod}`, `--for=${condition}`, '--timeout=60s');
  const field = (pod: string, path: string): Promise<string> =>
    plane.kubectl('get', 'pod', pod, `-ojsonpath={${path}}`);
  const eventsOf = async (pod: string): Promise<readonly Event[]> => {
    const selector = `involvedObject.kind=Pod,involvedObject.name=${pod}`;
    return JSON.parse(await plane.kubectl('get', 'events', '--field-selector', selector, '-ojson')).items;
  };
  const eventOf = async (pod: string, reason: string): Promise<Event | undefined> =>
    (await eventsOf(pod)).find((event) => event.reason === reason);

  test('a pod of the default service account finds its token, the authority and its namespace', async () => {
    await plane.apply(podOf('web', `test -s ${FOLDER}/ca.crt && cat ${FOLDER}/namespace && ${OBEDIENT}`));
    await wait('web', 'condition=Ready');
  });

  test('its events are those of kubelet, and are shown with it', async () => {
    await until(async () => (await eventsOf('web')).length === 3);
    const events = await eventsOf('web');
    assert.deepEqual(new Set(events.map(({ reason }) => reason)), new Set(['Pulled', 'Created', 'Started']));
    const uid = await field('web', '.metadata.uid');
    for (const { involvedObject, source, reportingComponent, reportingInstance, count, metadata } of events) {
      const { resourceVersion, ...object } = involvedObject;
      assert.notEqual(resourceVersion, undefined);
      assert.deepEqual(
        { object, source, reportingComponent, reportingInstance, count, isNamed: metadata.name.startsWith('web.') },
        {
          object: {
            kind: 'Pod',
            namespace: 'default',
            name: 'web',
            uid,
            apiVersion: 'v1',
            fieldPath: 'spec.containers{main}',
          },
          source: { component: 'kubelet', host: NODE },
          reportingComponent: 'kubelet',
          reportingInstance: NODE,
          count: 1,
          isNamed: true,
        },
      );
    }
    const described = await plane.kubectl('describe', 'pod', 'web');
    assert.match(described, /Normal\s+Started\s+\S+\s+kubelet\s+spec\.containers\{main\}: Container started/);
  });

  test('its token is one of the API server, bound to the pod', async () => {
    await plane.apply(podOf('teller', `cat ${FOLDER}/token > /dev/termination-log`, { restartPolicy: 'Never' }));
    await wait('teller', 'jsonpath={.status.phase}=Succeeded');
    const token = await field('teller', '.status.containerStatuses[0].state.terminated.message');
    const path = join(plane.folder, 'review.json');
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    writeFileSync(path, JSON.stringify(review), { mode: 0o600 });
    const { status } = JSON.parse(await plane.kubectl('create', '-f', path, '-ojson'));
    assert.deepEqual(
      [status.authenticated, status.user.username, status.user.extra['authentication.kubernetes.io/pod-name']],
      [true, 'system:serviceaccount:default:default', ['teller']],
    );
  });

  test('a user who is not root can read the token, and nobody else can', async () => {
    const line = `cat ${FOLDER}/token > /dev/null && stat -L -c '%a %u %g' ${FOLDER}/token > /dev/termination-log`;
    const securityContext = { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 };
    await plane.apply(podOf('user', line, { restartPolicy: 'Never', securityContext }));
    await wait('user', 'jsonpath={.status.phase}=Succeeded');
    assert.equal(await field('user', '.status.containerStatuses[0].state.terminated.message'), '640 1000 2000\n');
  });

  test('a pod whose account is gone is told why it does not start', async () => {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'brief', namespace: 'default' } };
    await plane.apply(account);
    await plane.apply(podOf('late', OBEDIENT, { serviceAccountName: 'brief', nodeName: undefined }));
    await plane.kubectl('delete', 'serviceaccount', 'brief');
    const path = join(plane.folder, 'binding.json');
    const target = { apiVersion: 'v1', kind: 'Node', name: NODE };
    const metadata = { name: 'late', namespace: 'default' };
    writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'Binding', metadata, target }));
    await plane.kubectl('create', '--raw', '/api/v1/namespaces/default/pods/late/binding', '-f', path);
    await until(async () => (await eventOf('late', 'FailedMount')) !== undefined);
    const { message = '' } = (await eventOf('late', 'FailedMount')) ?? {};
    const words = /^MountVolume\.SetUp failed for volume "kube-api-access-\w+" : failed to fetch token: /;
    assert.match(message, words);
    assert.match(message, /serviceaccounts? "brief" not found$/);
    await plane.kubectl('delete', 'pod', 'late', '--timeout=60s');
  });

  test('a container that fails again is told of in events that count', async () => {
    await plane.apply(podOf('crash', 'exit 1', { automountServiceAccountToken: false }));
    await until(async () => ((await eventOf('crash', 'Started'))?.count ?? 0) > 1);
    assert.equal((await eventsOf('crash')).filter(({ reason }) => reason === 'Started').length, 1);
    await plane.kubectl('delete', 'pod', 'crash', '--timeout=60s');
  });

  test('what happens while the API server is away is told when it is back', async () => {
    const path = join(plane.folder, 'starts');
    writeFileSync(path, '');
    await plane.apply(restartingPod('short', path));
    await until(async () => (await eventOf('short', 'Started')) !== undefined);
    await plane.pause();
    const before = readFileSync(path, 'utf8');
    await until(async () => readFileSync(path, 'utf8') !== before);
    await plane.resume();
    const starts = readFileSync(path, 'utf8').length;
    await until(async () => ((await eventOf('short', 'Started'))?.count ?? 0) >= starts);
    assert.equal((await eventsOf('short')).filter(({ reason }) => reason === 'Started').length, 1);
  });
});

/** Whatever happens happens at its own pace; the runner ends a test that takes too long. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo().catch(() => false))) await delay(ASK_AGAIN_MS);
}
