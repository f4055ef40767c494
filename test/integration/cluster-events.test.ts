/** Events and service account tokens with a real API server and `nodelet kubelet` as the node. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Event } from '../../src/api/generated/core-v1.ts';
import { EXITS_ON_SIGTERM, shell } from './agent-fixture.ts';
import { podOn } from './cluster-fixture.ts';
import { type NodeletNode, nodeletNodeSkipReason, startNodeletNode } from './nodelet-node.ts';
import { until } from './until.ts';

const NODE = 'box';
const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
const skip = nodeletNodeSkipReason();

function podOf(name: string, line: string, spec: object = {}): object {
  return podOn(NODE, name, { dnsPolicy: 'Default', containers: [shell('main', line)], ...spec });
}

/** Appends a letter to a host file at each start. */
function restartingPod(name: string, path: string): object {
  const volumeMounts = [{ name: 'starts', mountPath: '/starts' }];
  const main = shell('main', 'printf x >> /starts; sleep 2; exit 3');
  return podOf(name, '', {
    automountServiceAccountToken: false,
    containers: [{ ...main, volumeMounts }],
    volumes: [{ name: 'starts', hostPath: { path, type: 'File' } }],
  });
}

describe('events and tokens of an API server', { skip }, () => {
  let node: NodeletNode;
  before(async () => {
    node = await startNodeletNode(NODE);
  });
  after(() => node?.stop());

  const eventsOf = async (pod: string): Promise<readonly Event[]> => {
    const selector = `involvedObject.kind=Pod,involvedObject.name=${pod}`;
    return JSON.parse(await node.plane.kubectl('get', 'events', '--field-selector', selector, '-ojson')).items;
  };
  const eventOf = async (pod: string, reason: string, words = /^/): Promise<Event | undefined> =>
    (await eventsOf(pod)).find((event) => event.reason === reason && words.test(event.message ?? ''));

  test('a pod of the default service account gets its token, the CA certificate and its namespace', async () => {
    await node.plane.apply(podOf('web', `test -s ${FOLDER}/ca.crt && cat ${FOLDER}/namespace && ${EXITS_ON_SIGTERM}`));
    await node.plane.wait('web', 'condition=Ready');
    await until(async () => (await node.plane.kubectl('logs', 'web')) === 'defaultlistening\n');
  });

  test("the events of a pod match kubelet's, and `kubectl describe` shows them", async () => {
    // Without a token: the API server may reject a token request for a pod that the node has just received.
    await node.plane.apply(podOf('plain', EXITS_ON_SIGTERM, { automountServiceAccountToken: false }));
    await until(async () => (await eventsOf('plain')).length === 3);
    const events = await eventsOf('plain');
    assert.deepEqual(new Set(events.map(({ reason }) => reason)), new Set(['Pulled', 'Created', 'Started']));
    const uid = await node.plane.field('plain', '.metadata.uid');
    for (const { involvedObject, source, reportingComponent, reportingInstance, count, metadata } of events) {
      const { resourceVersion, ...object } = involvedObject;
      assert.notEqual(resourceVersion, undefined);
      assert.deepEqual(
        { object, source, reportingComponent, reportingInstance, count, isNamed: metadata.name.startsWith('plain.') },
        {
          object: {
            kind: 'Pod',
            namespace: 'default',
            name: 'plain',
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
    const described = await node.plane.kubectl('describe', 'pod', 'plain');
    assert.match(described, /Normal\s+Started\s+\S+\s+kubelet\s+spec\.containers\{main\}: Container started/);
  });

  test('its token is issued by the API server and bound to the pod', async () => {
    await node.plane.apply(podOf('teller', `cat ${FOLDER}/token > /dev/termination-log`, { restartPolicy: 'Never' }));
    await node.plane.wait('teller', 'jsonpath={.status.phase}=Succeeded');
    const token = await node.plane.field('teller', '.status.containerStatuses[0].state.terminated.message');
    const path = join(node.plane.folder, 'review.json');
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    writeFileSync(path, JSON.stringify(review), { mode: 0o600 });
    const { status } = JSON.parse(await node.plane.kubectl('create', '-f', path, '-ojson'));
    assert.deepEqual(
      [status.authenticated, status.user.username, status.user.extra['authentication.kubernetes.io/pod-name']],
      [true, 'system:serviceaccount:default:default', ['teller']],
    );
  });

  test('a non-root user can read the token, and no other user can', async () => {
    const line = `cat ${FOLDER}/token > /dev/null && stat -L -c '%a %u %g' ${FOLDER}/token > /dev/termination-log`;
    const securityContext = { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 };
    await node.plane.apply(podOf('user', line, { restartPolicy: 'Never', securityContext }));
    await node.plane.wait('user', 'jsonpath={.status.phase}=Succeeded');
    assert.equal(
      await node.plane.field('user', '.status.containerStatuses[0].state.terminated.message'),
      '640 1000 2000\n',
    );
  });

  test('a pod with a missing service account gets an event', async () => {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'brief', namespace: 'default' } };
    await node.plane.apply(account);
    await node.plane.apply(podOf('late', EXITS_ON_SIGTERM, { serviceAccountName: 'brief', nodeName: undefined }));
    await node.plane.kubectl('delete', 'serviceaccount', 'brief');
    const path = join(node.plane.folder, 'binding.json');
    const target = { apiVersion: 'v1', kind: 'Node', name: NODE };
    const metadata = { name: 'late', namespace: 'default' };
    writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'Binding', metadata, target }));
    await node.plane.kubectl('create', '--raw', '/api/v1/namespaces/default/pods/late/binding', '-f', path);
    // Earlier events may contain the API server's rejection for a pod that the node has just received.
    const { message = '' } = await until(() => eventOf('late', 'FailedMount', /serviceaccounts? "brief" not found$/));
    assert.match(message, /^MountVolume\.SetUp failed for volume "kube-api-access-\w+" : failed to fetch token: /);
    await node.plane.remove('late');
  });

  test('repeated failures of a container are aggregated into few events', async () => {
    await node.plane.apply(podOf('crash', 'exit 1', { automountServiceAccountToken: false }));
    await until(async () => ((await eventOf('crash', 'Started'))?.count ?? 0) > 1);
    assert.equal((await eventsOf('crash')).filter(({ reason }) => reason === 'Started').length, 1);
    await node.plane.remove('crash');
  });

  test('events during an API server outage are written after it', async () => {
    const path = join(node.plane.folder, 'starts');
    writeFileSync(path, '');
    await node.plane.apply(restartingPod('short', path));
    await until(() => eventOf('short', 'Started'));
    await node.plane.pause();
    const before = readFileSync(path, 'utf8');
    await until(async () => readFileSync(path, 'utf8') !== before);
    await node.plane.resume();
    const starts = readFileSync(path, 'utf8').length;
    await until(async () => ((await eventOf('short', 'Started'))?.count ?? 0) >= starts);
    assert.equal((await eventsOf('short')).filter(({ reason }) => reason === 'Started').length, 1);
  });
});
