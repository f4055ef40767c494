import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, Probe } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { MemoryNetwork } from '../../host/fake/memory-network.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { PodEvents } from '../events/pod-events.ts';
import { observedContainer } from '../pod/observed-container.fixture.ts';
import type { ObservedContainer, ObservedPod } from '../pod/observed-pod.ts';
import type { ProbeKind } from './probe-results.ts';
import { Probes } from './probes.ts';

/** A probe whose command is its own name, so that the test can distinguish the checks. */
function named(name: string, changes: Probe = {}): Probe {
  return { exec: { command: [name] }, ...changes };
}

const readiness = { readinessProbe: named('readiness') };
const liveness = { livenessProbe: named('liveness') };
const startup = { startupProbe: named('startup', { periodSeconds: 1, failureThreshold: 5 }) };

/** One pod, its containers and the commands in them, on virtual time. */
class World {
  readonly clock = new VirtualClock();
  readonly network = new MemoryNetwork(new MemoryFileSystem(() => this.clock.now()));
  /** Seconds and command of every check; `changed` where a result became another. */
  readonly log: string[] = [];
  readonly events: string[] = [];
  readonly probes: Probes;
  readonly pod: Pod;
  /** What a command does; without an entry it succeeds. */
  readonly does = new Map<string, 'fail' | 'throw' | 'hang' | { readonly takesMs: number }>();

  constructor(container: Partial<Container>, changes: Partial<Pod> = {}) {
    const web = { name: 'web', image: 'busybox', ...container };
    this.pod = { metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec: { containers: [web] }, ...changes };
    const events = new PodEvents(this.clock);
    events.subscribe((_, { reason, message, fieldPath }) => this.events.push(`${reason} ${fieldPath}: ${message}`));
    this.probes = new Probes({
      clock: this.clock,
      network: this.network,
      random: { fraction: () => 0.25, bytes: (length) => new Uint8Array(length) },
      events,
      log: silentLog,
      hostIP: '192.0.2.1',
      exec: (_id, [command = ''], _timeoutMs, signal) => this.#exec(command, signal),
      onResultChanged: () => this.note('changed'),
    });
  }

  note(what: string): void {
    this.log.push(`${this.clock.monotonic() / 1000} ${what}`);
  }

  async #exec(command: string, signal: AbortSignal) {
    this.note(command);
    const act = this.does.get(command);
    if (act === 'throw') throw new Error('no such container');
    if (act === 'hang') await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    if (typeof act === 'object') await this.clock.sleep(act.takesMs, signal);
    return { exitCode: act === 'fail' ? 1 : 0, stdout: new Uint8Array(), stderr: new TextEncoder().encode('no') };
  }

  /** The sync sees the container `id`, which started so many seconds ago. */
  sees(id: string, agoSeconds = 0): void {
    const startedAt = BigInt(this.clock.now() - 1000 * agoSeconds) * 1_000_000n;
    this.probes.follow(this.pod, observed([observedContainer('web', { state: 'running', startedAt }, { id })]));
  }

  seesExit(id: string): void {
    const ended = { startedAt: 1n, finishedAt: 2n, exitCode: 1, reason: 'Error', message: '' };
    this.probes.follow(this.pod, observed([observedContainer('web', { state: 'exited', ...ended }, { id })]));
  }

  results(id: string): (string | undefined)[] {
    const kinds: ProbeKind[] = ['startup', 'readiness', 'liveness'];
    return kinds.map((kind) => this.probes.result(kind, id));
  }

  async seconds(count: number): Promise<void> {
    await this.clock.advance(1000 * count);
  }
}

function observed(containers: readonly ObservedContainer[]): ObservedPod {
  const sandbox = { id: 's0', attempt: 0, ready: true, createdAt: 1n, hostNetwork: false, runtimeHandler: '' };
  const sandboxes = [{ ...sandbox, ips: ['10.0.0.2'] }];
  return { uid: 'u', name: 'p', namespace: 'default', sandboxes, containers, inspectedAt: 0 };
}

