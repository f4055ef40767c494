import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BUSYBOX, NODELET } from './nodelet-program.ts';

const HEADER = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
const SERVERS = {
  enableServer: false,
  healthzPort: 0,
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
};

/** A standalone `nodelet kubelet` on its embedded runtime, with static pods. */
export class KubeletAgent {
  readonly #folder: string;
  readonly #manifests: string;
  #process: ChildProcess | undefined;
  /** What it has logged so far. */
  log = '';

  /** `folder` is its own. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#manifests = join(folder, 'manifests');
    mkdirSync(this.#manifests, { recursive: true });
  }

  /** `settings`: fields of KubeletConfiguration. */
  start(settings: object): ChildProcess {
    const config = join(this.#folder, 'config.yaml');
    const own = { staticPodPath: this.#manifests, containerRuntimeEndpoint: 'embedded' };
    writeFileSync(config, JSON.stringify({ ...HEADER, ...SERVERS, ...own, ...settings }));
    const [program, ...args] = NODELET;
    const rootDir = join(this.#folder, 'kubelet');
    const child = spawn(program, [...args, 'kubelet', '--config', config, '--root-dir', rootDir], {
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.log += text;
      process.stderr.write(text);
    });
    this.#process = child;
    return child;
  }

  addPod(name: string, resources: object): void {
    writePod(join(this.#manifests, `${name}.yaml`), name, resources);
  }

  removePod(name: string): void {
    rmSync(join(this.#manifests, `${name}.yaml`), { force: true });
  }

  /** Leaves its containers running. */
  async stop(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }
}

/** Runs a program to its end. */
export function nodelet(...args: readonly string[]): void {
  const [program, ...first] = NODELET;
  execFileSync(program, [...first, ...args], { stdio: 'inherit' });
}

export function writePod(
  path: string,
  name: string,
  resources: object,
  command: readonly string[] = ['sleep', '100000'],
): string {
  const container = { name: 'main', image: BUSYBOX, command, resources };
  const spec = { hostNetwork: true, restartPolicy: 'Never', terminationGracePeriodSeconds: 1, containers: [container] };
  writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }));
  return path;
}

export function read(path: string): string {
  return readFileSync(path, 'utf8').trim();
}

/** A property of a unit of systemd. */
export function unitProperty(unit: string, name: string): string {
  return execFileSync('systemctl', ['show', '--value', '--property', name, unit], { encoding: 'utf8' }).trim();
}

/** Polls, because the machine is emulated; fails after ten minutes. */
export async function until<T>(what: string, find: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + 600_000; Date.now() < end; await delay(500)) {
    const found = await find();
    if (found !== undefined) return found;
  }
  return assert.fail(`no sign of: ${what}`);
}
