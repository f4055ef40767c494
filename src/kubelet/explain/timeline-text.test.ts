import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodEvent } from '../events/pod-events.ts';
import type { Step } from '../events/timeline.ts';
import { exitedContainer, observedOf, runningContainer } from '../local-api/fake/scripted-view.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import type { PodReport } from './agent-view.ts';
import { event, killed, reportWith, step } from './fake/reports.ts';
import { podWaits } from './pod-waits.ts';
import { timelineText } from './timeline-text.ts';

const T = 1_767_225_600_000;

function at(name: Step['name'], subject: string | undefined, ms: number, tookMs?: number, error?: string): Step {
  return step(name, subject, T + ms, tookMs, error);
}

const NOT_FOUND = `rpc error: code = NotFound desc = failed to pull ${'and to resolve '.repeat(10)}nginx:1: not found`;

/** How `web` comes up, from the moment at which it may. */
const start = (ms: number): Step[] => [
  at('image', 'nginx:1', ms, 2),
  at('create container', 'web', ms + 2, 30),
  at('start container', 'web', ms + 32, 64),
];
const around = [at('directories', undefined, 0, 1), at('volumes', undefined, 1, 3), at('sandbox', undefined, 4, 96)];

/** How these steps are shown. */
const STARTED = [
  '     AT   TOOK                            STEP',
  '  +0 ms   1 ms  ▏                         directories',
  '  +1 ms   3 ms  ▏                         volumes',
  '  +4 ms  96 ms  ████████████              sandbox',
  '+100 ms   2 ms              ▏             image             nginx:1',
  '+102 ms  30 ms              ████          create container  web',
  '+132 ms  64 ms                  ████████  start container   web',
];

function exitedAt(id: string, name: string, ms: number, exitCode: number): ObservedContainer {
  const end = { finishedAt: BigInt(T + ms) * 1_000_000n, exitCode };
  const base = exitedContainer(id, name, '');
  return base.state === 'exited' ? { ...base, ...end } : base;
}

interface Scene {
  readonly steps: readonly Step[];
  readonly containers?: readonly ObservedContainer[];
  readonly events?: readonly PodEvent[];
  /** Asked so many milliseconds after the first step. */
  readonly askedAt: number;
  readonly shows: readonly string[];
}