/** One container that starts at 0, and what happens in 25 seconds. */
const lives: Record<
  string,
  { probes: Partial<Container>; does?: Record<string, 'fail' | { takesMs: number }>; log: string[] }
> = {
  'checks at once and then once in a period; only the first result is a change': {
    probes: readiness,
    log: ['0 readiness', '0 changed', '10 readiness', '20 readiness'],
  },
  'looks sooner again at a container that is not ready yet': {
    probes: readiness,
    does: { readiness: 'fail' },
    log: [0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 10, 20].map((second) => `${second} readiness`),
  },
  'records no event of a success': { probes: liveness, log: ['0 liveness', '10 liveness', '20 liveness'] },
  'waits for the initial delay': {
    probes: { readinessProbe: named('readiness', { initialDelaySeconds: 7 }) },
    log: ['7 readiness', '7 changed', '17 readiness'],
  },
  'checks nothing else before the startup probe succeeded': {
    probes: { ...startup, ...readiness, ...liveness },
    log: [
      '0 startup',
      '0 readiness',
      '0 liveness',
      '0 changed',
      '0 changed',
      '10 readiness',
      '10 liveness',
      '20 readiness',
      '20 liveness',
    ],
  },
  'stops checking a container that does not start': {
    probes: { ...startup, ...readiness },
    does: { startup: 'fail' },
    log: ['0 startup', '1 startup', '2 startup', '3 startup', '4 startup', '4 changed'],
  },
  'stops checking liveness of a container that is not alive, and continues with its readiness': {
    probes: { livenessProbe: named('liveness', { periodSeconds: 2, failureThreshold: 2 }), ...readiness },
    does: { liveness: 'fail' },
    log: ['0 readiness', '0 liveness', '0 changed', '2 liveness', '2 changed', '10 readiness', '20 readiness'],
  },
  'keeps its beat, and makes up for missed beats with one check': {
    probes: { livenessProbe: named('liveness', { periodSeconds: 4, timeoutSeconds: 60 }) },
    does: { liveness: { takesMs: 9000 } },
    log: ['0 liveness', '9 liveness', '18 liveness'],
  },
  'has no beat but its own': {
    probes: { livenessProbe: named('liveness', { periodSeconds: 10, timeoutSeconds: 5 }) },
    does: { liveness: { takesMs: 3000 } },
    log: ['0 liveness', '10 liveness', '20 liveness'],
  },
};

for (const [name, { probes, does = {}, log }] of Object.entries(lives)) {
  test(`Probes ${name}`, async () => {
    const world = new World(probes);
    for (const [command, act] of Object.entries(does)) world.does.set(command, act);
    world.sees('c1');
    await world.seconds(25);
    assert.deepEqual(world.log, log);
    await world.clock.runUntil(world.probes.stop());
    assert.equal(world.clock.sleeping, 0);
  });
}

test('Probes start with not ready, alive and not started', () => {
  const world = new World({ ...startup, ...readiness, ...liveness });
  assert.deepEqual(world.results('c1'), [undefined, undefined, undefined]);
  world.sees('c1');
  assert.deepEqual(world.results('c1'), ['unknown', 'failure', 'success']);
});

test('Probes count the initial delay from the start of the container, not from when it was seen', async () => {
  const world = new World({ readinessProbe: named('readiness', { initialDelaySeconds: 5 }) });
  await world.seconds(100);
  world.sees('c1', 2);
  await world.seconds(5);
  assert.deepEqual(world.log, ['103 readiness', '103 changed']);
});

test('Probes go on undisturbed when the sync passes by', async () => {
  const world = new World(liveness);
  world.sees('c1');
  await world.seconds(7);
  world.sees('c1', 7);
  await world.seconds(7);
  assert.deepEqual(world.log, ['0 liveness', '10 liveness']);
});

