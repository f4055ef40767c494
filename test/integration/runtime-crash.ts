/**
 * Kills `nodelet cri` again and again, at random moments of sandbox and container operations; then looks for what should
 * not be: a container of a live pod that died, or anything that a restart has neither taken away nor adopted.
 *
 *   scripts/node test/integration/runtime-crash.ts [--operations 200] [--seed 1]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import {
  ContainerState,
  CreateContainerRequest,
  ListContainersRequest,
  ListPodSandboxRequest,
  NamespaceMode,
  PodSandboxConfig,
} from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/linux-clock.ts';
import { Draw } from '../sim/draw.ts';
import { embeddedSkipReason, startEmbedded, type TestRuntime } from './runtime-fixture.ts';
import { runtimeTraces } from './runtime-traces.ts';

/** Pods that are never touched while the runtime is killed. */
const STEADY = 3;
/** Lives of other pods that go on side by side. */
const SIDE_BY_SIDE = 3;

export interface RuntimeCrashOptions {
  readonly operations: number;
  readonly seed: number;
}

export interface RuntimeCrashResult {
  readonly kills: number;
  readonly operations: number;
  /** What became of live pods though nobody asked for it. */
  readonly wrong: readonly string[];
  /** What was left of the pods that came and went, and what was left in the end. */
  readonly leaks: readonly string[];
}

export async function runtimeCrash({ operations, seed }: RuntimeCrashOptions): Promise<RuntimeCrashResult> {
  const runtime = await startEmbedded();
  const cri = connectCri(runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 30_000 });
  try {
    const world = new World(runtime, cri, operations);
    const empty = runtimeTraces(runtime);
    const steady = [];
    for (let index = 0; index < STEADY; index++) steady.push(await world.startPod(`steady-${index}`, 'steady'));
    const before = runtimeTraces(runtime);

    const draws = Array.from({ length: SIDE_BY_SIDE }, (_, index) => new Draw(seed, `life-${index}`));
    const lives = Promise.all(draws.map((draw, index) => world.passingPods(`passing-${index}`, draw)));
    const kills = await killUntil(runtime, lives, new Draw(seed, 'kills'));
    await world.removeAll((name) => !name.startsWith('steady-'));
    const wrong = await deaths(cri, steady);
    const leaks = difference('besides the steady pods', before, runtimeTraces(runtime));
    await world.removeAll(() => true);
    leaks.push(...difference('in the end', empty, runtimeTraces(runtime)));
    return { kills, operations: world.done, wrong, leaks };
  } finally {
    cri.close();
    await runtime.stop();
  }
}

/** Until the lives are over. */
async function killUntil(runtime: TestRuntime, lives: Promise<unknown>, draw: Draw): Promise<number> {
  let over = false;
  const ended = lives.finally(() => {
    over = true;
  });
  let kills = 0;
  for (; !over; kills++) {
    await Promise.race([delay(draw.int(5, 400)), ended]);
    await runtime.restart();
  }
  await ended;
  return kills;
}

async function deaths(cri: CriConnection, steady: readonly StartedPod[]): Promise<string[]> {
  const { containers } = await cri.runtime.listContainers(ListContainersRequest.create(), patience());
  const wrong: string[] = [];
  for (const { name, containerId, pid } of steady) {
    const state = containers.find(({ id }) => id === containerId)?.state;
    if (state !== ContainerState.CONTAINER_RUNNING) wrong.push(`${name} is in state ${state}`);
    const now = await pidOf(cri, containerId).catch(() => 0);
    if (now !== pid) wrong.push(`${name} had process ${pid} and has ${now}`);
  }
  return wrong;
}

function difference(when: string, before: readonly string[], after: readonly string[]): string[] {
  return [
    ...after.filter((line) => !before.includes(line)).map((line) => `${when}, too much: ${line}`),
    ...before.filter((line) => !after.includes(line)).map((line) => `${when}, missing: ${line}`),
  ];
}

interface StartedPod {
  readonly name: string;
  readonly containerId: string;
  readonly pid: number;
}

/** The pods, and how often the runtime was asked for something. */
class World {
  readonly #runtime: TestRuntime;
  readonly #cri: CriConnection;
  readonly #wanted: number;
  done = 0;

  constructor(runtime: TestRuntime, cri: CriConnection, wanted: number) {
    this.#runtime = runtime;
    this.#cri = cri;
    this.#wanted = wanted;
  }

