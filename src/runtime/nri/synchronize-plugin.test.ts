import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startNri } from './fake/nri-world.ts';
import { sampleContainer, sampleSpec } from './fake/sample-records.ts';
import { Container, PodSandbox, SynchronizeRequest } from './generated/nri-v1alpha1.ts';
import { syncRequests } from './synchronize-plugin.ts';

const pod = (id: string): PodSandbox => PodSandbox.create({ id });
const container = (id: string): Container => Container.create({ id });

test('syncRequests() sends a small state in one message, even if empty', () => {
  const shown = (requests: readonly SynchronizeRequest[]) =>
    requests.map(({ pods, containers, more }) => [pods.length, containers.length, more]);
  assert.deepEqual(shown(syncRequests([], [])), [[0, 0, false]]);
  assert.deepEqual(shown(syncRequests([pod('p')], [container('a'), container('b')])), [[1, 2, false]]);
});

test('syncRequests() splits a large state in order, each message within the limit', () => {
  const pods = Array.from({ length: 10 }, (_, index) => pod(`pod-${index}`));
  const containers = Array.from({ length: 10 }, (_, index) => container(`container-${index}`));
  const requests = syncRequests(pods, containers, 60);
  assert.ok(requests.length > 1);
  assert.deepEqual(
    requests.flatMap((request) => request.pods),
    pods,
  );
  assert.deepEqual(
    requests.flatMap((request) => request.containers),
    containers,
  );
  assert.deepEqual(
    requests.map(({ more }) => more),
    requests.map((_, index) => index < requests.length - 1),
  );
  for (const request of requests) assert.ok(SynchronizeRequest.encode(request).finish().byteLength <= 60);
});

test('a plugin is synchronized with thousands of containers in several messages', async (t) => {
  const { connect, host, containers } = await startNri(t);
  const long = { ...sampleSpec, process: { ...sampleSpec.process, env: [`LONG=${'x'.repeat(3000)}`] } };
  for (let index = 0; index < 2000; index++) containers.push(sampleContainer({ id: `c${index}`, spec: long }));
  const seen: string[] = [];
  const plugin = await connect({
    synchronize: ({ containers, more }) => {
      seen.push(...containers.map(({ id }) => id));
      return { more };
    },
  });
  await plugin.register('example', '10');
  await host.clock.advance(0);
  assert.deepEqual(
    seen,
    containers.map(({ id }) => id),
  );
  assert.deepEqual(plugin.calls, ['configure', 'synchronize', 'synchronize']);
});

test('a plugin that does not support split messages does not join', async (t) => {
  const { join, containers } = await startNri(t);
  const long = { ...sampleSpec, process: { ...sampleSpec.process, env: [`LONG=${'x'.repeat(3_000_000)}`] } };
  containers.push(sampleContainer({ id: 'c1', spec: long }), sampleContainer({ id: 'c2', spec: long }));
  await (await join('10-old', { synchronize: () => ({ more: false }) })).closed;
});
