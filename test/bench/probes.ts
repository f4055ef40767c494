/**
 * The cost and the lateness of probes: pods with one probe each, once a second.
 *
 *   scripts/node test/bench/probes.ts [--runtime containerd|fake] [--pods 100] [--kinds exec,http,tcp,grpc]
 *     [--seconds 30] [--probes-off]
 *
 * Only the agent runs in this process: the targets are in containers or in a separate process.
 * `fake` is an in-memory runtime behind a socket, in that other process: for rates that containerd cannot reach on the
 * machine. The lateness of a probe is its delay after its tick; the first run of each probe sets the ticks.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { tracingChannel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Pod, Probe } from '../../src/api/generated/core-v1.ts';
import type { Agent } from '../../src/app/agent.ts';
import { buildConnectedAgent } from '../../src/app/build-connected-agent.ts';
import { connectEndpoint } from '../../src/app/start-runtime.ts';
import { silentLog } from '../../src/base/log.ts';
import { RPC_CHANNEL, type RpcTrace } from '../../src/cri/instrument.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import type { Host } from '../../src/host/host.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import type { DialTarget, Network } from '../../src/host/network.ts';
import { podOf, ScriptedSource, SETTINGS } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell } from '../integration/agent-fixture.ts';
import { skipReason, startContainerd } from '../integration/containerd-fixture.ts';
import { type ProbeTargets, TARGET_HOST } from './probe-targets.ts';

const PERIOD_MS = 1000;
/** The first ticks are those of pods that start in parallel. */
const SETTLING_MS = 5_000;

type Kind = 'exec' | 'http' | 'tcp' | 'grpc';

/** The environment of the agent. */
interface Environment {
  readonly host: Host;
  readonly endpoint: string;
  readonly settings: Partial<typeof SETTINGS>;
  readonly targets: ProbeTargets;
  readonly image: 'busybox:1' | undefined;
  leave(): Promise<void>;
}

/** When the runs of each probe began, on the clock of `performance.now()`. */
class ProbeTicks {
  readonly #began = new Map<string, number[]>();

  note(probe: string): void {
    const times = this.#began.get(probe);
    if (times) times.push(performance.now());
    else this.#began.set(probe, [performance.now()]);
  }

  within(fromMs: number, toMs: number): Punctuality {
    const late: number[] = [];
    let missed = 0;
    for (const times of this.#began.values()) {
      let tick = 0;
      for (const time of times) {
        const passed = time - (times[0] ?? time);
        const next = passed === 0 ? 0 : Math.max(tick + 1, Math.floor(passed / PERIOD_MS));
        if (time >= fromMs && time < toMs) {
          late.push(Math.max(0, passed - next * PERIOD_MS));
          missed += Math.max(0, next - tick - 1);
        }
        tick = next;
      }
    }
    return { late: late.sort((a, b) => a - b), missed };
  }
}

interface Punctuality {
  /** Milliseconds of every run, in ascending order. */
  readonly late: readonly number[];
  /** Ticks without a run, because the previous one took too long. */
  readonly missed: number;
}

function recordProbes(network: Network, ticks: ProbeTicks): Network {
  const at = (target: DialTarget): string => ('host' in target ? `${target.host}:${target.port}` : target.socketPath);
  return {
    ...network,
    dial: (target, signal) => {
      ticks.note(`tcp ${at(target)}`);
      return network.dial(target, signal);
    },
    request: (request, signal) => {
      ticks.note(`http ${at(request.target)}${request.path}`);
      return network.request(request, signal);
    },
    grpc: (target, userAgent, signal) => {
      ticks.note(`grpc ${at(target)}`);
      return network.grpc(target, userAgent, signal);
    },
  };
}

function noteExecs(ticks: ProbeTicks): void {
  tracingChannel<object>(RPC_CHANNEL).start.subscribe((trace) => {
    const { method, request } = trace as RpcTrace; // the message type of this channel
    if (method === 'ExecSync') ticks.note(`exec ${(request as { containerId: string }).containerId}`);
  });
}

async function startTargets(grpcCount: number, socketPath?: string): Promise<[ChildProcess, ProbeTargets]> {
  const file = join(import.meta.dirname, 'probe-targets.ts');
  const child = fork(file, [String(grpcCount), ...(socketPath === undefined ? [] : [socketPath])]);
  const [targets] = await once(child, 'message');
  return [child, targets];
}

async function onContainerd(grpcCount: number, ticks: ProbeTicks): Promise<Environment> {
  const cannot = skipReason();
  if (cannot) throw new Error(`this machine cannot run it: ${cannot}`);
  const [child, targets] = await startTargets(grpcCount);
  const containerd = await startContainerd();
  const host = createLinuxHost(process.env);
  return {
    host: { ...host, network: recordProbes(host.network, ticks) },
    endpoint: containerd.endpoint,
    settings: {
      rootDir: join(containerd.folder, 'kubelet'),
      podLogsDir: join(containerd.folder, 'pod-logs'),
      cgroupRoot: containerd.cgroupParent,
    },
    targets,
    image: undefined,
    async leave() {
      await containerd.stop();
      child.disconnect();
    },
  };
}

