import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, ContainerState, ContainerStatus, Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { podRow } from './pod-row.ts';

const NOW = 1_794_739_649_000; // 2026-11-15T10:47:29Z
const RUNNING: ContainerState = { running: { startedAt: '2026-11-15T10:45:30Z' } };
const INITIALIZED = { type: 'Initialized', status: 'True' };
const READY = { type: 'Ready', status: 'True' };

function of(name: string, state: ContainerState, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: 'x', imageID: 'x', ready: 'running' in state, restartCount: 0, state, ...more };
}

const ended = (exitCode: number, reason?: string): ContainerState => ({ terminated: { exitCode, reason } });
const waiting = (reason: string): ContainerState => ({ waiting: { reason } });
const lastEnd = { terminated: { exitCode: 1, finishedAt: '2026-11-15T10:47:04Z' } };

const web: Container = { name: 'web' };
const log: Container = { name: 'log' };
const prepare: Container = { name: 'prepare' };
const proxy: Container = { name: 'proxy', restartPolicy: 'Always' };

interface Case {
  readonly init?: readonly Container[];
  readonly containers?: readonly Container[];
  readonly status: PodStatus;
  readonly terminating?: boolean;
  /** READY, STATUS, RESTARTS */
  readonly cells: readonly [string, string, string];
}

