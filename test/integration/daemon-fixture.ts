import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CriConnection } from '../../src/cri/client.ts';
import { ListPodSandboxRequest } from '../../src/cri/generated/runtime-v1.ts';
import { type Footprint, removeLeftovers } from './containerd-leftovers.ts';

const START_MS = 20_000;
const STOP_MS = 30_000;

const FOLDER_NAME = /^nodelet-(containerd|embedded)-(\d+)-(\d+)$/;

export type RuntimeKind = 'containerd' | 'embedded';

let started = 0;

/** Of a runtime that is to be started. Also takes away what runs left that were killed. */
export function newFootprint(kind: RuntimeKind): Footprint {
  sweepDeadRuns();
  return footprintOf(kind, process.pid, started++);
}

function footprintOf(kind: RuntimeKind, pid: number, count: number): Footprint {
  const folder = join(tmpdir(), `nodelet-${kind}-${pid}-${count}`);
  return {
    folder,
    socketPath: join(folder, 'cri.sock'),
    bridge: `nlt${pid}-${count}`,
    cgroupParent: `/nodelet-test-${pid}-${count}`,
    subnet: subnetOf(pid, count),
  };
}

function sweepDeadRuns(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, kind, pid, count] = FOLDER_NAME.exec(name) ?? [];
    if (kind !== 'containerd' && kind !== 'embedded') continue;
    if (!existsSync(`/proc/${pid}`)) removeLeftovers(footprintOf(kind, Number(pid), Number(count)));
  }
}

/** A subnet that no other run on this machine has: 10.64.0.0/10, cut by process number. */
function subnetOf(pid: number, count: number): string {
  const number = (pid * 4 + count) % (64 * 256);
  return `10.${64 + (number >> 8)}.${number & 255}.0/24`;
}

/** Makes the runtime's folder with a bridge network for its pods in it; with `hostPorts` it maps ports of this machine. */
export function writeNetwork({ folder, bridge, subnet }: Footprint, hostPorts = false): void {
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

/** Resolves when it answers and has found its network; rejects with the end of its log when it cannot. */
export async function startedDaemon(
  daemon: ChildProcess,
  cri: CriConnection,
  readLog: () => string,
): Promise<ChildProcess> {
  const deadline = AbortSignal.timeout(START_MS);
  while (!(await isReady(cri, deadline))) {
    if (daemon.exitCode !== null || deadline.aborted) {
      throw new Error(`the runtime did not start: ${readLog().slice(-2000)}`);
    }
    await delay(20);
  }
  return daemon;
}

async function isReady(cri: CriConnection, signal: AbortSignal): Promise<boolean> {
  try {
    const { status } = await cri.runtime.status({ verbose: false }, signal);
    return status?.conditions.every((condition) => condition.status) ?? false;
  } catch {
    return false;
  }
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

export function end(daemon: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (daemon.exitCode !== null || daemon.signalCode !== null) return resolve();
    const killer = setTimeout(() => daemon.kill('SIGKILL'), STOP_MS);
    daemon.once('exit', () => {
      clearTimeout(killer);
      resolve();
    });
    daemon.kill(signal);
  });
}
