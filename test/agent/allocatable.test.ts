/** Allocatable resources: read at the start of the agent, and enforced on the cgroup of all pods. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentParts } from '../../src/app/agent.ts';
import { type AgentFacts, readAgentFacts } from '../../src/app/agent-facts.ts';
import { buildAllocatableEnforcement } from '../../src/app/build-node.ts';
import { silentLog } from '../../src/base/log.ts';
import { parseQuantity } from '../../src/base/quantity.ts';
import { createFakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import type { NodeSettings } from '../../src/kubelet/node/node-settings.ts';
import { SETTINGS } from './memory-agent.ts';
import { NODE } from './node-world.ts';

const FOREVER = new AbortController().signal;

async function factsOf(node?: Partial<NodeSettings>): Promise<{ parts: AgentParts; facts: AgentFacts }> {
  const host = createMemoryHost();
  const { cri } = createFakeRuntime(host);
  const of = { host, cri, runtimeEvents: undefined, sources: [], settings: SETTINGS, log: silentLog };
  const parts = { ...of, ...(node && { node: { ...NODE, ...node } }) };
  return { parts, facts: await readAgentFacts(parts, FOREVER) };
}

test('allocatable is what is not reserved, and the labels are those of the registered node', async () => {
  const { facts } = await factsOf({
    kubeReserved: new Map([['memory', parseQuantity('1Gi')]]),
    thresholds: [{ signal: 'memory.available', value: { quantity: parseQuantity('1Gi') }, gracePeriodMs: 0 }],
    podsPerCore: 1,
    labels: { disk: 'fast' },
  });
  assert.equal(facts.allocatable['memory'], '14Gi');
  assert.equal(facts.node.maxPods, facts.hostFacts.cpuCount);
  assert.equal(facts.node.labels['disk'], 'fast');
  assert.equal(facts.node.labels['kubernetes.io/hostname'], 'box');
});

test('a standalone node reserves nothing', async () => {
  const { facts } = await factsOf();
  assert.equal(facts.allocatable['memory'], String(16 * 2 ** 30));
  assert.equal(facts.node.maxPods, 110);
});

test('the cgroup of all pods is limited only on a node of a cluster', async () => {
  const recorded: string[] = [];
  const events = { record: (_type: string, reason: string) => void recorded.push(reason) };
  const alone = await factsOf();
  await buildAllocatableEnforcement(alone.parts, alone.facts, events).run(FOREVER);
  assert.ok(!(await alone.parts.host.cgroups.exists('/kubepods')));
  const node = await factsOf({});
  await buildAllocatableEnforcement(node.parts, node.facts, events).run(FOREVER);
  assert.ok(await node.parts.host.cgroups.exists('/kubepods'));
  assert.deepEqual(recorded, ['NodeAllocatableEnforced']);
});
