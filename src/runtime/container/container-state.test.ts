import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerRecordState } from '../store/container-record.ts';
import { type ContainerEvent, failedStart, monitoredExit, nextContainerState } from './container-state.ts';

const running: ContainerRecordState = { phase: 'running', pid: 7, startedAtNs: 100n, bootId: 'b' };
const end = { finishedAtNs: 200n, exitCode: 3, reason: 'Error', message: '' };
const exited: ContainerRecordState = { phase: 'exited', startedAtNs: 50n, ...end };
const states: readonly ContainerRecordState[] = [
  { phase: 'creating' },
  { phase: 'created' },
  { phase: 'starting' },
  running,
  exited,
];

/** The next state of creating, created, starting, running and exited for each event; a dot: unchanged. */
const table: ReadonlyArray<readonly [ContainerEvent, ReadonlyArray<ContainerRecordState | '.'>]> = [
  [{ type: 'created' }, [{ phase: 'created' }, '.', '.', '.', '.']],
  [{ type: 'startBegan' }, ['.', { phase: 'starting' }, '.', '.', '.']],
  [{ type: 'startUndone' }, ['.', '.', { phase: 'created' }, '.', '.']],
  [{ type: 'started', pid: 7, startedAtNs: 100n, bootId: 'b' }, ['.', '.', running, '.', '.']],
  [
    { type: 'ended', ...end },
    [
      { phase: 'exited', ...end },
      { phase: 'exited', ...end },
      { phase: 'exited', ...end },
      { phase: 'exited', ...end, startedAtNs: 100n },
      '.',
    ],
  ],
];

for (const [event, becomes] of table) {
  for (const [index, state] of states.entries()) {
    const expected = becomes[index] === '.' ? state : becomes[index];
    test(`nextContainerState() of ${state.phase}, ${event.type}`, () => {
      assert.deepEqual(nextContainerState(state, event), expected);
    });
  }
}

test('nextContainerState() never finishes a container before its start', () => {
  assert.deepEqual(nextContainerState(running, { type: 'ended', ...end, finishedAtNs: 99n }), {
    phase: 'exited',
    ...end,
    startedAtNs: 100n,
    finishedAtNs: 100n,
  });
});

test('monitoredExit() uses the reasons that kubelet expects', () => {
  const exitOf = (exitCode: number, oomKilled: boolean) =>
    monitoredExit({ kind: 'exited', exitCode, oomKilled, finishedAtMs: 5 }, 9n);
  assert.deepEqual(exitOf(0, false), {
    type: 'ended',
    finishedAtNs: 5_000_000n,
    exitCode: 0,
    reason: 'Completed',
    message: '',
  });
  assert.equal(exitOf(1, false).reason, 'Error');
  assert.equal(exitOf(137, true).reason, 'OOMKilled');
  const { message, ...lost } = monitoredExit({ kind: 'monitorLost' }, 9n);
  assert.deepEqual(lost, { type: 'ended', finishedAtNs: 9n, exitCode: 255, reason: 'Unknown' });
  assert.match(message, /monitor .* is gone/);
});

test('failedStart() has a non-zero exit code', () => {
  assert.deepEqual(failedStart('no such file', 4n), {
    type: 'ended',
    finishedAtNs: 4n,
    exitCode: 128,
    reason: 'StartError',
    message: 'no such file',
  });
});
