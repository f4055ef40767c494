import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CriConnection } from '../../src/cri/client.ts';
import { ListPodSandboxRequest } from '../../src/cri/generated/runtime-v1.ts';
import { claimSubnet, dropDeadClaims } from './claimed-subnet.ts';
import { type RuntimeFootprint, removeCgroups, removeRuntimeResources } from './runtime-cleanup.ts';

const START_MS = 900_000; // an emulated machine is slow
const STOP_MS = 30_000;
const ASK_AGAIN_MS = 20;

const FOLDER_NAME = /^nodelet-(containerd|embedded)-(\d+)-(\d+)$/;

export type RuntimeKind = 'containerd' | 'embedded';

export interface NetworkedFootprint extends RuntimeFootprint {
  /** The pod addresses. */
  readonly subnet: string;
}

let footprints = 0;

/** The resources of a runtime to be started. Also removes those of killed runs. */
export function newFootprint(kind: RuntimeKind): NetworkedFootprint {
  sweepDeadRuns();
  const footprint = footprintOf(kind, process.pid, footprints++);
  removeCgroups(footprint.cgroupParent); // cgroups may outlive the directory of a run, and its process id is reused
  return { ...footprint, subnet: claimSubnet().v4 };
}

function footprintOf(kind: RuntimeKind, pid: number, count: number): RuntimeFootprint {
  const folder = join(tmpdir(), `nodelet-${kind}-${pid}-${count}`);
  return {
    folder,
    socketPath: join(folder, 'cri.sock'),
    bridge: `nlt${pid}-${count}`,
    cgroupParent: `/nodelet-test-${pid}-${count}`,
  };
}

function sweepDeadRuns(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, kind, pid, count] = FOLDER_NAME.exec(name) ?? [];
    if (kind !== 'containerd' && kind !== 'embedded') continue;
    if (isOfDeadRun(Number(pid), Number(count))) removeRuntimeResources(footprintOf(kind, Number(pid), Number(count)));
  }
  dropDeadClaims();
}

/** Also a run that had the id of this process. */
function isOfDeadRun(pid: number, count: number): boolean {
  return pid === process.pid ? count >= footprints : !existsSync(`/proc/${pid}`);
}

/** Creates the runtime's directory with a bridge network; with `hostPorts` it maps ports of this machine. */
export function writeNetwork({ folder, bridge, subnet }: NetworkedFootprint, hostPorts = false): void {
  mkdirSync(join(folder, 'cni'), { recursive: true });
  const network = {
    cniVersion: '0.4.0',
    name: bridge,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: join(folder, 'ipam'),
          ranges: [[{ subnet }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      ...(hostPorts ? [{ type: 'portmap', capabilities: { portMappings: true } }] : []),
    ],
  };
  writeFileSync(join(folder, 'cni/10-nodelet-test.conflist'), JSON.stringify(network));
}

/** A program that appends its output to a file and ends with this process. */
export function launch(command: readonly string[], logPath: string): ChildProcess {
  const log = openSync(logPath, 'a');
  const daemon = spawn('setpriv', ['--pdeathsig', 'TERM', ...command], { stdio: ['ignore', log, log] });
  closeSync(log);
  return daemon;
}

/** Resolves when it answers; rejects with the end of its log when it exits before, or takes too long. */
export async function started(
  daemon: ChildProcess,
  isReady: () => Promise<boolean>,
  logPath: string,
): Promise<ChildProcess> {
  const endsAt = performance.now() + START_MS;
  while (!(await isReady().catch(() => false))) {
    if (hasEnded(daemon) || performance.now() > endsAt) {
      await end(daemon, 'SIGKILL');
      throw new Error(`${daemon.spawnargs[3]} did not start: ${readFileSync(logPath, 'utf8').slice(-2000)}`);
    }
    await delay(ASK_AGAIN_MS);
  }
  return daemon;
}

/** The same for a runtime, which must find its network too. */
export function startedRuntime(daemon: ChildProcess, cri: CriConnection, logPath: string): Promise<ChildProcess> {
  const isReady = async (): Promise<boolean> => {
    const { status } = await cri.runtime.status({ verbose: false }, AbortSignal.timeout(START_MS));
    const isTrue = (wanted: string) => status?.conditions.find(({ type }) => type === wanted)?.status === true;
    return isTrue('RuntimeReady') && isTrue('NetworkReady');
  };
  return started(daemon, isReady, logPath);
}

export async function removePods(cri: CriConnection): Promise<void> {
  const signal = AbortSignal.timeout(STOP_MS);
  const { items } = await cri.runtime.listPodSandbox(ListPodSandboxRequest.create(), signal);
  await Promise.allSettled(
    items.map(async ({ id }) => {
      await cri.runtime.stopPodSandbox({ podSandboxId: id }, signal);
      await cri.runtime.removePodSandbox({ podSandboxId: id }, signal);
    }),
  );
}

export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Removes the pods, ends the daemon, and removes what is left of both. */
export async function stopRuntime(
  cri: CriConnection,
  daemon: ChildProcess,
  footprint: RuntimeFootprint,
): Promise<void> {
  await removePods(cri).catch(() => {}); // the clean-up below removes what it cannot
  cri.close();
  await end(daemon, 'SIGTERM');
  removeRuntimeResources(footprint);
}

export function end(daemon: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (hasEnded(daemon)) return resolve();
    const killer = setTimeout(() => daemon.kill('SIGKILL'), STOP_MS);
    daemon.once('exit', () => {
      clearTimeout(killer);
      resolve();
    });
    daemon.kill(signal);
  });
}
