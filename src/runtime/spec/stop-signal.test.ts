import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { test } from 'node:test';
import { Signal } from '../../cri/generated/runtime-v1.ts';
import { chooseStopSignal, signalNumber } from './stop-signal.ts';

const cases: Record<string, { requested?: Signal; image?: string; name: string; number: number }> = {
  'SIGTERM by default': { name: 'SIGTERM', number: 15 },
  "the image's name": { image: 'SIGQUIT', name: 'SIGQUIT', number: 3 },
  "the image's short name": { image: 'usr1', name: 'SIGUSR1', number: 10 },
  "the image's number": { image: '3', name: 'SIGQUIT', number: 3 },
  "the image's real-time number": { image: '37', name: 'SIGRTMIN+3', number: 37 },
  "systemd's signal": { image: 'SIGRTMIN+3', name: 'SIGRTMIN+3', number: 37 },
  "the container's own": { requested: Signal.SIGHUP, image: 'SIGQUIT', name: 'SIGHUP', number: 1 },
  "the container's own above RTMIN": { requested: Signal.SIGRTMINPLUS3, name: 'SIGRTMIN+3', number: 37 },
  "the container's own below RTMAX": { requested: Signal.SIGRTMAXMINUS2, name: 'SIGRTMAX-2', number: 62 },
};

for (const [name, { requested = Signal.RUNTIME_DEFAULT, image = '', ...expected }] of Object.entries(cases)) {
  test(`the stop signal is ${name}`, () => {
    const signal = chooseStopSignal(requested, image);
    assert.deepEqual({ name: signal, number: signalNumber(signal) }, expected);
  });
}

test('an unknown stop signal is rejected', () => {
  const error = { code: 'InvalidArgument', message: 'config.image: invalid stop signal "SIGNONE"' };
  assert.throws(() => chooseStopSignal(Signal.RUNTIME_DEFAULT, 'SIGNONE'), error);
  assert.throws(() => chooseStopSignal(999 as Signal, ''), { message: 'config.stop_signal: unknown signal 999' });
});

test('signalNumber() knows every signal of CRI and of this machine', () => {
  const names = Object.entries(Signal).filter(([, value]) => value !== Signal.RUNTIME_DEFAULT);
  for (const [name, value] of names) assert.ok(signalNumber(chooseStopSignal(value, '')) !== undefined, name);
  for (const [name, number] of Object.entries(constants.signals)) assert.equal(signalNumber(name), number, name);
  for (const none of ['', '0', '65', 'SIGRTMIN-1', 'SIGRTMAX+1', 'SIGRTMIN+31'])
    assert.equal(signalNumber(none), undefined);
});
