/** Lifecycle hooks of containers, with the whole agent on virtual time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lifecycle, Pod } from '../../src/api/generated/core-v1.ts';
import type { ContainerBehaviour, ExecAnswer } from '../../src/cri/fake/behaviour.ts';
import type { Effect } from '../../src/cri/fake/effects.ts';
import { createFakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { MemoryHttpHandler } from '../../src/host/fake/memory-exchange.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import { type MemoryAgent, podOf, startAgent, type World } from './memory-agent.ts';

interface WatchedWorld extends World {
  /** `1.5 exec prepare`: the operations with seconds, oldest first. */
  readonly operations: string[];
  note(text: string): void;
}

/** Results of commands by their first word; other commands succeed at once. */
function newWatchedWorld(commands: Record<string, ExecAnswer> = {}, behaviour: ContainerBehaviour = {}): WatchedWorld {
  const host = createMemoryHost();
  const operations: string[] = [];
  const note = (text: string): void => void operations.push(`${host.clock.monotonic() / 1000} ${text}`);
  const onEffect = (effect: Effect): void => {
    if (!('container' in effect)) return;
    const name = effect.container.config.metadata?.name;
    if (effect.kind === 'terminating') note(`stop ${name} in ${effect.graceSeconds}`);
    if (effect.kind === 'started' || effect.kind === 'exited') note(`${effect.kind} ${name}`);
  };
  const exec = ([word = '']: readonly string[]): ExecAnswer => {
    note(`exec ${word}`);
    return commands[word] ?? {};
  };
  const behaviourOf = () => ({ ...behaviour, exec });
  const runtime = createFakeRuntime({ clock: host.clock, random: host.random, onEffect, behaviourOf });
  runtime.addImage('busybox:1');
  return { host, runtime, operations, note };
}

async function startNoting(world: WatchedWorld): Promise<MemoryAgent> {
  const it = await startAgent(world);
  it.agent.subscribe((event) => {
    if (event.kind !== 'event' || !/Hook|HTTP|Killing/.test(event.event.reason)) return;
    world.note(`${event.event.reason}: ${event.event.message}`);
  });
  return it;
}

function podWith(lifecycle: Lifecycle, spec: Partial<Pod['spec']> = {}): Pod {
  return podOf('web', { containers: [{ name: 'main', image: 'busybox:1', lifecycle }], ...spec });
}

const run = (...command: string[]) => ({ exec: { command } });

function mainStatus({ agent }: MemoryAgent) {
  return agent.pods()[0]?.status.containerStatuses?.[0];
}

test('postStart: the container is not shown as running, and the next one does not start, before the hook is done', async () => {
  const world = newWatchedWorld({ prepare: { afterMs: 3000 } });
  await using it = await startNoting(world);
  const second = { name: 'second', image: 'busybox:1' };
  const main = { name: 'main', image: 'busybox:1', lifecycle: { postStart: run('prepare') } };
  it.source.set(podOf('web', { containers: [main, second] }));
  await world.host.clock.advance(2999);
  assert.deepEqual(world.operations, ['0 started main', '0 exec prepare']);
  assert.equal(mainStatus(it)?.state?.waiting?.reason, 'ContainerCreating');
  await world.host.clock.advance(1);
  assert.deepEqual(world.operations.slice(2), ['3 started second']);
  assert.notEqual(mainStatus(it)?.state?.running, undefined);
});

test('postStart: a failed hook kills the container, which restarts with the back-off of a crash', async () => {
  const world = newWatchedWorld({ prepare: { exitCode: 3, stdout: 'out\n', stderr: 'no "way"\n' } });
  await using it = await startNoting(world);
  it.source.set(podWith({ postStart: run('prepare', 'it') }));
  await world.host.clock.advance(0);
  const attempt = [
    'started main',
    'exec prepare',
    'FailedPostStartHook: PostStartHook failed',
    'Killing: FailedPostStartHook',
    'stop main in 30',
    'exited main',
  ];
  assert.deepEqual(
    world.operations,
    [...attempt, ...attempt].map((line) => `0 ${line}`),
  );
  const { state, lastState } = mainStatus(it) ?? {};
  assert.deepEqual(lastState?.terminated?.exitCode, 143);
  assert.equal(state?.waiting?.reason, 'CrashLoopBackOff');
  await world.host.clock.advance(10_000);
  assert.equal(world.operations.length, 3 * attempt.length);
});

