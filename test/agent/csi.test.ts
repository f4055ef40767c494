/** Pods with CSI volumes: the whole agent on virtual time, with a driver in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildAgent } from '../../src/app/build-agent.ts';
import { silentLog } from '../../src/base/log.ts';
import { why } from '../../src/kubelet/explain/why.ts';
import { createApiSource } from '../../src/kubelet/sources/api-source.ts';
import { FakeCsiDriver } from '../../src/plugins/fake/fake-csi-driver.ts';
import { FakeCsiDrivers } from '../../src/plugins/fake/fake-csi-drivers.ts';
import { mountCsiVolumes } from '../../src/plugins/fake/mount-csi-volumes.ts';
import { addClaim, callsOf, DEFAULT_OBJECT, DRIVER } from './csi-machine.ts';
import { createPod, FOREVER, newClusterWorld, podKey, podOf, SETTINGS } from './memory-agent.ts';

const AT_ONCE_MS = 50;

async function startWithDrivers() {
  const { host, runtime, apiServer } = await newClusterWorld();
  const { clock, random, fs, mounts } = host;
  const driver = new FakeCsiDriver({
    name: DRIVER,
    clock,
    effects: mountCsiVolumes({ fs, mounts, dataDir: '/driver' }),
  });
  const csiDrivers = new FakeCsiDrivers();
  const { direct } = apiServer;
  const key = { resource: 'csidrivers', namespace: '', name: DRIVER } as const;
  await direct.create(key, { metadata: { name: DRIVER }, spec: DEFAULT_OBJECT }, FOREVER);
  const end = new AbortController();
  const { nodeName } = SETTINGS;
  const source = createApiSource({ nodeName }, { api: apiServer, clock, random, log: silentLog });
  const parts = { host, cri: runtime.cri, runtimeEvents: undefined, sources: [source], apiServer, csiDrivers };
  const agent = await buildAgent({ ...parts, settings: SETTINGS, log: silentLog }, FOREVER);
  const running = agent.run(end.signal);
  const stop = async (): Promise<void> => {
    end.abort(new Error('stopped'));
    await clock.runUntil(running);
  };
  return { host, runtime, apiServer, agent, driver, csiDrivers, [Symbol.asyncDispose]: stop };
}

function podWithClaim() {
  const containers = [{ name: 'main', image: 'busybox:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }];
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  return podOf('web', { dnsPolicy: 'Default', containers, volumes, terminationGracePeriodSeconds: 1 });
}

test('a pod says which CSI driver it waits for, and runs as soon as it registers', async () => {
  await using it = await startWithDrivers();
  const { clock, mounts } = it.host;
  await addClaim({ api: it.apiServer }, 'data');
  await createPod(it, podWithClaim());
  await clock.advance(60_000);
  const [report] = it.agent.pods();
  assert.match(
    report ? why(report, clock.now()).join(' ') : '',
    /volume "data" needs the CSI driver "csi.example.com", which is not registered on this node/,
  );
  it.csiDrivers.register(it.driver);
  await clock.advance(AT_ONCE_MS);
  assert.equal(it.agent.pods()[0]?.status.phase, 'Running');

  const key = podKey('web');
  await it.apiServer.direct.delete(key, { graceSeconds: 1 }, FOREVER);
  await clock.advance(10_000);
  assert.deepEqual(callsOf(it), [
    'stage handle-data',
    `publish handle-data ${report?.pod.metadata.uid}`,
    `unpublish handle-data ${report?.pod.metadata.uid}`,
    'unstage handle-data',
  ]);
  assert.deepEqual(
    (await mounts.list()).filter(({ target }) => target.includes('csi')),
    [],
  );
});
