import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bridgeName } from '../../src/app/pod-network/bridge-name.ts';
import { claimSubnet } from './claimed-subnet.ts';
import { mountedCgroups } from './runtime-cleanup.ts';

const BIN = join(import.meta.dirname, '../../bin/nodelet');
/** The longest wait of a test, for the busiest machine. */
const PATIENCE_MS = 180_000;

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running `nodelet run`. */
export interface RunningNodelet {
  readonly process: ChildProcess;
  /** Its whole output, both streams in order of arrival. */
  output(): string;
  /** Resolves when the output has a matching line; rejects when the process ends without one. */
  line(pattern: RegExp): Promise<RegExpMatchArray>;
  readonly exited: Promise<number>;
}

/** `nodelet` with its own root, state, bridge, addresses and cgroups. */
export class TestNodelet {
  readonly folder: string;
  readonly rootDir: string;
  readonly stateDir: string;
  readonly bridge: string;
  readonly podCidr: string;
  readonly #running = new Set<ChildProcess>();
  readonly #prefix: readonly string[];

  /** `prefix` enters another machine. */
  constructor(prefix: readonly string[] = []) {
    this.#prefix = prefix;
    this.folder = mkdtempSync(join(tmpdir(), 'nodelet-run-'));
    this.rootDir = join(this.folder, 'root');
    this.stateDir = join(this.folder, 'state');
    this.bridge = bridgeName(this.rootDir);
    this.podCidr = claimSubnet().v4;
  }

  /** Writes atomically: watchers see the old content or the new one. */
  write(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
    return path;
  }

  /** Runs a command to its end. */
  async command(...args: string[]): Promise<CommandResult> {
    const started = this.#spawn(this.#withState(args));
    const [stdout, stderr] = [collect(started.stdout), collect(started.stderr)];
    const exitCode = await exitOf(started);
    return { exitCode, stdout: stdout(), stderr: stderr() };
  }

  run(...args: string[]): RunningNodelet {
    const options = ['run', '--root', this.rootDir, '--state', this.stateDir, '--pod-cidr', this.podCidr];
    const started = this.#spawn([...options, ...args]);
    this.#running.add(started);
    return watch(started);
  }

  /** The resources of this nodelet on the machine; empty when only its images are left. */
  remainingResources(): string[] {
    return [
      ...readFileSync('/proc/self/mountinfo', 'utf8')
        .split('\n')
        .filter((line) => line.includes(this.folder)),
      ...execFileSync('ip', ['-o', 'link'], { encoding: 'utf8' })
        .split('\n')
        .filter((line) => line.includes(this.bridge)),
      ...cgroupsNamed(this.bridge),
      ...processesNaming(this.folder),
      ...execFileSync('iptables-save', { encoding: 'utf8' })
        .split('\n')
        .filter((line) => line.includes(this.podCidr.replace('.0/24', '.'))),
      ...entries(join(this.stateDir)).map((name) => `state: ${name}`),
      ...entries(join(this.rootDir, 'kubelet/pods')).map((name) => `pod folder: ${name}`),
      ...entries(join(this.rootDir, 'pod-logs')).map((name) => `log folder: ${name}`),
    ];
  }

  /** Stops what still runs, removes all resources and the directory; `tidy` runs just before. */
  async cleanUp(tidy?: () => void): Promise<void> {
    for (const started of this.#running) await endNow(started);
    if (this.remainingResources().length > 0) {
      const last = this.run(this.write('empty.yaml', EMPTY), '--once');
      await last.exited;
    }
    tidy?.();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #spawn(args: readonly string[]) {
    const [program = BIN, ...rest] = [...this.#prefix, BIN, ...args];
    return spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  }

  #withState(args: readonly string[]): string[] {
    const [verb = '', ...rest] = args;
    return [verb, '--state', this.stateDir, ...rest];
  }
}

/** A pod that completes at once: the agent starts, removes all other pods, and exits. */
const EMPTY = `apiVersion: v1
kind: Pod
metadata: {name: done}
spec: {restartPolicy: Never, containers: [{name: main, image: "localhost/nodelet/busybox:1", command: ["true"]}]}
`;

export function watch(started: ChildProcess): RunningNodelet {
  let text = '';
  const watchers = new Set<() => void>();
  for (const stream of [started.stdout, started.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      for (const look of watchers) look();
    });
  }
  const exited = exitOf(started);
  return {
    process: started,
    output: () => text,
    exited,
    line(pattern) {
      const found = Promise.withResolvers<RegExpMatchArray>();
      const look = (): void => {
        const match = pattern.exec(text);
        if (match) found.resolve(match);
      };
      watchers.add(look);
      look();
      const late = setTimeout(
        () => found.reject(new Error(`no ${pattern} within ${PATIENCE_MS} ms:\n${text}`)),
        PATIENCE_MS,
      );
      void exited.then((code) => found.reject(new Error(`ended with ${code} without ${pattern}:\n${text}`)));
      return found.promise.finally(() => {
        clearTimeout(late);
        watchers.delete(look);
      });
    },
  };
}

/** The next one finds the lock free. */
async function endNow(started: ChildProcess): Promise<void> {
  if (started.exitCode !== null || started.signalCode !== null) return;
  const ended = once(started, 'exit');
  started.kill('SIGKILL');
  await ended;
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

function exitOf(started: ChildProcess): Promise<number> {
  return new Promise((resolve) => started.on('close', (code) => resolve(code ?? 128)));
}

function cgroupsNamed(name: string): string[] {
  return mountedCgroups()
    .map((hierarchy) => join(hierarchy, name))
    .filter((path) => existsSync(path));
}

function processesNaming(folder: string): string[] {
  return entries('/proc').flatMap((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return /^\d+$/.test(pid) && line.includes(folder) ? [`process ${pid}: ${line}`] : [];
    } catch {
      return []; // exited meanwhile
    }
  });
}

function entries(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
