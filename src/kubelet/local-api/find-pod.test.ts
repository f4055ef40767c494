import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodReport } from '../explain/agent-view.ts';
import { reportOf, staticPod } from './fake/scripted-view.ts';
import { findPod, type PodReference } from './find-pod.ts';

const renamed = (report: PodReport, name: string): PodReport => {
  const { pod } = report;
  return { ...report, pod: { ...pod, metadata: { ...pod.metadata, name } } };
};

const hello = reportOf(staticPod('hello'));
const other = reportOf(staticPod('hello', 'other'));
const taken = renamed(reportOf(staticPod('x')), 'hello');
const leaving = reportOf(staticPod('hello'), { worker: 'terminating' });

const cases: Record<string, { pods: PodReport[]; ask: PodReference; found: PodReport | string }> = {
  'by its own name': { pods: [hello], ask: { name: 'hello-box', namespace: undefined }, found: hello },
  'by the name in its manifest': { pods: [hello], ask: { name: 'hello', namespace: undefined }, found: hello },
  'by its own name before the name in another manifest': {
    pods: [hello, taken],
    ask: { name: 'hello', namespace: undefined },
    found: taken,
  },
  'in the requested namespace': {
    pods: [hello, other],
    ask: { name: 'hello', namespace: 'other' },
    found: other,
  },
  'not when two have the name': {
    pods: [other, hello],
    ask: { name: 'hello', namespace: undefined },
    found: 'more than one pod is called "hello": default/hello-box, other/hello-box',
  },
  'not an unknown pod': {
    pods: [hello],
    ask: { name: 'hell', namespace: undefined },
    found: 'pods "hell" not found',
  },
  'not when it was stopped': {
    pods: [],
    ask: { name: 'aside', namespace: 'default' },
    found: 'pods "aside" not found: it was stopped, and comes back when its manifest changes',
  },
  'not when another one of its name was stopped': {
    pods: [],
    ask: { name: 'aside', namespace: 'other' },
    found: 'pods "aside" not found',
  },
  'that takes the place of one that is leaving': {
    pods: [leaving, hello],
    ask: { name: 'hello', namespace: undefined },
    found: hello,
  },
};

for (const [name, { pods, ask, found }] of Object.entries(cases)) {
  test(`findPod() finds a pod ${name}`, () => {
    const find = () => findPod({ nodeName: 'box', pods: () => pods, manuallyStopped: () => [staticPod('aside')] }, ask);
    if (typeof found === 'string') assert.throws(find, { name: 'ApiError', message: found });
    else assert.equal(find(), found);
  });
}
