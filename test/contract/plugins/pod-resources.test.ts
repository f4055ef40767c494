/** The pod resources API on a real unix socket. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../../src/base/log.ts';
import { linuxFileSystem } from '../../../src/host/linux/fs/linux-file-system.ts';
import { linuxClock } from '../../../src/host/linux/process/linux-clock.ts';
import { PodResourcesListerDefinition } from '../../../src/plugins/generated/podresources-v1.ts';
import { PluginConnection, pluginRpc } from '../../../src/plugins/plugin-connection.ts';
import type { PodResourcesService } from '../../../src/plugins/pod-resources/pod-resources-service.ts';
import { servePodResources } from '../../../src/plugins/pod-resources/serve-pod-resources.ts';
import { temporaryFolder } from '../host/temporary-folder.ts';

const { list, get, getAllocatableResources } = PodResourcesListerDefinition.methods;
const LIST = pluginRpc(PodResourcesListerDefinition, list);
const GET = pluginRpc(PodResourcesListerDefinition, get);
const ALLOCATABLE = pluginRpc(PodResourcesListerDefinition, getAllocatableResources);
const LIST_ALPHA = pluginRpc({ fullName: 'v1alpha1.PodResourcesLister' }, list);
const POD = { name: 'web', namespace: 'default', containers: [] };
const SERVICE: PodResourcesService = {
  list: () => ({ podResources: [POD] }),
  get: ({ podName }) => {
    if (podName !== 'web') throw new Error(`pod ${podName} in namespace default not found`);
    return { podResources: POD };
  },
  getAllocatableResources: () => ({ devices: [], cpuIds: [0n, 1n], memory: [] }),
  listAlpha: () => ({ podResources: [POD, { ...POD, name: 'job' }] }),
};

interface Served {
  readonly folder: string;
  readonly connection: PluginConnection;
  stop(): Promise<void>;
}

async function served(t: TestContext, clock: { monotonic(): number } = linuxClock): Promise<Served> {
  const life = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const stop = async (): Promise<void> => {
    life.abort(new Error('the test is over'));
    await running;
  };
  const folder = `${await temporaryFolder(t, stop)}/pod-resources`;
  mkdirSync(folder);
  writeFileSync(`${folder}/kubelet.sock`, 'of an earlier process');
  running = servePodResources(folder, SERVICE, { fs: linuxFileSystem, clock, log: silentLog }, life.signal);
  const connection = new PluginConnection(`${folder}/kubelet.sock`, linuxClock, 'kubelet');
  t.after(() => connection.close());
  while (!statSync(`${folder}/kubelet.sock`).isSocket()) await linuxClock.sleep(5, t.signal);
  return { folder, connection, stop };
}

test('every RPC answers, with the text of kubelet for an unknown pod; the socket is removed at the end', async (t) => {
  const { connection, folder, stop } = await served(t);
  assert.deepEqual(await connection.call(LIST, {}, 5_000, t.signal), { podResources: [POD] });
  const { podResources } = await connection.call(LIST_ALPHA, {}, 5_000, t.signal);
  assert.deepEqual(
    podResources.map(({ name }) => name),
    ['web', 'job'],
  );
  assert.deepEqual((await connection.call(ALLOCATABLE, {}, 5_000, t.signal)).cpuIds, [0n, 1n]);
  const request = { podName: 'web', podNamespace: 'default' };
  assert.deepEqual(await connection.call(GET, request, 5_000, t.signal), { podResources: POD });
  await assert.rejects(connection.call(GET, { ...request, podName: 'none' }, 5_000, t.signal), {
    code: 'Unknown',
    message: /pod none in namespace default not found/,
  });
  assert.equal(statSync(`${folder}/kubelet.sock`).mode & 0o777, 0o755);
  await stop();
  assert.equal(existsSync(`${folder}/kubelet.sock`), false);
});

test('ten calls at once are answered, the next one is rejected until a token is free', async (t) => {
  let nowMs = 0;
  const { connection } = await served(t, { monotonic: () => nowMs });
  for (let call = 0; call < 10; call++) await connection.call(LIST, {}, 5_000, t.signal);
  await assert.rejects(connection.call(LIST_ALPHA, {}, 5_000, t.signal), {
    code: 'ResourceExhausted',
    message: /rejected by rate limit/,
  });
  nowMs += 10;
  await connection.call(LIST, {}, 5_000, t.signal);
});
