/**
 * What scrapes of a node cost with kubelet and with Nodelet, on one containerd in one run: the agents alternate, each adopts
 * the pods of the other.
 *
 *   scripts/node test/bench/scrape.ts [--pods 100] [--rounds 3] [--scrapes 6] [--every 10] [--program dist/nodelet]
 *
 * A round of an agent: an idle time, then as long with scrapes of all endpoints every ten seconds, as Prometheus does them
 * (one connection, gzip). CPU is that of the agent's process; the cost of one scrape is the difference to the idle time.
 */
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Node } from '../../src/api/generated/core-v1.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type ControlPlane, podOn } from '../integration/cluster-fixture.ts';
import { startContainerd, type TestContainerd } from '../integration/containerd-fixture.ts';
import { goKubeletSkipReason, startGoKubelet } from '../integration/go-kubelet.ts';
import { unmountBelow } from '../integration/runtime-cleanup.ts';
import { startPlaneAndRuntime } from '../integration/test-cluster.ts';
import { until } from '../integration/until.ts';

const NODE = 'scraped';
const PATHS = ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/metrics/probes', '/metrics/slis'];
const AGENTS = ['kubelet', 'nodelet'] as const;
type AgentName = (typeof AGENTS)[number];
/** After its start an agent looks at every pod. */
const SETTLE_MS = 20_000;
const TICK_MS = 10; // of /proc/PID/stat

interface Round {
  readonly idleCores: number;
  readonly scrapedCores: number;
  readonly cpuMsOfScrape: number;
  readonly residentMb: number;
  /** Milliseconds by path. */
  readonly responses: Readonly<Record<string, readonly number[]>>;
  readonly bytes: Readonly<Record<string, number>>;
}

interface Scraper {
  /** Its time and the size of its text. */
  scrape(path: string): Promise<{ readonly ms: number; readonly bytes: number }>;
}

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '3' },
    scrapes: { type: 'string', default: '6' },
    every: { type: 'string', default: '10' },
    program: { type: 'string', default: 'bin/nodelet' },
  },
});
const plan = {
  pods: Number(values.pods),
  rounds: Number(values.rounds),
  scrapes: Number(values.scrapes),
  everyMs: Number(values.every) * 1000,
  program: resolve(values.program),
};

const skip = goKubeletSkipReason();
if (skip) throw new Error(skip);
const [plane, runtime] = await startPlaneAndRuntime(startContainerd);
try {
  await bench(plane, runtime);
} finally {
  await runtime.stop();
  unmountBelow(plane.folder); // volumes of agents that were killed
  await plane.stop();
}

async function bench(plane: ControlPlane, runtime: TestContainerd): Promise<void> {
  const rounds: Record<AgentName, Round[]> = { kubelet: [], nodelet: [] };
  for (let round = 0; round < plan.rounds; round++)
    for (const name of AGENTS) {
      rounds[name].push(await withAgent(plane, runtime, name));
      console.log(`round ${round + 1}, ${name}: ${JSON.stringify(rounds[name].at(-1))}`);
    }
  await plane.remove('--all', '--force', '--grace-period=0');
  print(rounds);
}

async function withAgent(plane: ControlPlane, runtime: TestContainerd, name: AgentName): Promise<Round> {
  const { endpoint, cgroupParent, folder } = runtime;
  const config = { maxPods: plan.pods + 10 };
  const own =
    name === 'nodelet'
      ? { command: [plan.program, 'kubelet'] }
      : { flags: [`--containerd=${endpoint.slice('unix://'.length)}`] };
  const agent = await startGoKubelet({ plane, nodeName: NODE, endpoint, cgroupParent, config, ...own });
  try {
    await startPods(plane);
    await delay(SETTLE_MS);
    return await measure(agent.pid, await scraperOf(plane));
  } catch (error) {
    throw new Error(`${name} of ${folder} cannot be measured`, { cause: error });
  } finally {
    await agent.kill(); // its pods run on
  }
}

async function startPods(plane: ControlPlane): Promise<void> {
  const container = { name: 'main', image: BUSYBOX_IMAGE, command: ['sleep', '1000000'] };
  const spec = { dnsPolicy: 'Default', terminationGracePeriodSeconds: 0, automountServiceAccountToken: false };
  const names = Array.from({ length: plan.pods }, (_, index) => `pod-${index}`);
  await plane.apply(...names.map((name) => podOn(NODE, name, { ...spec, containers: [container] })));
  for (const name of names) await plane.wait(name, 'condition=Ready');
}

