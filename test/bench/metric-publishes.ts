/**
 * What metrics cost on a pod's way: how many messages the start of a pod publishes, and how long one takes with the subscribers
 * of `/metrics` and without.
 *
 *   scripts/node test/bench/metric-publishes.ts [--messages 1000000]
 */
import { channel, tracingChannel } from 'node:diagnostics_channel';
import { parseArgs } from 'node:util';
import { instrument, RPC_CHANNEL } from '../../src/cri/instrument.ts';
import { imageChannel } from '../../src/kubelet/images/image-channel.ts';
import { workerChannel } from '../../src/kubelet/workers/worker-channel.ts';
import { podWithScratch, startMeasuredAgent } from '../agent/fed-metrics.ts';
import { createPod, FOREVER, newWorld } from '../agent/memory-agent.ts';

/** All channels that metrics subscribe to, but those of calls to the runtime. */
const CHANNELS = [
  ...['api.call', 'certificate', 'cgroup', 'dra', 'eviction', 'health', 'hook', 'image', 'node', 'placement', 'pleg'],
  ...['plugin', 'pod.rejection', 'pod.start', 'pod.status', 'pod.watch', 'pod.worker', 'probe', 'volume'],
].map((name) => `nodelet.${name}`);

const { values } = parseArgs({ options: { messages: { type: 'string', default: '1000000' } } });
const messages = Number(values.messages);

const PUBLISHES: Readonly<Record<string, () => void>> = {
  'a histogram with a label': () => workerChannel.publish({ kind: 'ran', operation: 'sync', tookMs: 20 }),
  'a counter with three labels': () =>
    imageChannel.publish({ kind: 'requested', pullPolicy: 'IfNotPresent', isPresent: true, mustPull: false }),
};

function nanosecondsOf(publish: () => void): number {
  for (let i = 0; i < messages / 10; i++) publish();
  const began = process.hrtime.bigint();
  for (let i = 0; i < messages; i++) publish();
  return Number(process.hrtime.bigint() - began) / messages;
}

/** A call of the runtime in memory, which does nothing but publish. */
async function nanosecondsOfCall(): Promise<number> {
  const { version } = instrument(newWorld().runtime.cri).runtime;
  const began = process.hrtime.bigint();
  for (let i = 0; i < messages / 10; i++) await version({ version: '' }, FOREVER);
  return Number(process.hrtime.bigint() - began) / (messages / 10);
}

async function report(what: string): Promise<void> {
  for (const [name, publish] of Object.entries(PUBLISHES))
    console.log(`${name}, ${what}: ${nanosecondsOf(publish).toFixed(0)} ns`);
  await nanosecondsOfCall(); // compiled
  console.log(`a call of the runtime, ${what}: ${(await nanosecondsOfCall()).toFixed(0)} ns`);
}

async function countOfOnePod(): Promise<ReadonlyMap<string, number>> {
  await using measured = await startMeasuredAgent();
  const { world } = measured;
  await world.host.clock.advance(1_000);
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const listeners = CHANNELS.map((name) => [name, () => count(name)] as const);
  for (const [name, listener] of listeners) channel(name).subscribe(listener);
  const calls = tracingChannel<object>(RPC_CHANNEL);
  const onCall = { start: () => count('calls of the runtime'), end() {}, asyncStart() {}, asyncEnd() {}, error() {} };
  calls.subscribe(onCall);
  await createPod(world, podWithScratch('web'));
  await world.host.clock.advance(5_000);
  for (const [name, listener] of listeners) channel(name).unsubscribe(listener);
  calls.unsubscribe(onCall);
  await report('with the subscribers of /metrics');
  return counts;
}

const counts = await countOfOnePod();
await report('without subscribers');
console.log('messages of the start of a pod with one container and an emptyDir:', Object.fromEntries(counts));
console.log(
  'in total:',
  [...counts.values()].reduce((sum, each) => sum + each, 0),
);
