/** What a tracer sees of the whole agent, on virtual time with an in-memory runtime. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../src/cri/cri-error.ts';
import { instrument } from '../../src/cri/instrument.ts';
import { collectSpans } from '../traces/memory-spans.ts';
import { drawTraces, type TestSpan } from '../traces/trace-tree.ts';
import { type MemoryAgent, newWorld, podOf, startAgent } from './memory-agent.ts';

const STEPS = ['directories', 'cgroup', 'volumes'];

/** The traces that begin with a span of that pod; without the calls that only read. */
function tracesOf(spans: readonly TestSpan[], pod: string): string[] {
  const traces = new Set(
    spans
      .filter(({ parentId, attributes }) => parentId === '' && attributes['k8s.pod.name'] === pod)
      .map(({ traceId }) => traceId),
  );
  const shown = spans.filter(({ traceId, name }) => traces.has(traceId) && !/Status$|\/List/.test(name));
  return drawTraces(shown, ({ error }) => (error === undefined ? '' : `: ${error}`)).map((line) =>
    line.replace('runtime.v1.', ''),
  );
}

const START = [
  'HandlePodAdditions',
  '  admission',
  '  syncPod',
  ...STEPS.map((name) => `    ${name}`),
  '    sandbox',
  '      RuntimeService/RunPodSandbox',
  '    image',
  '    create container',
  '      RuntimeService/CreateContainer',
  '    start container',
  '      RuntimeService/StartContainer',
];

interface Case {
  readonly act: (it: MemoryAgent) => Promise<unknown>;
  /** By pod. */
  readonly traces: Readonly<Record<string, readonly string[]>>;
}

const cases: Record<string, Case> = {
  'the start of a pod is one trace; later syncs have their own': {
    act: async ({ source }) => source.set(podOf('web')),
    traces: { web: [...START, 'syncPod'] },
  },
  'pods that start at the same time have a trace each': {
    act: async ({ source }) => source.set(podOf('a'), podOf('b')),
    traces: { a: [...START, 'syncPod'], b: [...START, 'syncPod'] },
  },
  'a rejected pod has no sync': {
    act: async ({ source }) => source.set(podOf('web', { nodeSelector: { on: 'mars' } })),
    traces: { web: ['HandlePodAdditions', '  admission'] },
  },
  'an error is shown where it passes': {
    act: async ({ source, runtime }) => {
      runtime.failures.next('createContainer', { kind: 'before', error: new CriError('Unknown', 'no room') });
      source.set(podOf('web', { restartPolicy: 'Never' }));
    },
    traces: {
      web: [
        ...START.slice(0, -4),
        '    create container: no room',
        '      RuntimeService/CreateContainer: no room',
        'syncPod',
        '  image',
        '  create container',
        '    RuntimeService/CreateContainer',
        '  start container',
        '    RuntimeService/StartContainer',
        'syncPod',
      ],
    },
  },
  "the end of a pod has kubelet's two spans": {
    act: async ({ source, host }) => {
      source.set(podOf('web'));
      await host.clock.advance(0);
      source.set();
    },
    traces: {
      web: [
        ...START,
        'syncPod',
        'syncTerminatingPod',
        '  stop container',
        '    RuntimeService/StopContainer',
        '  stop sandbox',
        '    RuntimeService/StopPodSandbox',
        'syncTerminatedPod',
      ],
    },
  },
};

for (const [name, { act, traces }] of Object.entries(cases)) {
  test(`traces: ${name}`, async () => {
    await using spans = collectSpans();
    const world = newWorld();
    const cri = instrument(world.runtime.cri);
    await using it = await startAgent({ ...world, runtime: { ...world.runtime, cri } });
    await act(it);
    await it.host.clock.advance(0);
    const seen = Object.keys(traces).map((pod) => [pod, tracesOf(spans.all(), pod)]);
    assert.deepEqual(Object.fromEntries(seen), traces);
  });
}
