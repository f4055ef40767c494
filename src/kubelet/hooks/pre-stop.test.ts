import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeRuntime } from '../../cri/fake/fake-runtime.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { PodEvents } from '../events/pod-events.ts';
import { Timeline } from '../events/timeline.ts';
import { runPreStopThen } from './pre-stop.ts';

const spec = {
  initContainers: [{ name: 'init' }],
  containers: [{ name: 'main' }],
  ephemeralContainers: [{ name: 'debug' }],
};
const metadata = { name: 'web', namespace: 'default', uid: 'u' };

const cases: Record<string, readonly string[]> = {
  init: ['stopped'],
  main: ['stopped'],
  debug: ['stopped'],
  'of an older spec': ['containerStatus', 'stopped'],
};

for (const [name, happens] of Object.entries(cases)) {
  test(`runPreStopThen() reads the hook from the runtime only for containers that the spec does not have: ${name}`, async (t) => {
    const { clock, random, network } = createMemoryHost();
    const fake = createFakeRuntime({ clock, random });
    const happened: string[] = [];
    fake.failures.everyCall((method) => {
      happened.push(method);
      return undefined;
    });
    const events = new PodEvents(clock);
    const exec = () => assert.fail('no hook is to run');
    const hooks = { clock, network, exec, events, podIP: () => undefined };
    const deps = { runtime: fake.cri.runtime, timeline: new Timeline(clock), events, hooks };
    const stop = async (): Promise<void> => void happened.push('stopped');
    await runPreStopThen({ pod: { metadata, spec }, id: 'c1', name, graceSeconds: 30 }, deps, stop, t.signal);
    assert.deepEqual(happened, happens);
  });
}
