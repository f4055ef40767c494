import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodCondition, PodStatus } from '../../api/generated/core-v1.ts';
import { parseTime } from '../../base/rfc3339.ts';
import { mergePodStatus, type StatusMerge, statusesAgree } from './merge-pod-status.ts';

const EARLIER = '2026-01-01T00:00:00Z';
const NOW = '2026-01-01T00:01:00Z';

function condition(type: string, status: string, more: Partial<PodCondition> = {}): PodCondition {
  return { type, status, lastTransitionTime: EARLIER, ...more };
}

const own: PodStatus = {
  phase: 'Running',
  conditions: [condition('Ready', 'True'), condition('ContainersReady', 'True')],
  startTime: EARLIER,
  containerStatuses: [{ name: 'main', image: 'busybox', imageID: 'x', ready: true, restartCount: 0 }],
};
const healthy: StatusMerge = { api: own, own, hasRunningContainers: true, isMirror: false, nowMs: parseTime(NOW) };
const failed: PodStatus = { ...own, phase: 'Failed', reason: 'Evicted', message: 'no disk' };
const unready = [
  condition('Ready', 'False', { reason: 'PodFailed', lastTransitionTime: NOW }),
  condition('ContainersReady', 'False', { reason: 'PodFailed', lastTransitionTime: NOW }),
];
const disruption = condition('DisruptionTarget', 'True', { reason: 'TerminationByKubelet' });

const cases: Record<string, { given: Partial<StatusMerge>; status: PodStatus }> = {
  'changes nothing where the statuses agree': { given: {}, status: own },
  'brings the first status': { given: { api: { phase: 'Pending' } }, status: own },
  "keeps others' conditions in their place and adds its own behind": {
    given: {
      api: { phase: 'Pending', conditions: [condition('example.com/gate', 'True'), condition('Ready', 'False')] },
    },
    status: {
      ...own,
      conditions: [
        condition('example.com/gate', 'True'),
        condition('Ready', 'True'),
        condition('ContainersReady', 'True'),
      ],
    },
  },
  "does not write others' conditions": {
    given: { own: { ...own, conditions: [...(own.conditions ?? []), condition('example.com/gate', 'True')] } },
    status: own,
  },
  'removes its own conditions that no longer hold': {
    given: { api: { ...own, conditions: [condition('PodResizePending', 'True'), ...(own.conditions ?? [])] } },
    status: own,
  },
  'keeps the fields of others': {
    given: { api: { ...own, nominatedNodeName: 'box', resourceClaimStatuses: [{ name: 'gpu' }] } },
    status: { ...own, nominatedNodeName: 'box', resourceClaimStatuses: [{ name: 'gpu' }] },
  },
  'keeps the time at which the pod started': {
    given: { own: { ...own, startTime: NOW } },
    status: own,
  },
  'keeps the QoS class that the server has found': {
    given: { api: { ...own, qosClass: 'BestEffort' } },
    status: { ...own, qosClass: 'BestEffort' },
  },
  'does not take a generation back': {
    given: { api: { ...own, observedGeneration: 3 }, own: { ...own, observedGeneration: 2 } },
    status: { ...own, observedGeneration: 3 },
  },
  'holds a terminal phase back while containers may run': {
    given: { own: { ...failed, containerStatuses: [] } },
    status: { ...own, containerStatuses: [] },
  },
  'sends a terminal phase once no container can run, and then the pod is not ready': {
    given: { own: failed, hasRunningContainers: false },
    status: { ...failed, conditions: unready },
  },
  'sets the reason PodCompleted of a pod that succeeded': {
    given: {
      own: { ...own, phase: 'Succeeded', conditions: [condition('Ready', 'True')] },
      hasRunningContainers: false,
    },
    status: {
      ...own,
      phase: 'Succeeded',
      conditions: [condition('Ready', 'False', { reason: 'PodCompleted', lastTransitionTime: NOW })],
    },
  },
  'never leaves a terminal phase': {
    given: { api: { ...failed, conditions: unready } },
    status: { ...failed, conditions: unready },
  },
  'lets the mirror of a static pod run again': { given: { api: failed, isMirror: true }, status: own },
  'keeps the times of a mirror pod that a previous process wrote': {
    given: {
      own: { ...own, conditions: own.conditions?.map((each) => ({ ...each, lastTransitionTime: NOW })) },
      isMirror: true,
    },
    status: own,
  },
  'updates the times of changed conditions of a mirror pod': {
    given: {
      api: { ...own, conditions: [condition('Ready', 'False'), condition('ContainersReady', 'True')] },
      own: { ...own, conditions: own.conditions?.map((each) => ({ ...each, lastTransitionTime: NOW })) },
      isMirror: true,
    },
    status: {
      ...own,
      conditions: [condition('Ready', 'True', { lastTransitionTime: NOW }), condition('ContainersReady', 'True')],
    },
  },
  'holds a disruption back together with the phase': {
    given: { own: { ...failed, conditions: [disruption] } },
    status: { ...own, conditions: undefined },
  },
  'sends a disruption with the phase, with the present time': {
    given: { own: { ...failed, conditions: [disruption] }, hasRunningContainers: false },
    status: { ...failed, conditions: [{ ...disruption, lastTransitionTime: NOW }] },
  },
  'keeps a disruption of another component': {
    given: { api: { ...own, conditions: [disruption, ...(own.conditions ?? [])] } },
    status: { ...own, conditions: [disruption, ...(own.conditions ?? [])] },
  },
};

for (const [name, { given, status }] of Object.entries(cases)) {
  test(`mergePodStatus() ${name}`, () => {
    const merged = mergePodStatus({ ...healthy, ...given });
    assert.deepEqual(JSON.parse(JSON.stringify(merged)), JSON.parse(JSON.stringify(status)));
  });
}

const agreements: Record<string, { api: PodStatus; agree: boolean }> = {
  'the same': { api: own, agree: true },
  'another time of a condition': {
    api: { ...own, conditions: own.conditions?.map((each) => ({ ...each, lastTransitionTime: NOW })) },
    agree: true,
  },
  'fields that the server adds': {
    api: {
      ...own,
      conditions: own.conditions?.map((each) => ({ ...each, message: '' })),
      containerStatuses: own.containerStatuses?.map((each) => ({ ...each, lastState: {} })),
    },
    agree: true,
  },
  'another phase': { api: { ...own, phase: 'Pending' }, agree: false },
  'another condition': { api: { ...own, conditions: [condition('Ready', 'False')] }, agree: false },
  'another container status': { api: { ...own, containerStatuses: [] }, agree: false },
};

for (const [name, { api, agree }] of Object.entries(agreements)) {
  test(`statusesAgree() says ${agree} to ${name}`, () => {
    assert.equal(statusesAgree(api, own), agree);
  });
}