test('Probes start again with a restarted container', async () => {
  const world = new World({ livenessProbe: named('liveness', { periodSeconds: 1 }) });
  world.does.set('liveness', 'fail');
  world.sees('c1');
  await world.seconds(5);
  assert.deepEqual(world.results('c1'), [undefined, undefined, 'failure']);
  world.does.clear();
  world.sees('c2');
  await world.seconds(1);
  assert.deepEqual(world.results('c1'), [undefined, undefined, undefined]);
  assert.deepEqual(world.results('c2'), [undefined, undefined, 'success']);
  assert.deepEqual(world.log, ['0 liveness', '1 liveness', '2 liveness', '2 changed', '5 liveness', '6 liveness']);
});

test('Probes of a container that has ended stop, and it is not ready', async () => {
  const world = new World({ ...readiness, ...liveness });
  world.sees('c1');
  await world.seconds(1);
  world.seesExit('c1');
  assert.equal(world.clock.sleeping, 0);
  assert.deepEqual(world.results('c1'), [undefined, 'failure', 'success']);
  await world.seconds(60);
  assert.deepEqual(world.log, ['0 readiness', '0 liveness', '0 changed']);
});

test('Probes of a terminating pod check readiness only, until the container has ended', async () => {
  const world = new World({ ...readiness, ...liveness });
  world.sees('c1');
  await world.seconds(5);
  world.probes.onTerminating(world.pod);
  world.does.set('readiness', 'fail');
  await world.seconds(10);
  world.sees('c1', 15);
  await world.seconds(10);
  world.seesExit('c1');
  await world.seconds(60);
  assert.deepEqual(world.log, ['0 readiness', '0 liveness', '0 changed', '10 readiness', '20 readiness']);
});

test('Probes of a terminating pod never start those that waited for the startup probe', async () => {
  const world = new World({ ...startup, ...readiness, ...liveness });
  world.does.set('startup', 'fail');
  world.sees('c1');
  await world.seconds(2);
  world.probes.onTerminating(world.pod);
  world.sees('c2');
  await world.seconds(60);
  assert.deepEqual(world.log, ['0 startup', '1 startup', '2 startup']);
});

test('Probes.forget() ends the checks of a pod, one that hangs included, and what they found', async () => {
  const world = new World({ ...readiness, livenessProbe: named('liveness', { timeoutSeconds: 30 }) });
  world.does.set('liveness', 'hang');
  world.sees('c1');
  await world.seconds(5);
  world.probes.forget('u');
  await world.seconds(0);
  assert.equal(world.clock.sleeping, 0);
  assert.deepEqual(world.results('c1'), [undefined, undefined, undefined]);
  await world.seconds(60);
  assert.deepEqual(world.log, ['0 readiness', '0 liveness', '0 changed']);
  assert.deepEqual(world.events, []);
});

test('Probes repeat a check that went wrong by itself twice at once, and then throw it away', async () => {
  const world = new World({ livenessProbe: named('liveness', { failureThreshold: 1 }) });
  world.does.set('liveness', 'throw');
  world.sees('c1');
  await world.seconds(9);
  assert.deepEqual(world.log, ['0 liveness', '0 liveness', '0 liveness']);
  assert.deepEqual(world.results('c1'), [undefined, undefined, 'success']);
});

test('Probes record failures of their period only, and notice a container that gets ready between two', async () => {
  const world = new World(readiness);
  world.does.set('readiness', 'fail');
  world.sees('c1');
  await world.seconds(0.2);
  world.does.clear();
  await world.seconds(20);
  assert.deepEqual(world.events, ['Unhealthy spec.containers{web}: Readiness probe failed: no']);
  assert.deepEqual(world.log, [
    '0 readiness',
    '0.1 readiness',
    '0.3 readiness',
    '0.3 changed',
    '10 readiness',
    '20 readiness',
  ]);
});

test('Probes end a check that hangs when its time is up', async () => {
  const world = new World({ readinessProbe: named('readiness', { timeoutSeconds: 3 }) });
  world.does.set('readiness', 'hang');
  world.sees('c1');
  await world.seconds(4);
  const message = 'Readiness probe failed: command timed out: "readiness" timed out after 3s';
  assert.deepEqual(world.events, [`Unhealthy spec.containers{web}: ${message}`]);
});
