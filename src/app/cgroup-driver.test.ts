import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../base/log.ts';
import { CriError } from '../cri/cri-error.ts';
import { CgroupDriver, RuntimeConfigResponse } from '../cri/generated/runtime-v1.ts';
import { chooseCgroupDriver } from './cgroup-driver.ts';

const never = new AbortController().signal;
const reporting = (cgroupDriver: CgroupDriver) => async () =>
  RuntimeConfigResponse.fromPartial({ linux: { cgroupDriver } });
const failing = (error: Error) => async (): Promise<never> => {
  throw error;
};

const cases = {
  'the driver of the runtime, cgroupfs': { configured: 'systemd', answer: CgroupDriver.CGROUPFS, driver: 'cgroupfs' },
  'the driver of the runtime, systemd': { configured: 'cgroupfs', answer: CgroupDriver.SYSTEMD, driver: 'systemd' },
} as const;

for (const [what, { configured, answer, driver }] of Object.entries(cases)) {
  test(`chooseCgroupDriver() takes ${what}`, async () => {
    const runtime = { runtimeConfig: reporting(answer) };
    assert.equal(await chooseCgroupDriver(configured, runtime, silentLog, never), driver);
  });
}

test('chooseCgroupDriver() takes the configured driver of a runtime that reports none', async () => {
  const older = { runtimeConfig: failing(new CriError('Unimplemented', 'unknown method RuntimeConfig')) };
  const silent = { runtimeConfig: async () => RuntimeConfigResponse.fromPartial({}) };
  for (const runtime of [older, silent]) {
    assert.equal(await chooseCgroupDriver('systemd', runtime, silentLog, never), 'systemd');
    assert.equal(await chooseCgroupDriver('cgroupfs', runtime, silentLog, never), 'cgroupfs');
  }
});

test('chooseCgroupDriver() does not guess while the runtime fails', async () => {
  const runtime = { runtimeConfig: failing(new CriError('Unavailable', 'not ready')) };
  await assert.rejects(chooseCgroupDriver('systemd', runtime, silentLog, never), { code: 'Unavailable' });
});
