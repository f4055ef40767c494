import assert from 'node:assert/strict';
import test from 'node:test';
import { LINUX_SIGNALS } from '../../../api/stop-signals.ts';
import { Signal } from '../../../cri/generated/runtime-v1.ts';
import { exampleContainer } from './pod.fixture.ts';
import { stopSignalName, stopSignalOf } from './stop-signal.ts';

const on = { containerStopSignals: true };
const asking = (stopSignal: string) => ({ ...exampleContainer, lifecycle: { stopSignal } });

test('stopSignalOf() is the default without a stop signal, or while the gate is off', () => {
  assert.equal(stopSignalOf(exampleContainer, on), Signal.RUNTIME_DEFAULT);
  assert.equal(stopSignalOf(asking('SIGUSR1'), {}), Signal.RUNTIME_DEFAULT);
});

test('every stop signal has a CRI value and a name', () => {
  for (const name of LINUX_SIGNALS) assert.equal(stopSignalName(stopSignalOf(asking(name), on)), name);
  assert.equal(stopSignalOf(asking('SIGRTMIN+15'), on), Signal.SIGRTMINPLUS15);
  assert.equal(stopSignalOf(asking('SIGRTMAX-14'), on), Signal.SIGRTMAXMINUS14);
});

test('stopSignalName() is undefined when the runtime does not report it', () => {
  assert.equal(stopSignalName(Signal.RUNTIME_DEFAULT), undefined);
});
