/**
 * Kills `nodelet cri` repeatedly, at random moments of sandbox and container operations; then checks that no
 * container of a live pod died, and that every resource was removed or adopted after a restart.
 *
 *   scripts/node test/integration/runtime-crash.ts [--operations 200] [--seed 1]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { ContainerState, ListContainersRequest, ListPodSandboxRequest } from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { Draw } from '../sim/draw.ts';
import { addPortMappings, crashContainer, crashPod, POD_KINDS, type PodKind } from './runtime-crash-pods.ts';
import { type EmbeddedTestRuntime, embeddedSkipReason, startEmbedded, type TestRuntime } from './runtime-fixture.ts';
import { settledRuntimeResources } from './runtime-pod.ts';
import { emptyPortChains, listRuntimeResources } from './runtime-resources.ts';

/** The number of parallel workers that create and remove other pods. */
const SIDE_BY_SIDE = 3;
/** They continue until it was killed this often, however fast the machine is. */
const FEWEST_KILLS = 5;
/** The longest wait of a test, for the busiest machine. */
const PATIENCE_MS = 60_000;

export interface RuntimeCrashOptions {
  readonly operations: number;
  readonly seed: number;
}

export interface RuntimeCrashResult {
  readonly kills: number;
  readonly operations: number;
  /** Unrequested changes of live pods. */
  readonly wrong: readonly string[];
  /** Resources left by removed pods, and resources left at the end. */
  readonly leaks: readonly string[];
}

export async function runtimeCrash({ operations, seed }: RuntimeCrashOptions): Promise<RuntimeCrashResult> {
  const runtime = await startEmbedded();
  addPortMappings(runtime);
  await runtime.restart();
  const cri = connectCri(runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 60_000 });
  try {
    const world = new World(runtime, cri, operations);
    const chains = emptyPortChains();
    const empty = await settledRuntimeResources(runtime);
    const steady = [];
    for (const kind of POD_KINDS) steady.push(await world.startPod(`steady-${kind}`, kind));
    const before = await settledRuntimeResources(runtime);

    const draws = Array.from({ length: SIDE_BY_SIDE }, (_, index) => new Draw(seed, `life-${index}`));
    const workers = Promise.all(draws.map((draw, index) => world.passingPods(`passing-${index}`, draw)));
    const kills = await killUntil(runtime, world, workers, new Draw(seed, 'kills'));
    await world.removeAll((name) => !name.startsWith('steady-'));
    const wrong = await deaths(cri, steady);
    const leaks = await leftOver('besides the steady pods', before, runtime);
    await world.removeAll(() => true);
    leaks.push(...(await leftOver('in the end', empty, runtime)), ...(await chainsLeft(chains)));
    return { kills, operations: world.done, wrong, leaks };
  } finally {
    cri.close();
    await runtime.stop();
  }
}

