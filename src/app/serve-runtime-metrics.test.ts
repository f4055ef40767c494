import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../base/log.ts';
import { createMemoryHost } from '../host/fake/memory-host.ts';
import { RuntimeMetrics } from '../runtime/metrics/runtime-metrics.ts';
import { metricsAddress } from './runtime-config/runtime-configuration.ts';
import { serveRuntimeMetrics } from './serve-runtime-metrics.ts';

const addresses: Record<string, object | undefined> = {
  '127.0.0.1:1338': { host: '127.0.0.1', port: 1338 },
  ':1338': { host: '127.0.0.1', port: 1338 },
  '0.0.0.0:1338': { host: '0.0.0.0', port: 1338 },
  '[::1]:1338': { host: '::1', port: 1338 },
  'unix:///run/m.sock': { socketPath: '/run/m.sock' },
  'unix://m.sock': undefined,
  '1338': undefined,
  ':99999': undefined,
  'localhost:1338': undefined,
  '1.2.3:1338': undefined,
  '::1:1338': undefined,
};

for (const [text, expected] of Object.entries(addresses))
  test(`--metrics-listen ${text} is ${expected ? 'an address' : 'refused'}`, () =>
    assert.deepEqual(metricsAddress(text), expected));

test('an address that cannot be listened on is named', async () => {
  const host = createMemoryHost();
  const { fs } = host;
  const network = {
    serve: () => Promise.reject(new Error('permission denied')),
    serveTcp: () => Promise.reject(new Error('address already in use')),
  };
  const metrics = new RuntimeMetrics(host.clock);
  const serve = (text: string) => {
    const address = metricsAddress(text);
    assert.ok(address);
    return serveRuntimeMetrics(address, metrics, { network, fs, log: silentLog });
  };
  await assert.rejects(serve('[::1]:1338'), {
    message: '--metrics-listen: cannot serve metrics on [::1]:1338: address already in use',
  });
  await assert.rejects(serve('unix:///run/m.sock'), {
    message: '--metrics-listen: cannot serve metrics on unix:///run/m.sock: permission denied',
  });
});
