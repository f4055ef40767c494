import assert from 'node:assert/strict';
import test from 'node:test';
import { ContainerStatusResponse, Signal } from '../../cri/generated/runtime-v1.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { PodEvents } from '../events/pod-events.ts';
import { checkStopSignal } from './check-stop-signal.ts';
import { examplePod } from './config/pod.fixture.ts';

const never = new AbortController().signal;
const podWithSignal = examplePod({ container: { lifecycle: { stopSignal: 'SIGUSR1' } } });

async function eventsOf(pod: typeof podWithSignal, stopSignal: Signal, containerStopSignals = true): Promise<string[]> {
  const events = new PodEvents(new VirtualClock());
  const recorded: string[] = [];
  events.subscribe((_, { type, reason, message }) => recorded.push(`${type} ${reason}: ${message}`));
  const runtime = { containerStatus: async () => ContainerStatusResponse.fromPartial({ status: { stopSignal } }) };
  await checkStopSignal(pod, 'web', 'c1', { runtime, events, settings: { containerStopSignals } }, never);
  return recorded;
}

test('checkStopSignal() records an event when the runtime ignores the signal', async () => {
  assert.deepEqual(await eventsOf(podWithSignal, Signal.RUNTIME_DEFAULT), [
    'Warning StopSignalIgnored: Container web asks to be stopped with SIGUSR1. The runtime does not support that: ' +
      'it will use the signal of the image, or SIGTERM.',
  ]);
});

test('checkStopSignal() records nothing when the signal is set, not requested, or the gate is off', async () => {
  assert.deepEqual(await eventsOf(podWithSignal, Signal.SIGUSR1), []);
  assert.deepEqual(await eventsOf(examplePod(), Signal.RUNTIME_DEFAULT), []);
  assert.deepEqual(await eventsOf(podWithSignal, Signal.RUNTIME_DEFAULT, false), []);
});