const cases: Record<string, Case> = {
  'has only the phase of a new pod': { status: { phase: 'Pending' }, cells: ['0/1', 'Pending', '0'] },
  'shows a pod that runs': {
    status: { phase: 'Running', containerStatuses: [of('web', RUNNING)] },
    cells: ['1/1', 'Running', '0'],
  },
  'shows that a pod was evicted': {
    status: { phase: 'Failed', reason: 'Evicted', containerStatuses: [of('web', ended(137, 'Error'))] },
    cells: ['0/1', 'Evicted', '0'],
  },
  'shows why a pod was rejected': {
    status: { phase: 'Failed', reason: 'OutOfcpu' },
    cells: ['0/1', 'OutOfcpu', '0'],
  },
  'shows why a container waits': {
    status: { phase: 'Pending', containerStatuses: [of('web', waiting('ErrImagePull'))] },
    cells: ['0/1', 'ErrImagePull', '0'],
  },
  'shows the first of several containers that wait': {
    containers: [web, log],
    status: { containerStatuses: [of('web', waiting('CrashLoopBackOff')), of('log', waiting('ErrImagePull'))] },
    cells: ['0/2', 'CrashLoopBackOff', '0'],
  },
  'counts restarts and shows the age of the last one': {
    status: { containerStatuses: [of('web', waiting('CrashLoopBackOff'), { restartCount: 3, lastState: lastEnd })] },
    cells: ['0/1', 'CrashLoopBackOff', '3 (25s ago)'],
  },
  'shows a finished pod': {
    status: { phase: 'Succeeded', containerStatuses: [of('web', ended(0, 'Completed'))] },
    cells: ['0/1', 'Completed', '0'],
  },
  'shows the signal that ended a container': {
    status: { phase: 'Failed', containerStatuses: [of('web', { terminated: { exitCode: 137, signal: 9 } })] },
    cells: ['0/1', 'Signal:9', '0'],
  },
  'shows the exit code of a container without a reason': {
    status: { phase: 'Failed', containerStatuses: [of('web', ended(3))] },
    cells: ['0/1', 'ExitCode:3', '0'],
  },
  'goes on running when one of two containers is done': {
    containers: [web, log],
    status: {
      phase: 'Running',
      conditions: [READY],
      containerStatuses: [of('web', ended(0, 'Completed')), of('log', RUNNING)],
    },
    cells: ['1/2', 'Running', '0'],
  },
  'is not ready when one of two containers is done and the pod is not': {
    containers: [web, log],
    status: { phase: 'Running', containerStatuses: [of('web', ended(0, 'Completed')), of('log', RUNNING)] },
    cells: ['1/2', 'NotReady', '0'],
  },
  'prefers a failure to a success': {
    containers: [web, log],
    status: { phase: 'Failed', containerStatuses: [of('web', ended(0, 'Completed')), of('log', ended(1, 'Error'))] },
    cells: ['0/2', 'Error', '0'],
  },
  'counts init containers that are done': {
    init: [prepare, prepare],
    status: { initContainerStatuses: [of('prepare', ended(0)), of('prepare', RUNNING)] },
    cells: ['0/1', 'Init:1/2', '0'],
  },
  'waits for the first init container': {
    init: [prepare],
    status: { phase: 'Pending', initContainerStatuses: [of('prepare', waiting('PodInitializing'))] },
    cells: ['0/1', 'Init:0/1', '0'],
  },
  'shows why an init container waits': {
    init: [prepare],
    status: { initContainerStatuses: [of('prepare', waiting('ImagePullBackOff'))] },
    cells: ['0/1', 'Init:ImagePullBackOff', '0'],
  },
  'shows how an init container failed': {
    init: [prepare],
    status: { initContainerStatuses: [of('prepare', ended(1, 'Error'), { restartCount: 2, lastState: lastEnd })] },
    cells: ['0/1', 'Init:Error', '2 (25s ago)'],
  },
  'shows the exit code of an init container without a reason': {
    init: [prepare],
    status: { initContainerStatuses: [of('prepare', ended(7))] },
    cells: ['0/1', 'Init:ExitCode:7', '0'],
  },
  'shows containers that start after their init containers': {
    init: [prepare],
    status: {
      conditions: [INITIALIZED],
      initContainerStatuses: [of('prepare', ended(0))],
      containerStatuses: [of('web', waiting('PodInitializing'))],
    },
    cells: ['0/1', 'PodInitializing', '0'],
  },
  'counts sidecars among the containers': {
    init: [proxy],
    status: {
      phase: 'Running',
      conditions: [INITIALIZED],
      initContainerStatuses: [of('proxy', RUNNING, { started: true, restartCount: 1 })],
      containerStatuses: [of('web', RUNNING)],
    },
    cells: ['2/2', 'Running', '1'],
  },
  'does not count restarts of init containers once they are done': {
    init: [prepare],
    status: {
      phase: 'Running',
      initContainerStatuses: [of('prepare', ended(0), { restartCount: 4 })],
      containerStatuses: [of('web', RUNNING)],
    },
    cells: ['1/1', 'Running', '0'],
  },
  'shows a pod that is on its way out': {
    status: { phase: 'Running', containerStatuses: [of('web', RUNNING)] },
    terminating: true,
    cells: ['1/1', 'Terminating', '0'],
  },
  'does not call a finished pod terminating': {
    status: { phase: 'Succeeded', containerStatuses: [of('web', ended(0, 'Completed'))] },
    terminating: true,
    cells: ['0/1', 'Completed', '0'],
  },
};

function podOf({ init = [], containers = [web], status }: Case): Pod {
  return {
    metadata: { name: 'hello', namespace: 'default', uid: 'u' },
    spec: { containers, initContainers: init, nodeName: 'box' },
    status: { startTime: '2026-11-15T10:45:29Z', podIPs: [{ ip: '10.87.0.5' }], ...status },
  };
}

for (const [name, given] of Object.entries(cases)) {
  test(`podRow() ${name}`, () => {
    const row = podRow(podOf(given), NOW, given.terminating ?? false);
    assert.deepEqual([row.ready, row.status, row.restarts], given.cells);
  });
}

test('podRow() has the other columns of kubectl', () => {
  const row = podRow(podOf({ status: { phase: 'Running' }, cells: ['', '', ''] }), NOW, false);
  assert.deepEqual(row, {
    namespace: 'default',
    name: 'hello',
    ready: '0/1',
    status: 'Running',
    restarts: '0',
    age: '2m',
    ip: '10.87.0.5',
    node: 'box',
  });
});
