/** CSI drivers register with a node of a real API server: the CSINode and Node objects, written with node permissions. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { CSINode, Node } from '../../src/api/generated/core-v1.ts';
import type { AgentParts } from '../../src/app/agent.ts';
import { type AgentPlugins, buildCsiNode, buildPlugins } from '../../src/app/build-plugins.ts';
import { supervise } from '../../src/base/supervise.ts';
import { UnhandledErrors } from '../../src/base/unhandled-errors.ts';
import { connectCri } from '../../src/cri/client.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { SETTINGS } from '../agent/memory-agent.ts';
import { NODE } from '../agent/node-world.ts';
import { startTestCsiDriver, type TestCsiDriver } from '../csi/test-csi-driver.ts';
import { connectTo } from './cluster-client-fixture.ts';
import { type ControlPlane, clusterSkipReason, startControlPlane } from './cluster-fixture.ts';
import { nodeKubeconfig } from './node-files.ts';
import { becomes, until } from './until.ts';

const NAME = 'csi-box';
const DRIVER = 'disk.csi.example.com';
const NO_EFFECTS = {
  stage: async () => {},
  unstage: async () => {},
  publish: async () => {},
  unpublish: async () => {},
};

suite('CSI drivers on a node of a real API server', { skip: clusterSkipReason() }, () => {
  const rootDir = mkdtempSync(join(tmpdir(), 'nodelet-csi-'));
  const end = new AbortController();
  const logged: string[] = [];
  let plane: ControlPlane;
  let plugins: AgentPlugins;
  let driver: TestCsiDriver;
  let stop: () => Promise<void>;

  before(async () => {
    plane = await startControlPlane();
    await plane.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: NAME } });
    const host = createLinuxHost(process.env);
    const apiServer = await connectTo(nodeKubeconfig(plane, NAME));
    const line = (message: string, fields?: object): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
    const log = { debug() {}, info() {}, warn: line, error: line };
    const cri = connectCri('/nonexistent.sock', { clock: host.clock, runtimeRequestTimeoutMs: 1_000 }); // not called
    const settings = { ...SETTINGS, nodeName: NAME, rootDir };
    const node = { ...NODE, nodeName: NAME, rootDir };
    const parts: AgentParts = { host, cri, runtimeEvents: undefined, sources: [], apiServer, node, settings, log };
    const csiNode = buildCsiNode(parts);
    plugins = buildPlugins(parts, { csiNode, node: { known: Promise.resolve() } }, end.signal);
    const unhandled = new UnhandledErrors({ clock: host.clock, log });
    const running = plugins.parts.map((part) => supervise(part, { clock: host.clock, unhandled }, end.signal));
    stop = async () => {
      end.abort(new Error('the test is over'));
      await Promise.all(running);
      apiServer[Symbol.dispose]();
      cri.close();
    };
  });
  after(async () => {
    driver?.stop();
    await stop?.();
    await plane?.stop();
    rmSync(rootDir, { recursive: true, force: true });
  });

  const get = async <T>(kind: string, name: string): Promise<T> =>
    JSON.parse(await plane.kubectl('get', kind, name, '-ojson'));
  const csiNode = (): Promise<CSINode> => get('csinode', NAME);
  const limit = async (): Promise<number | undefined> => (await csiNode()).spec.drivers?.[0]?.allocatable?.count;
  const nodeId = async (): Promise<string | undefined> =>
    (await get<Node>('node', NAME)).metadata.annotations?.['csi.volume.kubernetes.io/nodeid'];

  test('the CSINode object is created, owned by the node', async () => {
    await plane.kubectl('wait', `csinode/${NAME}`, '--for=create', '--timeout=60s');
    const [{ metadata, spec }, node] = await Promise.all([csiNode(), get<Node>('node', NAME)]);
    assert.equal(metadata.ownerReferences?.[0]?.uid, node.metadata.uid);
    assert.match(
      metadata.annotations?.['storage.alpha.kubernetes.io/migrated-plugins'] ?? '',
      /aws-ebs,.*vsphere-volume$/,
    );
    assert.equal(spec.drivers, null); // the empty list, as the API server returns it
  });

  test('a driver that registers is in the CSINode object, with its topology and limit', async () => {
    const nodeInfo = { nodeId: 'i-0123', maxVolumesPerNode: 25n, topology: { 'topology.disk.csi/zone': 'a' } };
    const options = { name: DRIVER, rootDir, dataDir: join(rootDir, 'data'), effects: NO_EFFECTS, nodeInfo };
    driver = await startTestCsiDriver(options);
    await until(() => driver.statuses.length > 0);
    assert.deepEqual(driver.statuses, [{ pluginRegistered: true, error: '' }], logged.join('\n'));
    const topologyKeys = ['topology.disk.csi/zone'];
    assert.deepEqual((await csiNode()).spec.drivers, [
      { name: DRIVER, nodeID: 'i-0123', topologyKeys, allocatable: { count: 25 } },
    ]);
    assert.equal(await nodeId(), `{"${DRIVER}":"i-0123"}`);
    assert.equal((await get<Node>('node', NAME)).metadata.labels?.['topology.disk.csi/zone'], 'a');
  });

  test('the CSIDriver object is found, and its update period changes the limit', async () => {
    driver.answerNodeInfo(async () => ({
      nodeId: 'i-0123',
      maxVolumesPerNode: 7n,
      topology: { 'topology.disk.csi/zone': 'a' },
    }));
    const spec = { attachRequired: false, nodeAllocatableUpdatePeriodSeconds: 10 };
    await plane.apply({ apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: DRIVER }, spec });
    await until(() => plugins.csiDriverObjects.cached(DRIVER) !== undefined);
    assert.equal((await plugins.csiDriverObjects.find(DRIVER, end.signal))?.spec.attachRequired, false);
    assert.equal(await plugins.csiDriverObjects.find('other.csi', end.signal), undefined);
    await becomes(limit, 7);
  });

  test('refreshCsiNode() writes the limit at once', async () => {
    driver.answerNodeInfo(async () => ({
      nodeId: 'i-0123',
      maxVolumesPerNode: 3n,
      topology: { 'topology.disk.csi/zone': 'a' },
    }));
    await plugins.refreshCsiNode(DRIVER, end.signal);
    assert.equal(await limit(), 3);
  });

  test('a driver whose socket is gone is removed from both objects', async () => {
    driver.stop();
    await becomes(async () => (await csiNode()).spec.drivers?.length ?? 0, 0);
    await becomes(nodeId, undefined);
    assert.throws(() => plugins.csiDrivers.driver(DRIVER), { name: 'CsiDriverNotFoundError' });
    assert.deepEqual(logged, []);
  });
});
