import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Signal } from '../../cri/generated/runtime-v1.ts';
import { chooseStopSignal } from '../spec/stop-signal.ts';
import { signalForCri } from './stop-signal.ts';

test('signalForCri() maps every signal of CRI to itself', () => {
  for (const signal of Object.values(Signal).filter((each) => each !== Signal.RUNTIME_DEFAULT)) {
    assert.equal(signalForCri(chooseStopSignal(signal, '')), signal);
  }
});

test('signalForCri() maps other names by their number', () => {
  assert.equal(signalForCri('15'), Signal.SIGTERM);
  assert.equal(signalForCri('usr1'), Signal.SIGUSR1);
  assert.equal(signalForCri('RTMIN+15'), Signal.SIGRTMINPLUS15);
  assert.equal(signalForCri('nonsense'), Signal.RUNTIME_DEFAULT);
});
