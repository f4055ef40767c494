import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import type { Agent, AgentSettings } from '../../src/app/agent.ts';
import { buildConnectedAgent } from '../../src/app/build-connected-agent.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { connectEndpoint } from '../../src/app/start-runtime.ts';
import { silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import type { AgentEvent, PodReport } from '../../src/kubelet/explain/agent-view.ts';
import { timelineText } from '../../src/kubelet/explain/timeline-text.ts';
import { why } from '../../src/kubelet/explain/why.ts';
import { ScriptedSource, SETTINGS } from '../agent/memory-agent.ts';
import { CriCalls } from './cri-calls.ts';
import { type RecordedClock, recordedClock } from './recorded-clock.ts';
import { startRuntime, TEST_RUNTIME, type TestRuntime, type TestRuntimeName } from './runtime-fixture.ts';

/** The longest wait of a test, for a busy machine. */
const PATIENCE_MS = 180_000;

/** The agent of `nodelet run` in this process, with its own runtime and pods that the test sets. */
export interface TestAgent {
  readonly runtime: TestRuntime;
  readonly agent: Agent;
  readonly source: ScriptedSource;
  /** Its calls to the runtime. */
  readonly calls: CriCalls;
  /** Its own timers; `sleep` is recorded. */
  readonly clock: RecordedClock;
  /** The report of the pod; throws when the agent has no pod of that name. */
  report(name: string): PodReport;
  /** Resolves with the `performance.now()` of the first matching event. Call it before causing the event. */
  next(fits: (event: AgentEvent) => boolean, what: string): Promise<number>;
  /** Resolves when the pod is Ready, or all its resources are removed. Call it before causing the change. */
  ready(name: string): Promise<number>;
  gone(name: string): Promise<number>;
  /** Resolves when each of these containers of a pod of `podOf` handles SIGTERM. */
  listening(name: string, ...containers: string[]): Promise<void>;
  /** Stops the pods, the agent and the runtime, and removes all resources. */
  stop(): Promise<void>;
}

export async function startTestAgent(
  settings: Partial<AgentSettings> = {},
  runtimeName: TestRuntimeName = TEST_RUNTIME,
): Promise<TestAgent> {
  const runtime = await startRuntime(runtimeName);
  const podLogsDir = join(runtime.folder, 'pod-logs');
  const source = new ScriptedSource();
  const end = new AbortController();
  const calls = new CriCalls();
  const host = createLinuxHost(process.env);
  const clock = recordedClock(host.clock);
  const { agent, close } = await buildConnectedAgent(
    {
      host: { ...host, clock },
      connection: connectEndpoint(runtime.endpoint, { clock, runtimeRequestTimeoutMs: 120_000 }),
      sources: [source],
      settings: {
        ...SETTINGS,
        rootDir: join(runtime.folder, 'kubelet'),
        podLogsDir,
        cgroupRoot: runtime.cgroupParent,
        ...settings,
      },
      log: silentLog,
    },
    end.signal,
  );
  source.set();
  const done = agent.run(end.signal);
  const next = (fits: (event: AgentEvent) => boolean, what: string): Promise<number> => nextEvent(agent, fits, what);
  return {
    runtime,
    agent,
    source,
    calls,
    clock,
    report: (name) => reportOf(agent, name),
    next,
    ready: (name) =>
      next((event) => event.kind === 'status' && isNamed(event, name) && isReady(event), `${name} ready`),
    gone: (name) => next((event) => event.kind === 'gone' && isNamed(event, name), `${name} gone`),
    async listening(name, ...containers) {
      const folder = join(podLogsDir, `default_${name}_uid-${name}`);
      for (const container of containers) await untilListening(join(folder, container, '0.log'));
    },
    async stop() {
      // A failed agent drains nothing: its error is reported below.
      await Promise.race([agent.drain(), done.catch(() => undefined)]);
      end.abort(new Error('the test is over'));
      await done;
      close();
      calls.stop();
      await runtime.stop();
    },
  };
}

function nextEvent(agent: Agent, fits: (event: AgentEvent) => boolean, what: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const late = setTimeout(
    async () => reject(new Error(`not within ${PATIENCE_MS} ms: ${what}\n${await describePods(agent)}`)),
    PATIENCE_MS,
  );
  const stop = agent.subscribe((event) => fits(event) && resolve(performance.now()));
  return promise.finally(() => {
    clearTimeout(late);
    stop();
  });
}

/** The state of all pods, for the message of a test that timed out. */
async function describePods(agent: Agent): Promise<string> {
  const nowMs = Date.now();
  const ofPods = agent.pods().map((report) => {
    const { pod, worker, steps, status } = report;
    const states = JSON.stringify(status.containerStatuses?.map(({ name, state }) => [name, state]));
    return [pod.metadata.name, worker, states, ...why(report, nowMs), timelineText(steps, [], nowMs)].join('\n');
  });
  return [...(await agent.nodeErrors()), ...ofPods].join('\n');
}

function isNamed(event: AgentEvent, name: string): boolean {
  return 'pod' in event && event.pod.metadata.name === name;
}

function isReady(event: AgentEvent): boolean {
  if (event.kind !== 'status') return false;
  return event.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

function reportOf(agent: Agent, name: string): PodReport {
  const found = agent.pods().find(({ pod }) => pod.metadata.name === name);
  if (!found) throw new Error(`the agent has no pod ${name}`);
  return found;
}

/** A container of the local busybox that runs a shell command. */
export function shell(name: string, line: string): Pod['spec']['containers'][number] {
  return { name, image: BUSYBOX_IMAGE, command: ['sh', '-c', line] };
}

/** Exits at once on SIGTERM; prints `listening` once it handles the signal. */
export const EXITS_ON_SIGTERM = "trap 'exit 0' TERM; echo listening; sleep 1000 & wait";

/** Waits until such a container handles SIGTERM; `path` is its log. */
export async function untilListening(path: string): Promise<void> {
  const endsAt = performance.now() + PATIENCE_MS;
  while (!(existsSync(path) && readFileSync(path, 'utf8').includes('listening'))) {
    if (performance.now() > endsAt) throw new Error(`the container does not handle SIGTERM: ${path}`);
    await delay(5);
  }
}