test('postStart: the output of the hook is in the status', async () => {
  const world = newWatchedWorld({ prepare: { exitCode: 3, stdout: 'out\n', stderr: 'no "way"\n' } });
  await using it = await startNoting(world);
  const messages: (string | undefined)[] = [];
  it.agent.subscribe((event) => {
    const waiting = event.kind === 'status' ? event.status.containerStatuses?.[0]?.state?.waiting : undefined;
    if (waiting?.reason === 'PostStartHookError') messages.push(waiting.message);
  });
  it.source.set(podWith({ postStart: run('prepare', 'it') }, { restartPolicy: 'Always' }));
  await world.host.clock.advance(0);
  assert.deepEqual(messages[0]?.split('\n'), [
    'Exec lifecycle hook ([prepare it]) for Container "main" in Pod "web_default(uid-web)" failed - error: ' +
      `command 'prepare it' exited with 3: no "way"`,
    String.raw`, message: "out\nno \"way\"\n"`,
  ]);
});

test('postStart: a pod that is deleted meanwhile does not wait for the hook', async () => {
  const world = newWatchedWorld({ prepare: { afterMs: 3_600_000 } });
  await using it = await startNoting(world);
  it.source.set(podWith({ postStart: run('prepare') }));
  await world.host.clock.advance(1000);
  it.source.set();
  await world.host.clock.advance(0);
  assert.deepEqual(it.agent.pods(), []);
});

test('postStart: the next agent does not run the hook again and shows the actual container state, as with kubelet', async () => {
  const world = newWatchedWorld({ prepare: { afterMs: 3_600_000 } });
  const first = await startNoting(world);
  first.source.set(podWith({ postStart: run('prepare') }));
  await world.host.clock.advance(1000);
  await first.stop();
  await using next = await startNoting(world);
  next.source.set(podWith({ postStart: run('prepare') }));
  await world.host.clock.advance(60_000);
  assert.deepEqual(world.operations, ['0 started main', '0 exec prepare']);
  assert.equal(mainStatus(next)?.ready, true);
});

test('postStart: a container that exits during its hook restarts when the hook is done', async () => {
  const world = newWatchedWorld({}, { exits: { afterMs: 1000, code: 1 } });
  await using it = await startNoting(world);
  it.source.set(podWith({ postStart: { sleep: { seconds: 3 } } }));
  await world.host.clock.advance(3000);
  assert.deepEqual(world.operations, ['0 started main', '1 exited main', '3 started main']);
  assert.equal(mainStatus(it)?.state?.terminated?.exitCode, 1);
});

interface PreStopCase {
  readonly commands: Record<string, ExecAnswer>;
  readonly behaviour?: ContainerBehaviour;
  readonly grace: number;
  readonly operations: string[];
}

const preStopCases: Record<string, PreStopCase> = {
  'takes its time from the grace period': {
    commands: { leave: { afterMs: 3500 } },
    grace: 10,
    operations: ['0 Killing: Stopping container main', '0 exec leave', '3.5 stop main in 7', '3.5 exited main'],
  },
  'leaves two seconds at least': {
    commands: { leave: { afterMs: 9500 } },
    grace: 10,
    operations: ['0 Killing: Stopping container main', '0 exec leave', '9.5 stop main in 2', '9.5 exited main'],
  },
  'that fails is reported, with no other effect': {
    commands: { leave: { exitCode: 1 } },
    grace: 10,
    operations: [
      '0 Killing: Stopping container main',
      '0 exec leave',
      '0 FailedPreStopHook: PreStopHook failed',
      '0 stop main in 10',
      '0 exited main',
    ],
  },
  'that takes a little too long may end while the container does': {
    commands: { leave: { afterMs: 10_500 } },
    behaviour: { onTerminate: { afterMs: 1000, code: 0 } },
    grace: 10,
    operations: ['0 Killing: Stopping container main', '0 exec leave', '10 stop main in 2', '11 exited main'],
  },
  'that hangs ends with the container': {
    commands: { leave: { afterMs: 3_600_000 } },
    grace: 10,
    operations: [
      '0 Killing: Stopping container main',
      '0 exec leave',
      '10 stop main in 2',
      '10 exited main',
      '10 FailedPreStopHook: PreStopHook failed',
    ],
  },
};

