import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { NodeShutdown } from './node-shutdown.ts';
import type { ShutdownSettings } from './shutdown-groups.ts';

const SETTINGS: ShutdownSettings = { graceMs: 30_000, criticalMs: 10_000, byPriority: [], isPriorityOn: true };
const STATE = '/var/lib/kubelet/graceful_node_shutdown_state';

/** A machine whose pods take the given milliseconds to end, and to be released. */
async function machine(
  pods: Readonly<
    Record<string, { readonly endMs: number; readonly spec?: Partial<Pod['spec']>; readonly releaseMs?: number }>
  >,
  settings: Partial<ShutdownSettings> = {},
) {
  const host = createMemoryHost({ startMs: 0 });
  const { clock, fs, loginManager } = host;
  await fs.makeDirectory('/var/lib/kubelet');
  const life = new AbortController();
  const happened: string[] = [];
  const note = (what: string): void => void happened.push(`${clock.now() / 1000} ${what}`);
  const events = { record: (type: string, reason: string, message: string) => note(`${type} ${reason}: ${message}`) };
  const all = { ...SETTINGS, ...settings };
  const shutdown = new NodeShutdown(all, '/var/lib/kubelet', { loginManager, fs, clock, log: silentLog, events });
  shutdown.subscribe(() => note(shutdown.notReadyReason() ?? 'ready'));
  const timeOf = ({ metadata }: Pod) => ({ releaseMs: 0, ...(pods[metadata.name] ?? { endMs: 0 }) });
  const done = shutdown.run(
    {
      active: () =>
        Object.entries(pods).map(([name, { spec }]) =>
          examplePod({ metadata: { name }, spec: { terminationGracePeriodSeconds: 60, ...spec } }),
        ),
      async kill(pod, { graceSeconds, failure }) {
        note(`kill ${pod.metadata.name} ${graceSeconds}: ${failure.reason}`);
        await clock.sleep(Math.min(timeOf(pod).endMs, graceSeconds * 1000 + 2_000), life.signal);
        note(`ended ${pod.metadata.name}`);
      },
      released: (pod) => clock.sleep(timeOf(pod).releaseMs, life.signal),
    },
    life.signal,
  );
  await clock.advance(1_000);
  happened.length = 0;
  const stop = async (): Promise<void> => {
    life.abort();
    await clock.runUntil(done);
  };
  const later = async (ms: number): Promise<readonly string[]> => {
    await clock.advance(ms);
    return happened.splice(0);
  };
  return { ...host, shutdown, later, stop, [Symbol.asyncDispose]: stop };
}

const critical = { priority: 2_000_000_000 };
const DETECTED = '1 Normal Shutdown: Shutdown manager detected shutdown event';

test('pods end by priority, within the time of their group, before the lock is released', async () => {
  await using it = await machine({
    dns: { endMs: 1_000, spec: critical },
    web: { endMs: 3_000 },
    quick: { endMs: 1_000, spec: { terminationGracePeriodSeconds: 5 } },
  });
  assert.deepEqual(it.loginManager.locks, [{ who: 'kubelet', why: 'Kubelet needs time to handle node shutdown' }]);
  it.loginManager.announce(true);
  assert.deepEqual(await it.later(3_999), [
    DETECTED,
    '1 node is shutting down',
    '1 kill web 20: Terminated',
    '1 kill quick 5: Terminated',
    '2 ended quick',
    '4 ended web',
    '4 kill dns 10: Terminated',
  ]);
  assert.equal(it.loginManager.locks.length, 1);
  assert.deepEqual(await it.later(2), ['5 ended dns']);
  assert.deepEqual(it.loginManager.locks, []);
  assert.equal(it.shutdown.isShuttingDown, true);
  assert.equal(await it.fs.readText(STATE), '{"startTime":"1970-01-01T00:00:01Z","endTime":"1970-01-01T00:00:05Z"}');
});

test('a group that does not end in time does not hold the next one up', async () => {
  await using it = await machine({ dns: { endMs: 1_000, spec: critical }, stuck: { endMs: 100_000 } });
  it.loginManager.announce(true);
  assert.deepEqual((await it.later(25_000)).slice(2), [
    '1 kill stuck 20: Terminated',
    '21 kill dns 10: Terminated',
    '22 ended dns',
    '23 ended stuck',
  ]);
  assert.deepEqual(it.loginManager.locks, []);
});

test('the volumes of a group are unmounted before the next group ends', async () => {
  await using it = await machine({ csi: { endMs: 0, spec: critical }, web: { endMs: 1_000, releaseMs: 2_000 } });
  it.loginManager.announce(true);
  assert.deepEqual((await it.later(10_000)).slice(2), [
    '1 kill web 20: Terminated',
    '2 ended web',
    '4 kill csi 10: Terminated',
    '4 ended csi',
  ]);
});

test('a cancelled shutdown ends no further group, and the lock is taken again', async () => {
  await using it = await machine({ dns: { endMs: 1_000, spec: critical }, web: { endMs: 5_000 } });
  it.loginManager.announce(true);
  await it.later(1_000);
  it.loginManager.announce(false);
  assert.deepEqual(await it.later(10_000), [
    '2 Normal Shutdown: Shutdown manager detected shutdown cancellation',
    '2 ready',
    '6 ended web',
  ]);
  assert.equal(it.shutdown.isShuttingDown, false);
  assert.equal(it.loginManager.locks.length, 1);
  it.loginManager.announce(true);
  assert.ok(
    (await it.later(1_000)).some((line) => line.endsWith('kill dns 10: Terminated') || line.includes('kill web')),
  );
});

test('the delay of logind is raised where it is too short', async () => {
  await using it = await machine({});
  const path = '/etc/systemd/logind.conf.d/99-kubelet.conf';
  assert.equal(await it.fs.readText(path), '# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=30\n');
  assert.equal(it.loginManager.delayMs, 30_000);
});

test('a lost connection is opened again', async () => {
  await using it = await machine({ web: { endMs: 0 } });
  it.loginManager.disconnect();
  await it.later(1_500);
  assert.equal(it.loginManager.locks.length, 1);
  it.loginManager.announce(true);
  assert.ok((await it.later(1_000)).includes('2.5 kill web 20: Terminated'));
});

test('logind that comes up later is found', async () => {
  await using it = await machine({});
  it.loginManager.isAvailable = false;
  it.loginManager.disconnect();
  await it.later(5_000);
  it.loginManager.isAvailable = true;
  await it.later(5_000);
  it.loginManager.announce(true);
  await it.later(1);
  assert.equal(it.shutdown.isShuttingDown, true);
});

test('the lock is released when the agent stops', async () => {
  const it = await machine({});
  await it.stop();
  assert.deepEqual(it.loginManager.locks, []);
});

test('nothing is delayed without a period', async () => {
  await using it = await machine({ web: { endMs: 0 } }, { graceMs: 0, criticalMs: 0 });
  assert.deepEqual(it.loginManager.locks, []);
  it.loginManager.announce(true);
  assert.deepEqual(await it.later(1_000), []);
});
