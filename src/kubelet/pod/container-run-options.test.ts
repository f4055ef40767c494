import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Device, Mount } from '../../cri/generated/runtime-v1.ts';
import { mergeRunOptions } from './container-run-options.ts';

test('mergeRunOptions() of no managers adds nothing', () => {
  assert.deepEqual(mergeRunOptions([]), {
    devices: [],
    mounts: [],
    env: new Map(),
    annotations: new Map(),
    cdiDevices: [],
  });
});

test('mergeRunOptions() joins what the managers add', () => {
  const device = Device.fromPartial({ hostPath: '/dev/gpu0', containerPath: '/dev/gpu0', permissions: 'rw' });
  const mount = Mount.fromPartial({ hostPath: '/opt/gpu', containerPath: '/opt/gpu', readonly: true });
  assert.deepEqual(
    mergeRunOptions([
      { cpusetCpus: '2-3', hasExclusiveCpus: true },
      { cpusetMems: '0' },
      { devices: [device], mounts: [mount], env: new Map([['GPU', '0']]), cdiDevices: ['vendor.com/gpu=0'] },
      { env: new Map([['GPU', '1']]), cdiDevices: ['vendor.com/gpu=0', 'vendor.com/gpu=1'] },
    ]),
    {
      cpusetCpus: '2-3',
      hasExclusiveCpus: true,
      cpusetMems: '0',
      devices: [device],
      mounts: [mount],
      env: new Map([['GPU', '1']]),
      annotations: new Map(),
      cdiDevices: ['vendor.com/gpu=0', 'vendor.com/gpu=1'],
    },
  );
});