for (const [name, { commands, behaviour, grace, operations }] of Object.entries(preStopCases)) {
  test(`preStop: a hook ${name}`, async () => {
    const world = newWatchedWorld(commands, behaviour);
    await using it = await startNoting(world);
    it.source.set(podWith({ preStop: run('leave') }, { terminationGracePeriodSeconds: grace }));
    await world.host.clock.advance(0);
    world.operations.length = 0;
    it.source.set();
    await world.host.clock.advance(60_000);
    assert.deepEqual(world.operations, operations);
    assert.deepEqual(it.agent.pods(), []);
  });
}

test('preStop: no hook runs without a grace period', async () => {
  const world = newWatchedWorld({ alive: { exitCode: 1 } });
  await using it = await startNoting(world);
  const livenessProbe = { ...run('alive'), periodSeconds: 1, failureThreshold: 1 };
  const main = { name: 'main', image: 'busybox:1', lifecycle: { preStop: run('leave') }, livenessProbe };
  it.source.set(podOf('web', { containers: [main], terminationGracePeriodSeconds: 0 }));
  await world.host.clock.advance(0);
  assert.deepEqual(world.operations.slice(0, 5), [
    '0 started main',
    '0 exec alive',
    '0 Killing: Container main failed liveness probe, will be restarted',
    '0 stop main in 2',
    '0 exited main',
  ]);
});

test('preStop: a shorter grace period restarts the countdown', async () => {
  const world = newWatchedWorld({ leave: { afterMs: 3_600_000 } });
  await using it = await startNoting(world);
  it.source.set(podWith({ preStop: run('leave') }));
  await world.host.clock.advance(0);
  world.operations.length = 0;
  it.source.set();
  await world.host.clock.advance(1000);
  const gone = it.agent.stopPod('uid-web', 3);
  await world.host.clock.runUntil(gone);
  assert.deepEqual(world.operations, [
    '0 Killing: Stopping container main',
    '0 exec leave',
    '1 Killing: Stopping container main',
    '1 exec leave',
    '4 stop main in 2',
    '4 exited main',
    '4 FailedPreStopHook: PreStopHook failed',
  ]);
});

test('preStop: after a failed liveness probe the hook runs within the grace period of the probe', async () => {
  const world = newWatchedWorld({ alive: { exitCode: 1 }, leave: { afterMs: 3_600_000 } });
  await using it = await startNoting(world);
  const livenessProbe = { ...run('alive'), periodSeconds: 1, failureThreshold: 1, terminationGracePeriodSeconds: 5 };
  const main = { name: 'main', image: 'busybox:1', lifecycle: { preStop: run('leave') }, livenessProbe };
  it.source.set(podOf('web', { containers: [main] }));
  await world.host.clock.advance(5000);
  assert.deepEqual(world.operations.slice(0, 7), [
    '0 started main',
    '0 exec alive',
    '0 Killing: Container main failed liveness probe, will be restarted',
    '0 exec leave',
    '5 stop main in 2',
    '5 exited main',
    '5 FailedPreStopHook: PreStopHook failed',
  ]);
});

test('preStop: hooks of sidecars run at once, their containers stop in order', async () => {
  const world = newWatchedWorld({ leave: { afterMs: 4000 }, follow: { afterMs: 1000 } });
  await using it = await startNoting(world);
  const sidecar = {
    name: 'proxy',
    image: 'busybox:1',
    restartPolicy: 'Always',
    lifecycle: { preStop: run('follow') },
  };
  it.source.set(podWith({ preStop: run('leave') }, { initContainers: [sidecar] }));
  await world.host.clock.advance(0);
  world.operations.length = 0;
  it.source.set();
  await world.host.clock.advance(60_000);
  assert.deepEqual(world.operations, [
    '0 Killing: Stopping container main',
    '0 Killing: Stopping container proxy',
    '0 exec leave',
    '0 exec follow',
    '4 stop main in 26',
    '4 exited main',
    '4 stop proxy in 26',
    '4 exited proxy',
  ]);
});

