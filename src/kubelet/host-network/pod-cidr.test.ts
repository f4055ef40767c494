import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { NodeCache } from '../node/node-cache.ts';
import { passPodCidr } from './pod-cidr.ts';

function node(version: number, podCIDRs?: readonly string[]): Node {
  const metadata = { name: 'box', uid: 'uid', resourceVersion: String(version) };
  return { metadata, spec: podCIDRs ? { podCIDRs: [...podCIDRs] } : {}, status: {} } as unknown as Node;
}

function scene(configured = '') {
  const { clock } = createMemoryHost();
  const cache = new NodeCache('box');
  const passed: string[] = [];
  let failures = 0;
  const runtime = {
    updateRuntimeConfig: async (request: {
      runtimeConfig?: { networkConfig?: { podCidr: string } | undefined } | undefined;
    }) => {
      if (failures-- > 0) throw new Error('no');
      passed.push(request.runtimeConfig?.networkConfig?.podCidr ?? '');
      return {};
    },
  };
  const life = new AbortController();
  const running = passPodCidr(configured, { runtime, node: cache, clock, log: silentLog }, life.signal);
  return {
    cache,
    clock,
    passed,
    fail: (count: number) => {
      failures = count;
    },
    stop: async () => {
      life.abort(new Error('over'));
      await running;
    },
  };
}

test('the CIDRs of the node object are passed once each time they change', async () => {
  const { cache, clock, passed, stop } = scene();
  const steps = [undefined, ['10.1.0.0/24', 'fd00::/64'], ['10.1.0.0/24', 'fd00::/64'], ['10.2.0.0/24'], undefined];
  for (const [version, cidrs] of steps.entries()) {
    cache.onObserved(node(version + 1, cidrs));
    await clock.advance(100);
  }
  assert.deepEqual(passed, ['10.1.0.0/24,fd00::/64', '10.2.0.0/24']);
  await stop();
});

test('the configured CIDR is passed first', async () => {
  const { cache, clock, passed, stop } = scene('10.9.0.0/24');
  await clock.advance(100);
  cache.onObserved(node(1, ['10.1.0.0/24']));
  await clock.advance(100);
  assert.deepEqual(passed, ['10.9.0.0/24', '10.1.0.0/24']);
  await stop();
});

test('a runtime that rejects it gets it again', async () => {
  const { cache, clock, passed, fail, stop } = scene();
  fail(1);
  cache.onObserved(node(1, ['10.1.0.0/24']));
  await clock.advance(100);
  assert.deepEqual(passed, []);
  await clock.advance(10_000);
  assert.deepEqual(passed, ['10.1.0.0/24']);
  await stop();
});