  async startPod(name: string, kind: string): Promise<StartedPod> {
    const { runtime } = this.#cri;
    const config = this.#config(name, kind);
    const { podSandboxId } = await runtime.runPodSandbox({ config, runtimeHandler: '' }, patience());
    const { containerId } = await runtime.createContainer(this.#container(podSandboxId, config, 0), patience());
    await runtime.startContainer({ containerId }, patience());
    return { name, containerId, pid: await pidOf(this.#cri, containerId) };
  }

  /** One after the other, each as far as it gets: what is left of it when the runtime dies, the end takes away. */
  async passingPods(prefix: string, draw: Draw): Promise<void> {
    for (let count = 0; this.done < this.#wanted; count++) {
      const kind = draw.pick(['plain', 'pid', 'host']);
      await this.#life(`${prefix}-${count}`, kind, draw).catch(() => this.#untilBack());
    }
  }

  async #life(name: string, kind: string, draw: Draw): Promise<void> {
    const { runtime } = this.#cri;
    const config = this.#config(name, kind);
    const { podSandboxId } = await this.#ask(() => runtime.runPodSandbox({ config, runtimeHandler: '' }, patience()));
    const containers = draw.int(1, 2);
    for (let attempt = 0; attempt < containers; attempt++) {
      const request = this.#container(podSandboxId, config, attempt);
      const { containerId } = await this.#ask(() => runtime.createContainer(request, patience()));
      if (draw.int(0, 9) > 0) await this.#ask(() => runtime.startContainer({ containerId }, patience()));
      if (draw.int(0, 1) > 0) await this.#ask(() => runtime.stopContainer({ containerId, timeout: 0n }, patience()));
      if (draw.int(0, 1) > 0) await this.#ask(() => runtime.removeContainer({ containerId }, patience()));
    }
    if (draw.int(0, 3) > 0) await this.#ask(() => runtime.stopPodSandbox({ podSandboxId }, patience()));
    if (draw.int(0, 3) > 0) await this.#ask(() => runtime.removePodSandbox({ podSandboxId }, patience()));
  }

  #ask<T>(call: () => Promise<T>): Promise<T> {
    this.done++;
    return call();
  }

  async #untilBack(): Promise<void> {
    const endsAt = performance.now() + 30_000;
    while (performance.now() < endsAt) {
      const isBack = await this.#cri.runtime.version({ version: '' }, patience()).then(
        () => true,
        () => false,
      );
      if (isBack) return;
      await delay(10);
    }
    throw new Error('the runtime does not come back');
  }

  async removeAll(isMeant: (name: string) => boolean): Promise<void> {
    const { runtime } = this.#cri;
    const { items } = await runtime.listPodSandbox(ListPodSandboxRequest.create(), patience());
    for (const { id: podSandboxId, metadata } of items) {
      if (!isMeant(metadata?.name ?? '')) continue;
      await runtime.stopPodSandbox({ podSandboxId }, patience());
      await runtime.removePodSandbox({ podSandboxId }, patience());
    }
  }

  #config(name: string, kind: string): PodSandboxConfig {
    const { folder, cgroupParent } = this.#runtime;
    const network = kind === 'host' ? NamespaceMode.NODE : NamespaceMode.POD;
    const pid = kind === 'pid' ? NamespaceMode.POD : NamespaceMode.CONTAINER;
    return PodSandboxConfig.fromPartial({
      metadata: { name, uid: `uid-${name}`, namespace: 'default' },
      hostname: kind === 'host' ? '' : name,
      logDirectory: `${folder}/logs/${name}`,
      linux: { cgroupParent: `${cgroupParent}/${name}`, securityContext: { namespaceOptions: { network, pid } } },
    });
  }

  #container(podSandboxId: string, sandboxConfig: PodSandboxConfig, attempt: number): CreateContainerRequest {
    const { namespaceOptions } = sandboxConfig.linux?.securityContext ?? {};
    return CreateContainerRequest.fromPartial({
      podSandboxId,
      sandboxConfig,
      config: {
        metadata: { name: 'main', attempt },
        image: { image: BUSYBOX_IMAGE },
        command: ['sleep', '100000'],
        logPath: `main/${attempt}.log`,
        linux: { securityContext: { ...(namespaceOptions ? { namespaceOptions } : {}) } },
      },
    });
  }
}

async function pidOf({ runtime }: CriConnection, containerId: string): Promise<number> {
  const { info } = await runtime.containerStatus({ containerId, verbose: true }, patience());
  const { pid } = JSON.parse(info['info'] ?? '{}') as { readonly pid?: number };
  return pid ?? 0;
}

function patience(): AbortSignal {
  return AbortSignal.timeout(60_000);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { operations: { type: 'string', default: '200' }, seed: { type: 'string', default: '1' } },
  });
  const cannot = embeddedSkipReason();
  if (cannot) throw new Error(`this machine cannot run it: ${cannot}`);
  const result = await runtimeCrash({ operations: Number(values.operations), seed: Number(values.seed) });
  const { kills, operations, wrong, leaks } = result;
  console.log(`kills: ${kills}, operations: ${operations}`);
  console.log(`wrong: ${wrong.length}`, ...wrong.map((line) => `\n  ${line}`));
  console.log(`leaks: ${leaks.length}`, ...leaks.map((line) => `\n  ${line}`));
  process.exitCode = wrong.length + leaks.length === 0 ? 0 : 1;
}