async function measure(pid: number, scraper: Scraper): Promise<Round> {
  for (const path of PATHS) await scraper.scrape(path); // the first connection and its permissions
  const lengthMs = plan.scrapes * plan.everyMs;
  const [idleFrom, idleStart] = [cpuMsOf(pid), performance.now()];
  await delay(lengthMs);
  const idleCores = (cpuMsOf(pid) - idleFrom) / (performance.now() - idleStart);
  const responses: Record<string, number[]> = {};
  const bytes: Record<string, number> = {};
  const [from, start] = [cpuMsOf(pid), performance.now()];
  for (let count = 0; count < plan.scrapes; count++) {
    await delay(Math.max(0, start + count * plan.everyMs - performance.now()));
    for (const path of PATHS) {
      const answer = await scraper.scrape(path);
      bytes[path] = answer.bytes;
      responses[path] = [...(responses[path] ?? []), answer.ms];
    }
  }
  await delay(Math.max(0, start + lengthMs - performance.now()));
  const [usedMs, elapsedMs] = [cpuMsOf(pid) - from, performance.now() - start];
  const cpuMsOfScrape = (usedMs - idleCores * elapsedMs) / plan.scrapes;
  return { idleCores, scrapedCores: usedMs / elapsedMs, cpuMsOfScrape, residentMb: residentMb(pid), responses, bytes };
}

async function scraperOf(plane: ControlPlane): Promise<Scraper> {
  const { certFile, keyFile } = plane.authority.issue({ user: 'scraper', groups: ['system:masters'] });
  const [ca, cert, key] = [plane.authority.caFile, certFile, keyFile].map((path) => readFileSync(path, 'utf8'));
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca, cert, key });
  const { host, port } = await until(async () => {
    const { status }: Node = JSON.parse(await plane.kubectl('get', 'node', NODE, '-ojson'));
    const host = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
    const port = status?.daemonEndpoints?.kubeletEndpoint?.Port;
    return host !== undefined && port !== undefined && { host, port };
  });
  const scrape = (path: string) =>
    new Promise<{ readonly ms: number; readonly bytes: number }>((answer, reject) => {
      const started = performance.now();
      const headers = { 'accept-encoding': 'gzip', accept: 'text/plain;version=0.0.4' };
      get({ host, port, path, agent, headers }, (response) => {
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        response.once('error', reject).once('end', () => {
          if (response.statusCode === 200) answer({ ms: performance.now() - started, bytes });
          else reject(new Error(`${path} is answered with ${response.statusCode}`));
        });
      }).once('error', reject);
    });
  return { scrape };
}

function print(rounds: Readonly<Record<AgentName, readonly Round[]>>): void {
  const rows: [what: string, read: (round: Round) => readonly number[]][] = [
    ['CPU without scrapes (% of a core)', ({ idleCores }) => [idleCores * 100]],
    ['CPU with scrapes (% of a core)', ({ scrapedCores }) => [scrapedCores * 100]],
    ['CPU of one scrape of all (ms)', ({ cpuMsOfScrape }) => [cpuMsOfScrape]],
    ['resident memory (MB)', (round) => [round.residentMb]],
    ...PATHS.map((path): [string, (round: Round) => readonly number[]] => [
      `${path} (ms)`,
      ({ responses }) => responses[path] ?? [],
    ]),
    ...PATHS.map((path): [string, (round: Round) => readonly number[]] => [
      `${path} (kB, compressed)`,
      ({ bytes }) => [(bytes[path] ?? 0) / 1000],
    ]),
  ];
  console.log(
    `${plan.pods} pods, ${plan.rounds} rounds of ${plan.scrapes} scrapes every ${plan.everyMs / 1000} s; medians`,
  );
  console.log('| | kubelet | Nodelet | ratio |\n| --- | ---: | ---: | ---: |');
  for (const [what, read] of rows) {
    const [kubelet, nodelet] = [median(rounds.kubelet.flatMap(read)), median(rounds.nodelet.flatMap(read))];
    console.log(`| ${what} | ${kubelet.toFixed(1)} | ${nodelet.toFixed(1)} | ${(nodelet / kubelet).toFixed(2)} |`);
  }
}

function median(of: readonly number[]): number {
  const sorted = of.toSorted((a, b) => a - b);
  const [low, high] = [Math.floor((of.length - 1) / 2), Math.ceil((of.length - 1) / 2)].map((index) => sorted[index]);
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ').map(Number) ?? [];
  return ((fields[11] ?? 0) + (fields[12] ?? 0)) * TICK_MS;
}

function residentMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
