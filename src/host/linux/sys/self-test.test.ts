import assert from 'node:assert/strict';
import { test } from 'node:test';
import koffi from 'koffi';
import { machineLayout } from './layout.ts';
import { selfTest } from './self-test.ts';

const libc = koffi.load('libc.so.6');
const OTHER_ARCHITECTURE = { x64: 'arm64', arm64: 'x64' }[process.arch as 'x64' | 'arm64'];

test('selfTest() accepts the layout of this machine', () => {
  selfTest(libc, machineLayout());
});

test('selfTest() fails with a sentence on the layout of another architecture', () => {
  const { stat } = machineLayout(OTHER_ARCHITECTURE);
  assert.throws(() => selfTest(libc, { ...machineLayout(), stat }), {
    message: /^nodelet cannot make system calls on this machine \(\w+\): st_mode is \d+ .* and \d+ through Node\.js$/,
  });
});

test('machineLayout() rejects an unknown architecture', () => {
  assert.throws(() => machineLayout('riscv64'), {
    message: 'nodelet supports x64 and arm64 machines; this one is riscv64',
  });
});
