/**
 * Kills the agent repeatedly at random moments while pods are created and deleted; then checks that no container was
 * restarted and no resource is left on the machine.
 *
 *   scripts/node test/integration/crash-loop.ts [--seconds 120] [--seed 1]
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { emptyPodChains } from '../../src/app/pod-network/nat-rules.ts';
import { Draw } from '../sim/draw.ts';
import { CrashManifests } from './crash-manifests.ts';
import { type RunningNodelet, TestNodelet } from './nodelet-fixture.ts';
import { RestartObserver } from './restart-observer.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { RuntimeRecords } from './runtime-records.ts';

/** Desired during the whole run. */
const STEADY = ['steady-0', 'steady-1', 'steady-2'];
/** These are created and deleted. */
const PASSING = Array.from({ length: 17 }, (_, index) => `passing-${index}`);
const END_MS = 300_000;
const OTHERS_MS = 30_000;
/** The loop runs until there were this many kills, however slow the machine is. */
const FEWEST = { kills: 3, created: 20 };

export interface CrashLoopOptions {
  readonly seconds: number;
  readonly seed: number;
}

export interface CrashLoopResult {
  readonly kills: number;
  readonly created: number;
  readonly deleted: number;
  /** The number of pods that got a sandbox. */
  readonly podsSeen: number;
  /** Containers that were created though an earlier one had started, and pods that ran twice. */
  readonly wrong: readonly string[];
  /** Resources that are left after the regular end. */
  readonly leaks: readonly string[];
  readonly exitCode: number;
  /** The output of the last agent. */
  readonly output: string;
}

export async function crashLoop({ seconds, seed }: CrashLoopOptions): Promise<CrashLoopResult> {
  const nodelet = new TestNodelet();
  const manifests = new CrashManifests(`${nodelet.folder}/manifests`);
  const records = new RuntimeRecords(nodelet.rootDir);
  const chainsBefore = emptyChains();
  const over = new AbortController();
  const watching: Promise<void>[] = [];
  try {
    for (const name of STEADY) manifests.add(name);
    const first = nodelet.run(manifests.folder);
    for (const name of STEADY) await first.line(new RegExp(`${name} +● ready`));
    const before = await steadyContainers(nodelet);

    const observer = new RestartObserver(records);
    const changing = new AbortController();
    watching.push(
      observer.watch(over.signal),
      changeManifests(manifests, new Draw(seed, 'manifests'), changing.signal),
    );
    const { kills, last } = await killInALoop(nodelet, first, manifests, new Draw(seed, 'kills'), seconds);
    changing.abort();

    await until(async () => (await podsReady(nodelet)) === manifests.names.length, last, 'all wanted pods are ready');
    const wrong = differences(before, await steadyContainers(nodelet));
    for (const name of manifests.names) manifests.remove(name);
    await until(async () => records.sandboxes().length === 0, last, 'all pods are gone');
    over.abort();
    await Promise.all(watching);
    last.process.kill('SIGTERM');
    const exitCode = await last.exited;
    const { created, deleted } = manifests;
    return {
      kills,
      created,
      deleted,
      podsSeen: observer.podsSeen,
      wrong: [...wrong, ...observer.wrong],
      leaks: [...nodelet.remainingResources(), ...(await chainsLeft(chainsBefore))],
      exitCode,
      output: last.output(),
    };
  } finally {
    over.abort();
    await Promise.all(watching);
    await nodelet.cleanUp();
  }
}

/** The bridge plugin leaves these chains when it is killed with its caller; they do not name an owner. */
function emptyChains(): readonly string[] {
  return emptyPodChains(execFileSync('iptables-save', ['-t', 'nat'], { encoding: 'utf8' }));
}

/** Other plugins on this machine may be creating such chains, and remove them themselves. */
async function chainsLeft(before: readonly string[]): Promise<readonly string[]> {
  const look = (): readonly string[] => emptyChains().filter((chain) => !before.includes(chain));
  for (const endsAt = performance.now() + OTHERS_MS; performance.now() < endsAt; await delay(50)) {
    if (look().length === 0) return [];
  }
  return look();
}

/** Kills until the time is over; the last agent stays. */
async function killInALoop(
  nodelet: TestNodelet,
  first: RunningNodelet,
  manifests: CrashManifests,
  draw: Draw,
  seconds: number,
): Promise<{ readonly kills: number; readonly last: RunningNodelet }> {
  const endsAt = performance.now() + seconds * 1000;
  let last = first;
  let kills = 0;
  const isEnough = (): boolean => kills >= FEWEST.kills && manifests.created >= FEWEST.created;
  for (; performance.now() < endsAt || !isEnough(); kills++) {
    await delay(draw.int(50, 3_000));
    last.process.kill('SIGKILL');
    await last.exited;
    last = nodelet.run(manifests.folder);
  }
  return { kills, last };
}

async function changeManifests(manifests: CrashManifests, draw: Draw, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    manifests.toggle(draw.pick(['passing-0', ...PASSING]));
    await delay(draw.int(50, 500), undefined, { signal }).catch(() => {});
  }
}

interface ShownPod {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly containerID?: string; readonly restartCount: number }[];
  };
}

async function shownPods(nodelet: TestNodelet): Promise<readonly ShownPod[]> {
  const { exitCode, stdout } = await nodelet.command('ps', '-o', 'json');
  if (exitCode !== 0) return [];
  const list: { readonly items: readonly ShownPod[] } = JSON.parse(stdout);
  return list.items;
}

async function podsReady(nodelet: TestNodelet): Promise<number> {
  const isReady = ({ status }: ShownPod): boolean =>
    status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false;
  return (await shownPods(nodelet)).filter(isReady).length;
}

/** By pod name: the container and its restarts. */
async function steadyContainers(nodelet: TestNodelet): Promise<ReadonlyMap<string, string>> {
  const steady = (await shownPods(nodelet)).filter(({ metadata }) => metadata.name.startsWith('steady-'));
  return new Map(
    steady.map(({ metadata, status }) => [
      metadata.name,
      (status.containerStatuses ?? []).map((each) => `${each.containerID}, ${each.restartCount} restarts`).join(),
    ]),
  );
}

function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const changed = [...before].filter(([name, container]) => after.get(name) !== container);
  return changed.map(([name, container]) => `${name} was ${container}, is ${after.get(name)}`);
}

async function until(fits: () => Promise<boolean>, { output }: RunningNodelet, what: string): Promise<void> {
  const endsAt = performance.now() + END_MS;
  while (!(await fits())) {
    if (performance.now() > endsAt) throw new Error(`not within ${END_MS} ms: ${what}\n${output()}`);
    await delay(100);
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '120' }, seed: { type: 'string', default: '1' } },
  });
  const cannot = embeddedSkipReason();
  if (cannot) throw new Error(`this machine cannot run it: ${cannot}`);
  const result = await crashLoop({ seconds: Number(values.seconds), seed: Number(values.seed) });
  const { kills, created, deleted, podsSeen, wrong, leaks, exitCode } = result;
  console.log(`kills: ${kills}, pods created: ${created}, deleted: ${deleted}, with a sandbox: ${podsSeen}`);
  console.log(`wrong restarts: ${wrong.length}`, ...wrong.map((line) => `\n  ${line}`));
  console.log(`leaks: ${leaks.length}`, ...leaks.map((line) => `\n  ${line}`));
  console.log(`exit code of the last agent: ${exitCode}`);
  process.exitCode = wrong.length + leaks.length + exitCode === 0 ? 0 : 1;
  if (process.exitCode !== 0) console.log(result.output);
}