test('preStop: the hook of an orphan is read back from its container', async () => {
  const world = newWatchedWorld({ leave: { afterMs: 500 } });
  const first = await startNoting(world);
  first.source.set(podWith({ preStop: run('leave') }));
  await world.host.clock.advance(0);
  await first.stop();
  world.operations.length = 0;
  await using second = await startNoting(world);
  second.source.set();
  await world.host.clock.advance(60_000);
  assert.deepEqual(world.operations, [
    '0 Killing: Stopping container main',
    '0 exec leave',
    '0.5 stop main in 2',
    '0.5 exited main',
  ]);
});

interface HttpCase {
  readonly http: MemoryHttpHandler;
  readonly scheme?: string;
  readonly operations: readonly string[];
}

const killed = ['0 Killing: Stopping container main'];
const ASKED = '0 GET /bye from kube-lifecycle/1.36 as me';
const httpCases: Record<string, HttpCase> = {
  'is content with any answer': {
    http: async () => ({ status: 500, body: 'no' }),
    operations: [...killed, ASKED, '0 stop main in 10', '0 exited main'],
  },
  'asks a server that speaks no TLS without it, and without credentials': {
    http: async () => ({ status: 200, body: '' }),
    scheme: 'HTTPS',
    operations: [
      ...killed,
      '0 GET /bye from kube-lifecycle/1.36',
      '0 LifecycleHTTPFallback: request to HTTPS lifecycle hook 10.88.0.1:80 got HTTP response, retry with HTTP succeeded',
      '0 stop main in 10',
      '0 exited main',
    ],
  },
  'does not wait longer than the grace period for an answer': {
    http: () => new Promise(() => {}),
    operations: [...killed, ASKED, '10 stop main in 2', '10 exited main', '10 FailedPreStopHook: PreStopHook failed'],
  },
  'fails when redirects lead in a circle': {
    http: async () => ({ status: 302, headers: { Location: '/bye' }, body: '' }),
    operations: [
      ...killed,
      ...Array.from({ length: 10 }, () => ASKED),
      '0 FailedPreStopHook: PreStopHook failed',
      '0 stop main in 10',
      '0 exited main',
    ],
  },
  'reads no more of an endless answer than it needs': {
    http: async () => ({ status: 200, body: endless() }),
    operations: [...killed, ASKED, '0 stop main in 10', '0 exited main'],
  },
};

async function* endless(): AsyncGenerator<string> {
  for (;;) yield 'x'.repeat(1000);
}

for (const [name, { http, scheme = 'HTTP', operations }] of Object.entries(httpCases)) {
  test(`preStop over HTTP ${name}`, async () => {
    const world = newWatchedWorld();
    await using it = await startNoting(world);
    const httpHeaders = [{ name: 'Authorization', value: 'me' }];
    const httpGet = { port: 80, path: '/bye', scheme, httpHeaders };
    it.source.set(podWith({ preStop: { httpGet } }, { terminationGracePeriodSeconds: 10 }));
    await world.host.clock.advance(0);
    const ip = it.agent.pods()[0]?.status.podIP ?? '';
    world.host.network.listen(
      { host: ip, port: 80 },
      {
        http: (request) => {
          const sent = new Map(request.headers.map(([header, value]) => [header.toLowerCase(), value]));
          const who = sent.has('authorization') ? ` as ${sent.get('authorization')}` : '';
          world.note(`${request.method} ${request.path} from ${sent.get('user-agent')}${who}`);
          return http(request);
        },
      },
    );
    world.operations.length = 0;
    it.source.set();
    await world.host.clock.advance(60_000);
    const expected = operations.map((line) => line.replace('10.88.0.1', ip));
    assert.deepEqual(world.operations, expected);
  });
}
