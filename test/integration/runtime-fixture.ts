import { type ChildProcess, execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { busyboxArchive } from '../../src/app/images/local-images.ts';
import { connectCri } from '../../src/cri/client.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { cgroupSkipReason, skipReason, startContainerd } from './containerd-fixture.ts';
import { end, launch, newFootprint, startedRuntime, stopRuntime, writeNetwork } from './daemon-fixture.ts';

/** A private CRI runtime with a local image and a pod network. */
export interface TestRuntime {
  readonly endpoint: string;
  readonly folder: string;
  /** The `cgroupParent` of the pods; removed when it stops. */
  readonly cgroupParent: string;
  /** The bridge of its pods; also the name of their network. */
  readonly bridge: string;
  pid(): number;
  /** Adds a second name to an image. */
  tag(from: string, to: string): Promise<void>;
  /** Loads an image archive. */
  load(path: string): Promise<void>;
  /** Kills it with SIGKILL and starts it again on the same directory. Containers keep running. */
  restart(): Promise<void>;
  /** Removes the remaining pods, then stops the runtime and removes all resources. */
  stop(): Promise<void>;
}

/** Debian's containerd, containerd 2, or the embedded runtime. */
export type TestRuntimeName = 'containerd' | 'containerd2' | 'embedded';

/** The runtime of the agent tests: `NODELET_TEST_RUNTIME`. */
export const TEST_RUNTIME = testRuntimeName(process.env['NODELET_TEST_RUNTIME'] ?? 'containerd');

/** The skip reasons of tests that only some of the runtimes can pass. */
export const NOT_ON_CONTAINERD = TEST_RUNTIME === 'containerd' && "Debian's containerd cannot";
export const ONLY_ON_CONTAINERD = TEST_RUNTIME !== 'containerd' && 'this runtime can';

function testRuntimeName(given: string): TestRuntimeName {
  if (given === 'containerd' || given === 'containerd2' || given === 'embedded') return given;
  throw new Error(`NODELET_TEST_RUNTIME is containerd, containerd2 or embedded, not ${given}`);
}

export function startRuntime(name = TEST_RUNTIME): Promise<TestRuntime> {
  if (name === 'embedded') return startEmbedded();
  return startContainerd({ version: name === 'containerd2' ? 'v2' : 'debian' });
}

/** The `{ skip }` reason of a test when it cannot run here, else `false`. */
export function runtimeSkipReason(name = TEST_RUNTIME): string | false {
  if (name === 'embedded') return embeddedSkipReason();
  return skipReason(name === 'containerd2' ? 'v2' : 'debian');
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

/** The `{ skip }` reason of a test when `nodelet cri` cannot run here, else `false`. */
export function embeddedSkipReason(): string | false {
  if (process.getuid?.() !== 0) return 'needs root';
  const missing = PROGRAMS.filter((path) => !existsSync(path));
  return missing.length > 0 ? `not installed: ${missing.join(', ')}` : cgroupSkipReason();
}

const BIN = join(import.meta.dirname, '../../bin/nodelet');
const START_MS = 300_000; // an emulated machine is slow
const run = promisify(execFile);

export interface EmbeddedTestRuntime extends TestRuntime {
  /** As `restart`, with processes in between that are killed with SIGKILL after these milliseconds. */
  restart(shortLivesMs?: readonly number[]): Promise<void>;
}

export interface EmbeddedOptions {
  /** Replaces this checkout's program. */
  readonly command?: readonly string[];
  /** Additional flags for `nodelet cri`. */
  readonly flags?: readonly string[];
  /** Whether its network maps host ports to pods. */
  readonly hostPorts?: boolean;
  /** Names of runtime handlers beside `runc`; all of them are runc. */
  readonly handlers?: readonly string[];
}

/** `nodelet cri` as a separate process. */
export async function startEmbedded({
  command = [BIN],
  flags = [],
  hostPorts = false,
  handlers: names = ['other'],
}: EmbeddedOptions = {}): Promise<EmbeddedTestRuntime> {
  const footprint = newFootprint('embedded');
  const { folder, socketPath, cgroupParent, bridge } = footprint;
  const endpoint = `unix://${socketPath}`;
  writeNetwork(footprint, hostPorts);
  const places = ['--root', join(folder, 'root'), '--state', join(folder, 'state')];
  const cri = connectCri(endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 10_000 });
  const [program = BIN, ...first] = command;
  const network = ['--cni-conf-dir', join(folder, 'cni')];
  const handlers = ['--runtime-handler', ...['runc', ...names].map((name) => `${name}=${RUNC}`)];
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
        const shortLived = begin();
        await delay(ms);
        await end(shortLived, 'SIGKILL');
      }
      daemon = await start();
    },
    stop: () => stopRuntime(cri, daemon, footprint),
  };
}
