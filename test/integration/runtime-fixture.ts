import { type ChildProcess, execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { busyboxArchive } from '../../src/app/images/local-images.ts';
import { connectCri } from '../../src/cri/client.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { cgroupFault, skipReason, startContainerd } from './containerd-fixture.ts';
import { removeLeftovers } from './containerd-leftovers.ts';
import { end, launch, newFootprint, removePods, startedRuntime, writeNetwork } from './daemon-fixture.ts';

/** A CRI runtime of our own, with a local image and a network between its pods and this machine. */
export interface TestRuntime {
  readonly endpoint: string;
  readonly folder: string;
  /** For `cgroupParent` of the pods; goes when it stops. */
  readonly cgroupParent: string;
  /** Between its pods and this machine; also the name of their network. */
  readonly bridge: string;
  pid(): number;
  /** Gives an image a second name. */
  tag(from: string, to: string): Promise<void>;
  /** Takes an image archive in. */
  load(path: string): Promise<void>;
  /** Ends it with SIGKILL and starts it again on the same folder. Containers go on. */
  restart(): Promise<void>;
  /** Ends the pods that are left, then the runtime, and takes everything away. */
  stop(): Promise<void>;
}

/** Which runtime the tests of the agent run on: `NODELET_TEST_RUNTIME`. */
export const TEST_RUNTIME = process.env['NODELET_TEST_RUNTIME'] === 'embedded' ? 'embedded' : 'containerd';

/** Why a test is skipped that only one of the runtimes can pass. */
export const NOT_ON_CONTAINERD = TEST_RUNTIME === 'containerd' && "Debian's containerd cannot";
export const NOT_ON_EMBEDDED = TEST_RUNTIME === 'embedded' && 'the embedded runtime can';

export function startRuntime(): Promise<TestRuntime> {
  return TEST_RUNTIME === 'embedded' ? startEmbedded() : startContainerd();
}

/** Why this machine cannot run it, for `{ skip }` of a test; `false` when it can. */
export function runtimeSkipReason(): string | false {
  return TEST_RUNTIME === 'embedded' ? embeddedSkipReason() : skipReason();
}

const RUNC = '/usr/sbin/runc';
const PROGRAMS = [
  '/usr/bin/conmon',
  RUNC,
  '/usr/bin/catatonit',
  '/bin/busybox',
  '/usr/lib/cni/bridge',
  '/usr/lib/cni/host-local',
];

/** Why this machine cannot run `nodelet cri`, for `{ skip }` of a test; `false` when it can. */
export function embeddedSkipReason(): string | false {
  if (process.getuid?.() !== 0) return 'needs root';
  const missing = PROGRAMS.filter((path) => !existsSync(path));
  return missing.length > 0 ? `not installed: ${missing.join(', ')}` : cgroupFault();
}

const BIN = join(import.meta.dirname, '../../bin/nodelet');
const START_MS = 60_000;
const run = promisify(execFile);

export interface EmbeddedTestRuntime extends TestRuntime {
  /** As `restart`, with lives between that are ended with SIGKILL after so many milliseconds, wherever they are then. */
  restart(shortLivesMs?: readonly number[]): Promise<void>;
}

export interface EmbeddedOptions {
  /** In the place of this checkout's program. */
  readonly command?: readonly string[];
  /** More flags for `nodelet cri`. */
  readonly flags?: readonly string[];
  /** Whether its network maps ports of this machine to pods. */
  readonly hostPorts?: boolean;
}

/** `nodelet cri` as a process of its own. */
export async function startEmbedded({
  command = [BIN],
  flags = [],
  hostPorts = false,
}: EmbeddedOptions = {}): Promise<EmbeddedTestRuntime> {
  const footprint = newFootprint('embedded');
  const { folder, socketPath, cgroupParent, bridge } = footprint;
  const endpoint = `unix://${socketPath}`;
  writeNetwork(footprint, hostPorts);
  const places = ['--root', join(folder, 'root'), '--state', join(folder, 'state')];
  const cri = connectCri(endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 10_000 });
  const [program = BIN, ...first] = command;
  const network = ['--cni-conf-dir', join(folder, 'cni')];
  const handlers = ['--runtime-handler', `runc=${RUNC}`, `other=${RUNC}`];
  const serve = [...first, 'cri', '--listen', endpoint, ...places, ...network, ...handlers, ...flags];
  const logPath = join(folder, 'nodelet-cri.log');
  const begin = (): ChildProcess => launch([program, ...serve], logPath);
  const start = (): Promise<ChildProcess> => startedRuntime(begin(), cri, logPath);
  const image = async (verb: string, ...args: string[]): Promise<void> => {
    await run(program, [...first, 'image', verb, ...places, ...args]);
  };
  let daemon = await start();
  const archive = join(folder, 'busybox.tar');
  writeFileSync(archive, (await busyboxArchive(createLinuxHost(process.env), AbortSignal.timeout(START_MS))).bytes);
  await image('load', archive);
  return {
    endpoint,
    folder,
    cgroupParent,
    bridge,
    pid: () => daemon.pid ?? 0,
    tag: (from, to) => image('tag', from, to),
    load: (path) => image('load', path),
    async restart(shortLivesMs = []) {
      await end(daemon, 'SIGKILL');
      for (const ms of shortLivesMs) {
        const life = begin();
        await delay(ms);
        await end(life, 'SIGKILL');
      }
      daemon = await start();
    },
    async stop() {
      await removePods(cri).catch(() => {}); // what it cannot take away itself goes with the leftovers
      cri.close();
      await end(daemon, 'SIGTERM');
      removeLeftovers(footprint);
    },
  };
}
