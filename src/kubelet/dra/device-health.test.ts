import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { HealthStatus } from '../../plugins/generated/dra-health-v1alpha1.ts';
import { applyHealthReport, currentHealth, decodeHealth, encodeHealth, type HealthByDriver } from './device-health.ts';
import { DeviceHealthStates } from './device-health-states.ts';
import { KUBELET_HEALTH } from './kubelet-dra-state.fixture.ts';

const DRIVER = 'gpu.example.com';
const NONE: HealthByDriver = new Map();

function report(name: string, health: HealthStatus, { message = '', timeout = 0n } = {}) {
  const device = { poolName: 'box', deviceName: name };
  return { device, health, message, lastUpdatedTime: 0n, healthCheckTimeoutSeconds: timeout };
}
const healthOf = (states: HealthByDriver, deviceName: string, nowMs: number) =>
  currentHealth(states, { driver: DRIVER, poolName: 'box', deviceName }, nowMs);

suite('the health of devices', () => {
  test('changes of health, message and timeout are found, a repetition changes nothing', () => {
    const changesOf = (...reports: readonly ReturnType<typeof report>[]): number[] => {
      let states = NONE;
      return reports.map((each, index) => {
        const update = applyHealthReport(states, DRIVER, [each], index);
        states = update.states;
        return update.changed.length;
      });
    };
    const { HEALTHY, UNHEALTHY } = HealthStatus;
    const all = [
      report('a', HEALTHY),
      report('a', HEALTHY),
      report('a', UNHEALTHY),
      report('a', UNHEALTHY, { message: 'hot' }),
      report('a', UNHEALTHY, { message: 'hot', timeout: 9n }),
      report('a', UNHEALTHY, { message: 'hot', timeout: 9n }),
    ];
    assert.deepEqual(changesOf(...all), [1, 0, 1, 1, 1, 0]);
  });

  test('is unknown after the timeout of the device, or of 30 seconds', () => {
    const reports = [
      report('a', HealthStatus.HEALTHY),
      report('b', HealthStatus.HEALTHY, { timeout: 60n }),
      report('c', HealthStatus.HEALTHY, { timeout: -5n }),
    ];
    const { states } = applyHealthReport(NONE, DRIVER, reports, 0);
    const seen = (nowMs: number) => ['a', 'b', 'c', 'd'].map((name) => healthOf(states, name, nowMs).health);
    assert.deepEqual(seen(30_000), ['Healthy', 'Healthy', 'Healthy', 'Unknown']);
    assert.deepEqual(seen(30_001), ['Unknown', 'Healthy', 'Unknown', 'Unknown']);
    assert.deepEqual(seen(60_001), ['Unknown', 'Unknown', 'Unknown', 'Unknown']);
  });

  test('a device that is not reported any more changes to unknown once', () => {
    const first = applyHealthReport(NONE, DRIVER, [report('a', HealthStatus.UNHEALTHY, { message: 'hot' })], 0);
    const soon = applyHealthReport(first.states, DRIVER, [], 1_000);
    assert.deepEqual(soon.changed, []);
    assert.equal(healthOf(soon.states, 'a', 1_000).message, 'hot');
    const later = applyHealthReport(soon.states, DRIVER, [], 31_000);
    assert.deepEqual(
      later.changed.map(({ health, message }) => [health, message]),
      [['Unknown', '']],
    );
    assert.deepEqual(applyHealthReport(later.states, DRIVER, [], 90_000).changed, []);
  });

  test('a long message is cut at 1024 bytes', () => {
    const long = report('a', HealthStatus.UNHEALTHY, { message: 'ü'.repeat(600) });
    const { message } = healthOf(applyHealthReport(NONE, DRIVER, [long], 0).states, 'a', 0);
    assert.equal(message, `${'ü'.repeat(510)}...`);
  });

  test("kubelet's file is read, and written byte for byte", () => {
    const states = decodeHealth(KUBELET_HEALTH);
    assert.equal(encodeHealth(states), KUBELET_HEALTH);
    const updatedMs = 1_763_300_000_123;
    assert.deepEqual(healthOf(states, 'gpu-1', updatedMs + 90_000).message, 'too <hot>');
    assert.deepEqual(healthOf(states, 'gpu-1', updatedMs + 90_001).message, '');
  });
});

suite('the health file', () => {
  const start = async (text?: string) => {
    const { fs, clock } = createMemoryHost();
    await fs.makeDirectory('/k');
    if (text !== undefined) await fs.writeFile('/k/dra_health_state', text);
    const [changes, life]: [string[], AbortController] = [[], new AbortController()];
    const onChanged = (driver: string, devices: readonly { deviceName: string }[]): void =>
      void changes.push(`${driver}: ${devices.map(({ deviceName }) => deviceName).join()}`);
    const states = await DeviceHealthStates.read('/k', { fs, clock, log: silentLog, onChanged }, life.signal);
    return { clock, states, changes, read: () => fs.readText('/k/dra_health_state') };
  };

  test('has each change, and is empty after the driver is lost', async () => {
    const { states, changes, read } = await start();
    states.onHealth(DRIVER, [report('a', HealthStatus.HEALTHY)]);
    states.onHealth(DRIVER, [report('a', HealthStatus.HEALTHY)]);
    await states.settled();
    assert.match(await read(), /"Health":"Healthy"/);
    states.onHealthLost(DRIVER);
    states.onHealthLost(DRIVER);
    await states.settled();
    assert.equal(await read(), '{}');
    assert.deepEqual(changes, [`${DRIVER}: a`, `${DRIVER}: a`]);
  });

  test('a device whose timeout is over wakes its users once', async () => {
    const { states, changes, clock } = await start();
    const reports = [report('a', HealthStatus.HEALTHY), report('b', HealthStatus.UNHEALTHY, { timeout: 60n })];
    states.onHealth(DRIVER, reports);
    await clock.advance(20_000);
    states.onHealth(DRIVER, reports);
    await clock.advance(30_000);
    assert.deepEqual(changes, [`${DRIVER}: a,b`]);
    await clock.advance(1);
    assert.deepEqual(changes.slice(1), [`${DRIVER}: a`]);
    await clock.advance(120_000);
    assert.deepEqual(changes.slice(2), [`${DRIVER}: b`]);
    assert.equal(states.get(DRIVER, 'box', 'b').health, 'Unknown');
  });

  test('a corrupt one is not used, and replaced', async () => {
    const { states, read } = await start('{"gpu": [1]');
    assert.equal(states.get(DRIVER, 'box', 'a').health, 'Unknown');
    states.onHealth(DRIVER, [report('a', HealthStatus.HEALTHY)]);
    await states.settled();
    assert.match(await read(), /^\{"gpu.example.com"/);
  });
});
