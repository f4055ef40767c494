import assert from 'node:assert/strict';
import test from 'node:test';
import type { Node } from '../../../api/generated/core-v1.ts';
import { silentLog } from '../../../base/log.ts';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { createMemoryApiServer } from '../../api-client/fake/memory-api-server.ts';
import { NodeCache, nodeKey } from '../node-cache.ts';
import { NodeStatusWriter } from './node-status-writer.ts';

const key = nodeKey('box');
const FOREVER = new AbortController().signal;

function nodeThatIs(status: string, lastHeartbeatTime: string): Node {
  const conditions = [{ type: 'Ready', status, lastHeartbeatTime }];
  return { metadata: { name: 'box' }, spec: {}, status: { conditions } };
}

test('NodeStatusWriter repairs a condition that changed while its watch was broken', async () => {
  const { clock, random } = createMemoryHost();
  const { direct: api } = createMemoryApiServer({ clock, random });
  const cache = new NodeCache('box');
  cache.onObserved(await api.create(key, nodeThatIs('True', '2026-01-01T00:00:00Z'), FOREVER));
  await api.patch(
    key,
    { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } },
    { subresource: 'status' },
    FOREVER,
  );

  const settings = { nodeName: 'box', statusUpdateMs: 10_000, statusReportMs: 300_000 };
  const compose = async (before: Node) => {
    const { status } = nodeThatIs('True', '2026-01-01T00:05:00Z');
    return { node: { ...before, status }, events: [], errors: [] };
  };
  const deps = { api, cache, compose, onReported() {}, recordEvents() {}, clock, random, log: silentLog };
  const stop = new AbortController();
  const running = new NodeStatusWriter(settings, deps).run(stop.signal);
  await clock.advance(1);
  const { status } = await api.get(key, FOREVER);
  assert.equal(status?.conditions?.[0]?.status, 'True');
  stop.abort();
  await running;
});