/** Kills until the workers are done. Sometimes a process is killed during its recovery. */
async function killUntil(
  runtime: EmbeddedTestRuntime,
  world: World,
  workers: Promise<unknown>,
  draw: Draw,
): Promise<number> {
  let over = false;
  const ended = workers.finally(() => {
    over = true;
  });
  while (!over) {
    await world.untilBack();
    await Promise.race([delay(draw.int(1, 250)), ended]);
    const shortLives = draw.chance(0.3) ? draw.several(1, 2, () => draw.int(30, 350)) : [];
    await runtime.restart(shortLives);
    world.kills += 1 + shortLives.length;
  }
  await ended;
  return world.kills;
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

/** Files of a removed container are deleted a little later. */
async function leftOver(when: string, before: readonly string[], runtime: TestRuntime): Promise<string[]> {
  return unlessGone(() => difference(when, before, listRuntimeResources(runtime)));
}

/** Other runtimes on this machine may be creating such chains, and remove them themselves. */
async function chainsLeft(before: readonly string[]): Promise<string[]> {
  return unlessGone(() =>
    emptyPortChains()
      .filter((chain) => !before.includes(chain))
      .map((chain) => `in the end, too much: ${chain}`),
  );
}

/** Chains that persist. */
async function unlessGone(look: () => string[]): Promise<string[]> {
  for (const endsAt = performance.now() + PATIENCE_MS; performance.now() < endsAt; await delay(50)) {
    if (look().length === 0) return [];
  }
  return look();
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

/** The pods, and the numbers of operations and kills. */
class World {
  readonly #runtime: TestRuntime;
  readonly #cri: CriConnection;
  readonly #wanted: number;
  done = 0;
  kills = 0;

  constructor(runtime: TestRuntime, cri: CriConnection, wanted: number) {
    this.#runtime = runtime;
    this.#cri = cri;
    this.#wanted = wanted;
  }

  /** One pod of each kind is never touched while the runtime is killed. */
  async startPod(name: string, kind: PodKind): Promise<StartedPod> {
    const { runtime } = this.#cri;
    const config = crashPod(this.#runtime, name, kind);
    const { podSandboxId } = await runtime.runPodSandbox({ config, runtimeHandler: '' }, patience());
    const request = crashContainer(podSandboxId, config, { index: 0, hasImageVolume: true });
    const { containerId } = await runtime.createContainer(request, patience());
    await runtime.startContainer({ containerId }, patience());
    return { name, containerId, pid: await pidOf(this.#cri, containerId) };
  }

  /** Sequentially, each as far as it gets: the rest is removed at the end. */
  async passingPods(prefix: string, draw: Draw): Promise<void> {
    for (let count = 0; this.done < this.#wanted || this.kills < FEWEST_KILLS; count++) {
      await this.#life(`${prefix}-${count}`, draw).catch(() => this.untilBack());
    }
  }

  async #life(name: string, draw: Draw): Promise<void> {
    const { runtime } = this.#cri;
    const config = crashPod(this.#runtime, name, draw.pick(POD_KINDS));
    const { podSandboxId } = await this.#ask(() => runtime.runPodSandbox({ config, runtimeHandler: '' }, patience()));
    const containers = draw.several(1, 3, (index) => ({ index, hasImageVolume: draw.chance(0.3) }));
    for (const container of containers) {
      const request = crashContainer(podSandboxId, config, container);
      const { containerId } = await this.#ask(() => runtime.createContainer(request, patience()));
      if (draw.chance(0.9)) await this.#ask(() => runtime.startContainer({ containerId }, patience()));
      if (draw.chance(0.3)) await this.#ask(() => runtime.execSync(execIn(containerId), patience()));
      if (draw.chance(0.4)) await this.#ask(() => runtime.stopContainer({ containerId, timeout: 0n }, patience()));
      if (draw.chance(0.4)) await this.#ask(() => runtime.removeContainer({ containerId }, patience()));
    }
    if (draw.chance(0.7)) await this.#ask(() => runtime.stopPodSandbox({ podSandboxId }, patience()));
    if (draw.chance(0.7)) await this.#ask(() => runtime.removePodSandbox({ podSandboxId }, patience()));
  }

  #ask<T>(call: () => Promise<T>): Promise<T> {
    this.done++;
    return call();
  }

  /** A client that has lost its connection waits a while before it retries. */
  async untilBack(): Promise<void> {
    const endsAt = performance.now() + PATIENCE_MS;
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
}

async function pidOf({ runtime }: CriConnection, containerId: string): Promise<number> {
  const { info } = await runtime.containerStatus({ containerId, verbose: true }, patience());
  const { pid } = JSON.parse(info['info'] ?? '{}') as { readonly pid?: number };
  return pid ?? 0;
}

function execIn(containerId: string) {
  return { containerId, cmd: ['sleep', '0.05'], timeout: 60n };
}

function patience(): AbortSignal {
  return AbortSignal.timeout(2 * PATIENCE_MS);
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
