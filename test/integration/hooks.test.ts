/** Lifecycle hooks on the real runtime. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Lifecycle, Pod } from '../../src/api/generated/core-v1.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { runtimeSkipReason } from './runtime-fixture.ts';
import { until } from './until.ts';

/** Far longer than the hook needs to begin. */
const GRACE_SECONDS = 60;

const run = (line: string) => ({ exec: { command: ['sh', '-c', line] } });

suite('hooks', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  /** A host directory that containers mount as /shared. */
  let shared: string;

  before(async () => {
    it = await startTestAgent();
    shared = join(it.runtime.folder, 'shared');
    mkdirSync(shared);
  });
  after(() => it.stop());

  const podWith = (name: string, line: string, lifecycle: Lifecycle, spec: Partial<Pod['spec']> = {}): Pod =>
    podOf(name, {
      volumes: [{ name: 'shared', hostPath: { path: shared } }],
      containers: [{ ...shell('main', line), lifecycle, volumeMounts: [{ name: 'shared', mountPath: '/shared' }] }],
      ...spec,
    });

  const eventsOf = (name: string): string[] => {
    const events: string[] = [];
    it.agent.subscribe((event) => {
      if (event.kind === 'event' && event.pod.metadata.name === name) {
        events.push(`${event.event.reason}: ${event.event.message}`);
      }
    });
    return events;
  };

  const shownIn = (file: string): string[] => readFileSync(join(shared, file), 'utf8').trim().split('\n');

  test('postStart runs in the container before it counts as started', async () => {
    const ready = it.ready('greeted');
    const line = `until [ -e /tmp/hello ]; do sleep 0.02; done; cat /tmp/hello; ${EXITS_ON_SIGTERM}`;
    it.source.set(podWith('greeted', line, { postStart: run('sleep 0.3; echo hello > /tmp/hello') }));
    await ready;
    const { steps } = it.report('greeted');
    const hook = steps.find(({ name }) => name === 'postStart hook');
    assert.deepEqual([hook?.subject, hook?.outcome.kind], ['main', 'done']);
    await it.listening('greeted', 'main');
  });

  test('a failed postStart hook kills the container and is reported', async () => {
    const events = eventsOf('broken');
    const failed = it.next(
      (event) =>
        event.kind === 'status' && event.status.containerStatuses?.[0]?.state?.waiting?.reason === 'PostStartHookError',
      'PostStartHookError',
    );
    let message: string | undefined;
    it.agent.subscribe((event) => {
      const waiting = event.kind === 'status' ? event.status.containerStatuses?.[0]?.state?.waiting : undefined;
      if (waiting?.reason === 'PostStartHookError') message ??= waiting.message;
    });
    it.source.set(podWith('broken', EXITS_ON_SIGTERM, { postStart: run('echo no way; exit 3') }));
    await failed;
    assert.equal(
      message,
      'Exec lifecycle hook ([sh -c echo no way; exit 3]) for Container "main" in Pod "broken_default(uid-broken)" failed' +
        ` - error: command 'sh -c echo no way; exit 3' exited with 3: , message: "no way\\n"`,
    );
    const hooked = events.filter((line) => /Hook/.test(line)).slice(0, 2);
    assert.deepEqual(hooked, ['FailedPostStartHook: PostStartHook failed', 'Killing: FailedPostStartHook']);
  });

  test('preStop is done before the container is terminated', async () => {
    const ready = it.ready('polite');
    const line = "trap 'echo stopped >> /shared/polite; exit 0' TERM; echo listening; sleep 1000 & wait";
    it.source.set(podWith('polite', line, { preStop: run('sleep 0.5; echo left >> /shared/polite') }));
    await ready;
    await it.listening('polite', 'main');
    const gone = it.gone('polite');
    it.source.set();
    await gone;
    assert.deepEqual(shownIn('polite'), ['left', 'stopped']);
  });

  test('a hanging preStop hook ends with the grace period', async () => {
    const events = eventsOf('endless');
    const ready = it.ready('endless');
    const hook = run('echo begun > /shared/endless; sleep 1000');
    it.source.set(
      podWith('endless', EXITS_ON_SIGTERM, { preStop: hook }, { terminationGracePeriodSeconds: GRACE_SECONDS }),
    );
    await ready;
    await it.listening('endless', 'main');
    const from = it.calls.all.length;
    const gone = it.gone('endless');
    it.source.set();
    await until(() => existsSync(join(shared, 'endless')) && shownIn('endless').includes('begun'));
    const isOver = performance.now();
    it.clock.leap(GRACE_SECONDS * 1000);
    await gone;
    const stop = it.calls.all.slice(from).find(({ method }) => method === 'StopContainer');
    assert.ok(stop && stop.startMs >= isOver);
    assert.equal((stop.request as { timeout: bigint }).timeout, 2n); // every StopContainer has one
    assert.deepEqual(shownIn('endless'), ['begun']);
    assert.ok(events.includes('FailedPreStopHook: PreStopHook failed'));
  });

  test('preStop over HTTP calls the configured address', async (t) => {
    const asked: string[] = [];
    const server = createServer(({ url, headers }, response) => {
      asked.push(`${url} ${headers['user-agent']} ${headers['x-why']}`);
      response.writeHead(500).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo; // the server listens on TCP
    const events = eventsOf('caller');
    const ready = it.ready('caller');
    const httpHeaders = [{ name: 'X-Why', value: 'bye' }];
    const httpGet = { host: '127.0.0.1', port, path: '/leave?now', httpHeaders };
    it.source.set(podWith('caller', EXITS_ON_SIGTERM, { preStop: { httpGet } }));
    await ready;
    await it.listening('caller', 'main');
    const gone = it.gone('caller');
    it.source.set();
    await gone;
    assert.deepEqual(asked, ['/leave?now kube-lifecycle/1.36 bye']);
    assert.equal(
      events.some((line) => line.startsWith('FailedPreStopHook')),
      false,
    );
  });
});