async function onFake(grpcCount: number, ticks: ProbeTicks): Promise<Environment> {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-bench-'));
  const socketPath = join(folder, 'cri.sock');
  const [child, targets] = await startTargets(grpcCount, socketPath);
  const { clock, random, network } = createLinuxHost(process.env);
  const inMemory = createMemoryHost();
  await inMemory.fs.makeDirectory('/etc');
  await inMemory.fs.writeFile('/etc/hosts', '127.0.0.1 localhost\n');
  return {
    host: { ...inMemory, clock, random, network: recordProbes(network, ticks) },
    endpoint: `unix://${socketPath}`,
    settings: {},
    targets,
    image: 'busybox:1',
    async leave() {
      child.disconnect();
      rmSync(folder, { recursive: true });
    },
  };
}

/** The `index`th pod, with everything that its probe needs to succeed. */
function podFor(index: number, kind: Kind, { targets, image }: Environment, isProbed: boolean): Pod {
  const inPod = image === undefined;
  // Every address of 127.0.0.0/8 is this machine: a separate host for each probe.
  const host = inPod ? undefined : `127.0.1.${index + 1}`;
  const port = inPod ? 8080 : targets.httpPort;
  const actions: Record<Kind, Probe> = {
    exec: { exec: { command: ['true'] } },
    http: { httpGet: { port, path: '/', host } },
    tcp: { tcpSocket: { port, host } },
    grpc: { grpc: { port: targets.grpcPorts[index] ?? 0 } },
  };
  const livenessProbe = { ...actions[kind], periodSeconds: PERIOD_MS / 1000, timeoutSeconds: 5 };
  const serves = inPod && (kind === 'http' || kind === 'tcp');
  const main = shell(
    'main',
    `${serves ? 'echo fine > /tmp/index.html; httpd -p 8080 -h /tmp; ' : ''}${EXITS_ON_SIGTERM}`,
  );
  return podOf(`pod-${index}`, {
    hostNetwork: kind === 'grpc',
    containers: [{ ...main, ...(image && { image }), ...(isProbed && { livenessProbe }) }],
  });
}

function allReady(agent: Agent, count: number): Promise<void> {
  const ready = new Set<string>();
  return new Promise((resolve) => {
    const stop = agent.subscribe((event) => {
      if (event.kind !== 'status') return;
      const isReady = event.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
      if (isReady) ready.add(event.pod.metadata.uid);
      if (ready.size < count) return;
      stop();
      resolve();
    });
  });
}

/** The lateness of timers of an idle process since the last request. */
async function bareLateness(child: ChildProcess): Promise<readonly number[]> {
  const answer = once(child, 'message');
  child.send('report');
  const [late] = await answer;
  return late;
}

async function measured(agent: Agent, ticks: ProbeTicks, seconds: number): Promise<string[]> {
  const bare = fork(join(import.meta.dirname, 'bare-timers.ts'), ['100', String(PERIOD_MS)]);
  await delay(SETTLING_MS);
  await bareLateness(bare);
  let unhealthy = 0;
  agent.subscribe((event) => {
    if (event.kind === 'event' && event.event.reason === 'Unhealthy') unhealthy++;
  });
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  await delay(seconds * 1000);
  const { user, system } = process.cpuUsage(cpu);
  const ended = performance.now();
  const { late, missed } = ticks.within(began, ended);
  const idle = await bareLateness(bare);
  bare.disconnect();
  const at = (part: number, of = late): string => `${(of[Math.floor(part * (of.length - 1))] ?? 0).toFixed(1)} ms`;
  const perSecond = (late.length / (ended - began)) * 1000;
  const percent = (user + system) / 10 / (ended - began);
  const memory = process.memoryUsage().rss / 2 ** 20;
  return [
    perSecond.toFixed(1),
    String(unhealthy),
    String(missed),
    at(0.5),
    at(0.99),
    at(1),
    at(0.99, idle),
    `${percent.toFixed(1)} %`,
    `${memory.toFixed(0)} MB`,
  ];
}

const { values } = parseArgs({
  options: {
    runtime: { type: 'string', default: 'containerd' },
    pods: { type: 'string', default: '100' },
    kinds: { type: 'string', default: 'exec,http,tcp,grpc' },
    seconds: { type: 'string', default: '30' },
    'probes-off': { type: 'boolean', default: false },
  },
});
const count = Number(values.pods);
const kinds = values.kinds.split(',') as Kind[]; // as its help says
const ticks = new ProbeTicks();
noteExecs(ticks);
const environment = await (values.runtime === 'fake' ? onFake : onContainerd)(count, ticks);
const life = new AbortController();
const source = new ScriptedSource();
try {
  const { agent, close } = await buildConnectedAgent(
    {
      host: environment.host,
      connection: connectEndpoint(environment.endpoint, { ...environment.host, runtimeRequestTimeoutMs: 120_000 }),
      sources: [source],
      settings: { ...SETTINGS, ...environment.settings, hostIPs: [TARGET_HOST] },
      log: silentLog,
    },
    life.signal,
  );
  source.set();
  const done = agent.run(life.signal);
  const ready = allReady(agent, count);
  const isProbed = !values['probes-off'];
  source.set(
    ...Array.from({ length: count }, (_, index) =>
      podFor(index, kinds[index % kinds.length] ?? 'exec', environment, isProbed),
    ),
  );
  await ready;
  const figures = await measured(agent, ticks, Number(values.seconds));
  console.log(
    '| runtime | pods | kinds | checks/s | failed | missed | late p50 | late p99 | late max | idle timers p99 | CPU of a core | RSS |',
  );
  console.log('| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
  console.log(`| ${[values.runtime, count, kinds.join(' '), ...figures].join(' | ')} |`);
  await agent.drain();
  life.abort(new Error('the benchmark is over'));
  await done;
  close();
} finally {
  await environment.leave();
}
