import { type ChildProcess, execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectCri } from '../../src/cri/client.ts';
import type { CgroupDriver } from '../../src/host/cgroups.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { importLocalImages } from './containerd-images.ts';
import {
  type ContainerdVersion,
  containerdConfiguration,
  containerdProgram,
  programsSkipReason,
} from './containerd-programs.ts';
import { end, launch, newFootprint, startedRuntime, stopRuntime, writeNetwork } from './daemon-fixture.ts';
import type { TestRuntime } from './runtime-fixture.ts';

const START_MS = 60_000;

/** A private containerd with two local images and a pod network. */
export interface TestContainerd extends TestRuntime {
  /** Runs `ctr` against it, in the CRI namespace. */
  ctr(...args: string[]): string;
}

/** The `{ skip }` reason of a test when it cannot run here, else `false`. */
export function skipReason(version: ContainerdVersion = 'debian'): string | false {
  if (process.getuid?.() !== 0) return 'needs root';
  return programsSkipReason(version) || cgroupSkipReason();
}

export function cgroupSkipReason(): string | false {
  if (!existsSync('/sys/fs/cgroup/cgroup.controllers') && !existsSync('/sys/fs/cgroup/memory')) return 'needs cgroups';
  try {
    accessSync('/sys/fs/cgroup', constants.W_OK);
  } catch {
    return 'needs writable cgroups';
  }
  return false;
}

export interface ContainerdOptions {
  readonly version?: ContainerdVersion;
  /** Names of runtime handlers beside the default one; all of them are runc. */
  readonly handlers?: readonly string[];
  /** Whether its network maps host ports to pods. */
  readonly hostPorts?: boolean;
  /** Its directory of hosts.toml files; absent: `certs.d` of its own directory. */
  readonly hosts?: string;
  readonly cgroupDriver?: CgroupDriver;
}

export async function startContainerd({
  version = 'debian',
  handlers = ['other'],
  hostPorts = false,
  hosts,
  cgroupDriver = 'cgroupfs',
}: ContainerdOptions = {}): Promise<TestContainerd> {
  const footprint = newFootprint('containerd');
  const { folder, socketPath, cgroupParent, bridge } = footprint;
  const endpoint = `unix://${socketPath}`;
  writeNetwork(footprint, hostPorts);
  const choices = { version, handlers: ['runc', ...handlers], hosts: hosts ?? join(folder, 'certs.d'), cgroupDriver };
  writeFileSync(join(folder, 'config.toml'), containerdConfiguration(footprint, choices));
  const cri = connectCri(endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 10_000 });
  const start = (): Promise<ChildProcess> => {
    const logPath = join(folder, 'containerd.log');
    const daemon = launch([containerdProgram(version), '--config', join(folder, 'config.toml')], logPath);
    return startedRuntime(daemon, cri, logPath);
  };
  let daemon = await start();
  const ctr = (...args: string[]) =>
    execFileSync('ctr', ['--address', socketPath, '--namespace', 'k8s.io', ...args], { encoding: 'utf8' });
  await importLocalImages(cri.images, socketPath, AbortSignal.timeout(START_MS));
  return {
    endpoint,
    folder,
    cgroupParent,
    bridge,
    pid: () => daemon.pid ?? 0,
    ctr,
    async tag(from, to) {
      ctr('images', 'tag', from, to);
    },
    async load(path) {
      ctr('images', 'import', '--no-unpack', path);
    },
    async restart() {
      await end(daemon, 'SIGKILL');
      daemon = await start();
    },
    stop: () => stopRuntime(cri, daemon, footprint),
  };
}
