import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkerView } from './pod-state-queries.ts';
import * as queries from './pod-state-queries.ts';

const failure = { phase: 'Failed', reason: 'Evicted', message: 'no' } as const;

const pods: Record<string, WorkerView | undefined> = {
  waiting: { state: { phase: 'waiting' }, removed: false },
  syncing: { state: { phase: 'syncing' }, removed: false },
  terminating: { state: { phase: 'terminating', graceSeconds: 30 }, removed: false },
  evicting: { state: { phase: 'terminating', graceSeconds: 30, failure }, removed: false },
  terminated: { state: { phase: 'terminated' }, removed: false },
  'terminated and removed': { state: { phase: 'terminated' }, removed: true },
  finished: { state: { phase: 'finished' }, removed: false },
  'finished and removed': { state: { phase: 'finished' }, removed: true },
  unknown: undefined,
};

const after = ['terminated', 'terminated and removed', 'finished', 'finished and removed'];
const ending = ['terminating', 'evicting', ...after];
const before = ['waiting', 'syncing', 'terminating', 'evicting'];

/** The pods for which each query is true, before and after the workers were compared with the sources. */
const cases: Record<keyof typeof queries, { early: string[]; synced: string[] }> = {
  isKnownTerminated: { early: after, synced: after },
  couldHaveRunningContainers: { early: [...before, 'unknown'], synced: before },
  shouldBeFinished: {
    early: ['finished', 'finished and removed'],
    synced: ['finished', 'finished and removed', 'unknown'],
  },
  isEndedByNode: { early: ['evicting'], synced: ['evicting'] },
  isTerminationRequested: { early: ending, synced: ending },
  shouldContainersBeTerminating: { early: ending, synced: [...ending, 'unknown'] },
  shouldRuntimeBeRemoved: { early: after, synced: [...after, 'unknown'] },
  shouldContentBeRemoved: {
    early: ['evicting', 'terminated and removed', 'finished and removed'],
    synced: ['evicting', 'terminated and removed', 'finished and removed', 'unknown'],
  },
};

for (const [name, query] of Object.entries(queries)) {
  test(`${name}()`, () => {
    const yes = (synced: boolean) => Object.keys(pods).filter((pod) => query(pods[pod], synced));
    const expected = Object.entries(cases).find(([key]) => key === name)?.[1];
    assert.deepEqual({ early: yes(false), synced: yes(true) }, expected);
  });
}