const scenes: Record<string, Scene> = {
  'a start': {
    steps: [...around, ...start(100)],
    containers: [runningContainer('c1', 'web', '')],
    askedAt: 60_000,
    shows: STARTED,
  },
  'a container that crashes': {
    steps: [...around, ...start(100), ...start(2210), ...start(13_310)],
    containers: [runningContainer('c3', 'web', ''), exitedAt('c2', 'web', 3310, 1), exitedAt('c1', 'web', 2200, 1)],
    events: [event('BackOff', 'Back-off restarting failed container web in pod x', T + 3315)],
    askedAt: 13_500,
    shows: [
      ...STARTED,
      '+196 ms    2 s  ························  web ran, and ended with exit code 1',
      ' +2.2 s   2 ms  █                         image             nginx:1',
      ' +2.2 s  30 ms   ███████                  create container  web',
      ' +2.2 s  64 ms          ████████████████  start container   web',
      ' +2.3 s    1 s  ························  web ran, and ended with exit code 1',
      ' +3.3 s   10 s  ························  waited: back-off',
      '  +13 s   2 ms  █                         image             nginx:1',
      '  +13 s  30 ms   ███████                  create container  web',
      '  +13 s  64 ms          ████████████████  start container   web',
    ],
  },
  'a container in its back-off': {
    steps: start(0),
    containers: [exitedAt('c1', 'web', 1096, 1)],
    events: [event('BackOff', 'Back-off restarting failed container web in pod x', T + 1100)],
    askedAt: 5096,
    shows: [
      '    AT   TOOK                            STEP',
      ' +0 ms   2 ms  █                         image             nginx:1',
      ' +2 ms  30 ms   ███████                  create container  web',
      '+32 ms  64 ms          ████████████████  start container   web',
      '+96 ms    1 s  ························  web ran, and ended with exit code 1',
      '+1.1 s    4 s  ························  waits: back-off',
    ],
  },
  'an image that cannot be pulled': {
    steps: [...around, at('image', 'nginx:1', 100, 400, NOT_FOUND), at('image', 'nginx:1', 10_500, 300, NOT_FOUND)],
    askedAt: 12_800,
    shows: [
      '     AT    TOOK                            STEP',
      '  +0 ms    1 ms  ▏                         directories',
      '  +1 ms    3 ms  ▏                         volumes',
      '  +4 ms   96 ms  █████                     sandbox',
      '+100 ms  400 ms       ███████████████████  image  nginx:1  ✗ failed to pull and to resolve and to res… and to resolve and to resolve and to resolve and to resolve nginx:1: not found',
      '+500 ms    10 s  ························  waited: back-off of the pull',
      '  +11 s  300 ms  ████████████████████████  image  nginx:1  ✗ failed to pull and to resolve and to res… and to resolve and to resolve and to resolve and to resolve nginx:1: not found',
      '  +11 s     2 s  ························  waits: back-off of the pull',
    ],
  },
  'a pull that is under way beside another one': {
    steps: [at('image', 'a:1', 0, 2000), at('image', 'b:1', 500)],
    askedAt: 4000,
    shows: [
      '     AT   TOOK                            STEP',
      '  +0 ms    2 s  ████████████              image  a:1',
      '+500 ms  3.5 s     █████████████████████  image  b:1  … under way',
    ],
  },
  'a sandbox that failed at first': {
    steps: [at('sandbox', undefined, 0, 100, 'no network'), at('sandbox', undefined, 12_100, 100)],
    askedAt: 20_000,
    shows: [
      '     AT    TOOK                            STEP',
      '  +0 ms  100 ms  ████████████████████████  sandbox  ✗ no network',
      '+100 ms    12 s  ························  waited: the next try',
      '  +12 s  100 ms  ████████████████████████  sandbox',
    ],
  },
  'a network that came late': {
    steps: [at('volumes', undefined, 0, 10), at('sandbox', undefined, 3010, 100)],
    events: [event('NetworkNotReady', 'network is not ready: …', T + 20)],
    askedAt: 20_000,
    shows: [
      '    AT    TOOK                            STEP',
      ' +0 ms   10 ms  ████████████████████████  volumes',
      '+10 ms     3 s  ························  waited: the network of the runtime',
      '  +3 s  100 ms  ████████████████████████  sandbox',
    ],
  },
  'an init container at work': {
    steps: [at('start container', 'migrate', 0, 60), ...start(5070)],
    containers: [runningContainer('c2', 'web', ''), exitedAt('c1', 'migrate', 5060, 0)],
    askedAt: 20_000,
    shows: [
      '    AT   TOOK                            STEP',
      ' +0 ms  60 ms  ████████████████████████  start container   migrate',
      '+60 ms    5 s  ························  migrate ran, and ended with exit code 0',
      '+5.1 s   2 ms  █                         image             nginx:1',
      '+5.1 s  30 ms   ███████                  create container  web',
      '+5.1 s  64 ms          ████████████████  start container   web',
    ],
  },
  'a container that was killed by its probe': {
    steps: [...start(0), at('stop container', 'web', 9100, 2000), ...start(11_100)],
    events: [killed('livenessFailed', T + 9099)],
    askedAt: 20_000,
    shows: [
      '    AT   TOOK                            STEP',
      ' +0 ms   2 ms  █                         image             nginx:1',
      ' +2 ms  30 ms   ███████                  create container  web',
      '+32 ms  64 ms          ████████████████  start container   web',
      '+96 ms    9 s  ························  web ran until it failed its liveness probe',
      '+9.1 s    2 s  ███████████████████████   stop container    web',
      ' +11 s   2 ms                         ▏  image             nginx:1',
      ' +11 s  30 ms                         ▏  create container  web',
      ' +11 s  64 ms                         █  start container   web',
    ],
  },
  'a pod that was stopped': {
    steps: [...start(0), at('stop container', 'web', 9100, 40), at('stop sandbox', undefined, 9140, 60)],
    events: [killed('podStopping', T + 9099)],
    askedAt: 9200,
    shows: [
      '    AT   TOOK                            STEP',
      ' +0 ms   2 ms  █                         image             nginx:1',
      ' +2 ms  30 ms   ███████                  create container  web',
      '+32 ms  64 ms          ████████████████  start container   web',
      '+96 ms    9 s  ························  it ran until it was stopped',
      '+9.1 s  40 ms  ██████████                stop container    web',
      '+9.1 s  60 ms            ██████████████  stop sandbox',
    ],
  },
};

function reportOf({ steps, containers = [], events = [] }: Scene): PodReport {
  return reportWith({ report: { steps, events, observed: observedOf(reportWith({}).pod, containers) } });
}

for (const [name, scene] of Object.entries(scenes)) {
  test(`timelineText() shows ${name}`, () => {
    const waits = podWaits(reportOf(scene), T + scene.askedAt);
    assert.deepEqual(timelineText(scene.steps, waits, T + scene.askedAt).split('\n'), [...scene.shows, '']);
  });
}

test('timelineText() of a pod for which nothing was done is empty', () => assert.equal(timelineText([], [], T), ''));
