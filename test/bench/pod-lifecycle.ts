/**
 * The time in which the agent starts and deletes a pod on containerd, compared with the bare CRI calls for the same pod, made
 * in the same run on a second containerd without an agent.
 *
 *   scripts/node test/bench/pod-lifecycle.ts [--rounds 20]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { connectCri } from '../../src/cri/client.ts';
import type { CreateContainerRequest, RunPodSandboxRequest } from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from '../integration/agent-fixture.ts';
import { skipReason, startContainerd } from '../integration/containerd-fixture.ts';
import { busyMs, type CriCall, median } from '../integration/cri-calls.ts';
import { type BareRuntime, type PodRequests, runBareCri } from './bare-cri.ts';

const volumeMounts = [{ name: 'pages', mountPath: '/www' }];

const KINDS: Record<string, Pod['spec']> = {
  'one container': { containers: [shell('web', EXITS_ON_SIGTERM)] },
  'init, sidecar, main': {
    volumes: [{ name: 'pages', emptyDir: {} }],
    initContainers: [
      { ...shell('prepare', 'true'), volumeMounts },
      { ...shell('caller', EXITS_ON_SIGTERM), restartPolicy: 'Always' },
    ],
    containers: [{ ...shell('web', EXITS_ON_SIGTERM), volumeMounts }],
  },
};

/** containerd cleans up after a removal; nothing is measured meanwhile. */
const QUIET_MS = 200;

/** Milliseconds. */
interface Span {
  readonly agent: number;
  /** The time in which the agent had a CRI call in progress. */
  readonly inCalls: number;
  readonly bareCri: number;
}

interface Round {
  readonly start: Span;
  readonly delete: Span;
}

async function round(it: TestAgent, bare: BareRuntime, pod: Pod): Promise<Round> {
  const { name } = pod.metadata;
  await delay(QUIET_MS);
  const [ready, began] = [it.ready(name), performance.now()];
  it.source.set(pod);
  const starting = { startMs: began, endMs: await ready };
  const calls = it.calls.within(starting);
  const obedient = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].filter(isObedient);
  await it.listening(name, ...obedient.map((container) => container.name));

  const [gone, removed] = [it.gone(name), performance.now()];
  it.source.set();
  const ending = { startMs: removed, endMs: await gone };

  await delay(QUIET_MS);
  const bareCri = await runBareCri(requestsIn(calls), bare);
  const span = (interval: typeof starting, bareMs: number): Span => ({
    agent: interval.endMs - interval.startMs,
    inCalls: busyMs(it.calls.within(interval)),
    bareCri: bareMs,
  });
  return { start: span(starting, bareCri.startMs), delete: span(ending, bareCri.deleteMs) };
}

function isObedient({ command }: Pod['spec']['containers'][number]): boolean {
  return command?.includes(EXITS_ON_SIGTERM) ?? false;
}

function requestsIn(calls: readonly CriCall[]): PodRequests {
  const requests = (method: string): unknown[] => calls.filter((call) => call.method === method).map((c) => c.request);
  return {
    sandbox: requests('RunPodSandbox')[0] as RunPodSandboxRequest,
    containers: requests('CreateContainer') as CreateContainerRequest[],
  };
}

function row(what: string, spans: readonly Span[]): string {
  const of = (figure: (span: Span) => number, digits: number): string => median(spans.map(figure)).toFixed(digits);
  const cells = [
    what,
    `${of(({ bareCri }) => bareCri, 0)} ms`,
    `${of(({ agent }) => agent, 0)} ms`,
    of(({ agent, bareCri }) => agent / bareCri, 2),
    `${of(({ agent, inCalls }) => agent - inCalls, 0)} ms`,
    of(({ agent, inCalls }) => agent / inCalls, 2),
  ];
  return `| ${cells.join(' | ')} |`;
}

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } });
const cannot = skipReason();
if (cannot) throw new Error(`this machine cannot run it: ${cannot}`);
const it = await startTestAgent();
const other = await startContainerd();
const connection = connectCri(other.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 30_000 });
const bare = {
  runtime: connection.runtime,
  logFolder: `${other.folder}/pod-logs`,
  cgroupParent: `${other.cgroupParent}/pod`,
};
try {
  console.log('| medians | bare CRI | agent | agent / bare CRI | outside of calls | agent / its calls |');
  console.log('| --- | ---: | ---: | ---: | ---: | ---: |');
  for (const [kind, spec] of Object.entries(KINDS)) {
    const rounds: Round[] = [];
    // The first round warms up.
    for (let count = 0; count <= Number(values.rounds); count++) {
      rounds.push(await round(it, bare, podOf(`pod-${count}`, spec)));
    }
    const counted = rounds.slice(1);
    console.log(
      row(
        `${kind}: start`,
        counted.map((each) => each.start),
      ),
    );
    console.log(
      row(
        `${kind}: delete`,
        counted.map((each) => each.delete),
      ),
    );
  }
} finally {
  connection.close();
  await other.stop();
  await it.stop();
}
