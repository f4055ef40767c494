// Runs in the virtual machine, which ends with everything that is left in it: starts and stops pods with kubelet and with Nodelet, with both cgroup drivers, on
// `nodelet cri`, and lets each agent take over the pods of the other.
//
//   scripts/node test/vm/drivers/measure-drivers.ts [--rounds 5] [--driver systemd]
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { clusterTool } from '../../integration/cluster-tools.ts';
import { median } from '../../integration/cri-calls.ts';
import { BUSYBOX, NODELET } from '../nodelet-program.ts';

type Driver = 'cgroupfs' | 'systemd';
type Agent = 'kubelet' | 'nodelet';

const DRIVERS: readonly Driver[] = ['cgroupfs', 'systemd'];
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, driver: { type: 'string' } } });
const CHECK_INTERVAL_MS = 20;
/** Under emulation. */
const LIMIT_MS = 600_000;
const AGENTS: Readonly<Record<Agent, readonly string[]>> = {
  kubelet: [clusterTool('kubelet')],
  nodelet: [...NODELET, 'kubelet'],
};

const folder = mkdtempSync(join(process.env['TMPDIR'] ?? '/var/tmp', 'nodelet-drivers-'));
console.log('driver    agent     start     stop   (medians of pods, one after the other)');
for (const driver of DRIVERS.filter((each) => each === (values.driver ?? each))) await tryDriver(driver);

async function tryDriver(driver: Driver): Promise<void> {
  const [root, state] = [join(folder, driver, 'root'), join(folder, driver, 'state')];
  mkdirSync(join(folder, driver), { recursive: true });
  const folders = ['--root', root, '--state', state];
  const once = join(folder, driver, 'once.yaml');
  writeFileSync(once, manifest('once', ['true']));
  execFileSync(NODELET[0], [...NODELET.slice(1), 'run', '--once', once, ...folders], { stdio: 'ignore' });
  const endpoint = `unix://${state}/cri.sock`;
  const runtime = ['cri', '--listen', endpoint, ...folders, '--cgroup-driver', driver];
  const cri = launch([...NODELET, ...runtime], `${driver}-cri`);
  await until('the runtime', () => existsSync(`${state}/cri.sock`));
  for (const agent of ['kubelet', 'nodelet'] as const) {
    const run = start(agent, driver, endpoint);
    const [starts, stops]: [number[], number[]] = [[], []];
    for (let round = 0; round <= Number(values.rounds); round++) {
      const [startMs, stopMs] = await startAndStop(run.manifests, `${agent}-${driver}-${round}`);
      if (round === 0) continue; // warms up
      starts.push(startMs);
      stops.push(stopMs);
    }
    await end(run.daemon);
    const row = [driver.padEnd(9), agent.padEnd(8), seconds(median(starts)), seconds(median(stops))];
    console.log(row.join(' '));
  }
  await takeOver(driver, endpoint);
  await end(cri);
}

/** kubelet's pod goes on with Nodelet, and then with kubelet again. */
async function takeOver(driver: Driver, endpoint: string): Promise<void> {
  let run = start('kubelet', driver, endpoint, 'shared');
  const name = `shared-${driver}`;
  // With a UID of its own: without one, kubelet and Nodelet derive different ones from the manifest.
  writeFileSync(join(run.manifests, `${name}.yaml`), manifest(name, ['sleep', sleepSeconds(name)], randomUUID()));
  await until('the shared pod', () => processOf(name) !== undefined);
  const before = [processOf(name), cgroupOf(name)];
  for (const agent of ['nodelet', 'kubelet'] as const) {
    await end(run.daemon);
    run = start(agent, driver, endpoint, 'shared');
    await delay(60_000); // it has synced the pod by then
    assert.deepEqual([processOf(name), cgroupOf(name)], before, `the pod after ${agent} took over`);
  }
  rmSync(join(run.manifests, `${name}.yaml`));
  await until('the end of the shared pod', () => processOf(name) === undefined);
  await end(run.daemon);
  console.log(`${driver}: kubelet → nodelet → kubelet: the container and its cgroup stayed (${before[1]})`);
}

async function startAndStop(manifests: string, name: string): Promise<readonly [number, number]> {
  const path = join(manifests, `${name}.yaml`);
  const began = performance.now();
  writeFileSync(path, manifest(name, ['sleep', sleepSeconds(name)]));
  await until(`pod ${name}`, () => processOf(name) !== undefined);
  const started = performance.now();
  const podCgroup = join('/sys/fs/cgroup', cgroupOf(name), '..');
  await delay(2000);
  const removed = performance.now();
  rmSync(path);
  await until(`the end of pod ${name}`, () => !existsSync(podCgroup));
  return [started - began, performance.now() - removed];
}

interface RunningAgent {
  readonly daemon: ChildProcess;
  readonly manifests: string;
}

function start(agent: Agent, driver: Driver, endpoint: string, name: string = agent): RunningAgent {
  const home = join(folder, driver, name);
  const manifests = join(home, 'manifests');
  mkdirSync(manifests, { recursive: true });
  const config = {
    ...{ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' },
    ...{ staticPodPath: manifests, cgroupDriver: driver, containerRuntimeEndpoint: endpoint },
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    ...{ enableServer: false, healthzPort: 0, failSwapOn: false },
  };
  writeFileSync(join(home, 'config.yaml'), JSON.stringify(config));
  const flags = ['--config', join(home, 'config.yaml'), '--root-dir', join(home, 'kubelet')];
  return { daemon: launch([...AGENTS[agent], ...flags], `${driver}-${agent}-${name}`), manifests };
}

function launch([program = '', ...args]: readonly string[], name: string): ChildProcess {
  const log = openSync(join(folder, `${name}.log`), 'a');
  return spawn(program, args, { stdio: ['ignore', log, log] });
}

async function end(daemon: ChildProcess): Promise<void> {
  const exited = once(daemon, 'exit');
  daemon.kill('SIGTERM');
  await exited;
}

function manifest(name: string, command: readonly string[], uid?: string): string {
  const containers = [
    { name: 'main', image: BUSYBOX, command, resources: { limits: { memory: '64Mi', cpu: '500m' } } },
  ];
  const spec = { hostNetwork: true, restartPolicy: 'Never', terminationGracePeriodSeconds: 0, containers };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name, uid }, spec });
}

/** A duration by which the process of a pod is found. */
function sleepSeconds(name: string): string {
  return String(100_000 + [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1_000_000, 7));
}

function processOf(name: string): string | undefined {
  const line = `sleep\0${sleepSeconds(name)}\0`;
  return readdirSync('/proc').find((pid) => /^\d+$/.test(pid) && textOf(`/proc/${pid}/cmdline`) === line);
}

function cgroupOf(name: string): string {
  return textOf(`/proc/${processOf(name)}/cgroup`)
    .trim()
    .replace(/^0::/, '');
}

/** Empty for a process that has ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`.padStart(8);
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const limit = Date.now() + LIMIT_MS; Date.now() < limit; await delay(CHECK_INTERVAL_MS)) if (isSo()) return;
  throw new Error(`no sign of ${what}; see the logs in ${folder}`);
}
