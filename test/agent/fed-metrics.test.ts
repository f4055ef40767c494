/** What kubernetes-mixin reads of a node on which pods run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricsText } from '../../src/base/metrics/metrics-text.ts';
import { apiCallChannel } from '../../src/kubelet/api-client/api-call-channel.ts';
import { certificateChannel } from '../../src/kubelet/certificates/certificate-channel.ts';
import { evictionChannel } from '../../src/kubelet/eviction/eviction-channel.ts';
import { podWithScratch, startMeasuredAgent } from './fed-metrics.ts';
import { createPod, podOf } from './memory-agent.ts';
import { MIXIN_METRICS } from './mixin-metrics.ts';

test('every metric that kubernetes-mixin uses has a value with its labels on a node with pods', async () => {
  await using measured = await startMeasuredAgent();
  const { world, it, metrics } = measured;
  const { clock } = world.host;
  await createPod(world, podWithScratch('web'));
  await createPod(world, podOf('broken', { containers: [{ name: 'main', image: 'absent:1' }] }));
  await clock.advance(700_000); // two relists
  publishWhatOnlyARealNodeDoes();
  assert.equal(it.agent.pods().length, 2);
  const lines = metricsText(await metrics.main.collect()).split('\n');
  const missing = Object.entries(MIXIN_METRICS).filter(([name, labels]) => {
    const series = lines.filter((line) => new RegExp(`^${name}(_count)?[{ ]`).test(line));
    return !series.some((line) => labels.every((label) => line.includes(`${label}="`)) && !hasNoObservation(line));
  });
  assert.deepEqual(missing, []);
});

/** A histogram that shows only that it exists. */
function hasNoObservation(line: string): boolean {
  return /_count(\{.*\})? 0$/.test(line);
}

/** The API server is in memory, no space is short, and nothing rotates certificates. */
function publishWhatOnlyARealNodeDoes(): void {
  const of = { method: 'GET', host: '10.0.0.1:6443' };
  apiCallChannel.publish({ kind: 'answered', of, status: 200 });
  apiCallChannel.publish({ kind: 'ended', of, tookMs: 5, requestBytes: 0, responseBytes: 9 });
  evictionChannel.publish({ signal: 'memory.available' });
  const signerName = 'kubernetes.io/kube-apiserver-client-kubelet';
  certificateChannel.publish({ kind: 'inUse', signerName, validUntilMs: 1e15, replacedAgeMs: undefined });
}
