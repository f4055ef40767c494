import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { createOciRuntime } from '../../src/runtime/oci/create-oci-runtime.ts';
import type { MonitoredContainer, OciRuntime } from '../../src/runtime/oci/oci-runtime.ts';
import type { OciProcess, OciSpec } from '../../src/runtime/oci/oci-spec.ts';
import { createSeccompFilterCache } from '../../src/runtime/oci/seccomp-filter-cache.ts';
import { cgroupSkipReason } from './containerd-fixture.ts';
import { mountedCgroups } from './runtime-cleanup.ts';

export const never = new AbortController().signal;
export const MONITOR = '/usr/bin/conmon';
const CRUN = '/usr/bin/crun';
const CRUN_WITHOUT_V2 = join(import.meta.dirname, 'bin/crun');
const RUNC = '/usr/sbin/runc';
export const host = createLinuxHost(process.env);

/** The `{ skip }` reason of a test when this machine cannot run these, else `false`. */
export async function ociSkipReason(program: string): Promise<string | false> {
  if (process.getuid?.() !== 0) return 'needs root';
  const missing = [program, MONITOR, '/bin/busybox'].filter((file) => !existsSync(file));
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  return cgroupSkipReason() || (await runtimeFault(program));
}

/** A program of the machine, or the reason why tests cannot use it. */
export interface OciProgram {
  readonly program: string;
  /** For `{ skip }` of a test. */
  readonly skip: string | false;
}

/**
 * crun as it works on this machine. It rejects a hybrid cgroup layout whose v2 mount has a controller; tests run it
 * there in a mount namespace without that mount.
 */
export async function usableCrun(): Promise<OciProgram> {
  const fault = await ociSkipReason(CRUN);
  if (!fault || !existsSync(CRUN)) return { program: CRUN, skip: fault };
  const faultWithoutV2 = await ociSkipReason(CRUN_WITHOUT_V2);
  const skip = faultWithoutV2 && (faultWithoutV2 === fault ? fault : `${fault}; ${faultWithoutV2}`);
  return { program: CRUN_WITHOUT_V2, skip };
}

export async function usableRunc(): Promise<OciProgram> {
  return { program: RUNC, skip: await ociSkipReason(RUNC) };
}

/** The one that the embedded runtime prefers, if it works. */
export async function preferredProgram(): Promise<OciProgram> {
  const crun = await usableCrun();
  return crun.skip ? usableRunc() : crun;
}

async function runtimeFault(program: string): Promise<string | false> {
  const world = new OciWorld(program);
  try {
    const { id, bundle } = world.container(['true']);
    execFileSync(program, [`--root=${world.stateRoot}`, 'run', '--bundle', bundle, id], { stdio: 'pipe' });
    return false;
  } catch (error) {
    const words = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    return `${program} does not work here: ${words}`;
  } finally {
    await world.close();
  }
}

/** Directories, a cgroup parent and a root file system for the containers of one test. */
export class OciWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'oci-'));
  readonly stateRoot = join(this.folder, 'state');
  readonly cgroupParent = `/nodelet-test-${basename(this.folder)}`;
  readonly program: string;
  readonly #containers: MonitoredContainer[] = [];

  constructor(program: string) {
    this.program = program;
    const bin = join(this.folder, 'rootfs/bin');
    for (const folder of [bin, join(bin, '../proc'), join(bin, '../dev')]) mkdirSync(folder, { recursive: true });
    copyFileSync('/bin/busybox', join(bin, 'busybox'));
    for (const name of ['sh', 'true', 'sleep', 'echo', 'cat', 'dd', 'stty', 'seq', 'mkdir', 'chmod'])
      symlinkSync('busybox', join(bin, name));
  }

  /** A new driver, as after a restart. */
  runtime(monitorProgram = MONITOR, fastPath = this.program.endsWith('/crun')): OciRuntime {
    const { clock, fs, fifos, processes, cgroups, packetSockets } = host;
    const filters = createSeccompFilterCache({ path: join(this.folder, 'filters.json'), stamp: '', fs });
    return createOciRuntime({
      program: this.program,
      monitorProgram,
      stateRoot: this.stateRoot,
      exits: join(this.folder, 'exits'),
      sockets: join(this.folder, 's'),
      clock,
      fs,
      fifos,
      processes,
      cgroups,
      packetSockets,
      ...(fastPath && { crun: { filters } }),
    });
  }

  /** A bundle that is ready to start. */
  container(
    args: readonly string[],
    change: (spec: OciSpec) => OciSpec = (spec) => spec,
  ): MonitoredContainer & { logPath: string } {
    const id = `c${this.#containers.length + 1}`;
    const bundle = join(this.folder, id);
    mkdirSync(bundle);
    const spec = change(specOf(args, join(this.folder, 'rootfs'), `${this.cgroupParent}/${id}`));
    writeFileSync(join(bundle, 'config.json'), JSON.stringify(spec));
    const logPath = join(this.folder, `${id}.log`);
    const container = { id, bundle, logPath, terminal: spec.process.terminal, stdin: false, stdinOnce: false };
    this.#containers.push(container);
    return container;
  }

  /** Resources of removed containers that still exist. */
  async remainingResources(): Promise<readonly string[]> {
    const below = (path: string): string[] =>
      existsSync(path) ? readdirSync(path).map((name) => join(path, name)) : [];
    const bundles = below(this.folder).filter((path) => existsSync(join(path, 'config.json')));
    return [
      ...below(this.stateRoot),
      ...below(join(this.folder, 'exits')),
      ...below(join(this.folder, 's')),
      ...bundles.flatMap(below).filter((path) => !path.endsWith('/config.json')),
      ...(await host.cgroups.children(this.cgroupParent)),
      ...processesWith(this.folder),
    ];
  }

  /** Also after a failed test. */
  async close(): Promise<void> {
    const runtime = this.runtime();
    for (const container of this.#containers) await runtime.remove(container, never);
    rmSync(this.folder, { recursive: true, force: true });
    for (const hierarchy of mountedCgroups()) {
      const path = join(hierarchy, this.cgroupParent);
      if (existsSync(path)) rmdirSync(path);
    }
  }
}

/** Processes with the text in their command line. */
function processesWith(words: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.map((pid) => commandLine(pid)).filter((line) => line.includes(words));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // it has exited meanwhile
  }
}

export function processOf(args: readonly string[], terminal = false): OciProcess {
  const capabilities = ['CAP_KILL'];
  return {
    terminal,
    user: { uid: 0, gid: 0, additionalGids: [] },
    args,
    env: ['PATH=/bin'],
    cwd: '/',
    capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
    rlimits: [],
    noNewPrivileges: true,
  };
}

function specOf(args: readonly string[], rootfs: string, cgroupsPath: string): OciSpec {
  return {
    ociVersion: '1.0.2',
    process: processOf(args),
    root: { path: rootfs, readonly: true },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc', options: [] },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=65536k'] },
      { destination: '/dev/pts', type: 'devpts', source: 'devpts', options: ['newinstance', 'ptmxmode=0666'] },
    ],
    annotations: {},
    linux: {
      namespaces: [{ type: 'pid' }, { type: 'ipc' }, { type: 'uts' }, { type: 'mount' }],
      devices: [],
      cgroupsPath,
      resources: { devices: [{ allow: true, access: 'rwm' }] },
      maskedPaths: [],
      readonlyPaths: [],
    },
  };
}
