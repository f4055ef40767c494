/** Probes of all four kinds on the real runtime. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Container, ContainerState, ContainerStatus, Pod } from '../../src/api/generated/core-v1.ts';
import type { AgentEvent } from '../../src/kubelet/explain/agent-view.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { startHealthServer } from './grpc-health-server.ts';
import { runtimeSkipReason } from './runtime-fixture.ts';

const HOST_IP = '127.0.0.1';
/** A busy machine must not cause failures. */
const PATIENT = { periodSeconds: 1, timeoutSeconds: 60 };
const run = (...command: string[]) => ({ exec: { command } });

suite('probes', { skip: runtimeSkipReason(), timeout: 900_000, concurrency: true }, () => {
  let it: TestAgent;

  before(async () => {
    it = await startTestAgent({ hostIPs: [HOST_IP] });
  });
  after(() => it.stop());

  /** A host file in the directory that the pod's container mounts as /shared. */
  const shared = (pod: string, file: string): string => join(it.runtime.folder, `shared-${pod}`, file);

  const podWith = (name: string, line: string, main: Partial<Container>, spec: Partial<Pod['spec']> = {}): Pod =>
    podOf(name, {
      volumes: [{ name: 'shared', hostPath: { path: shared(name, ''), type: 'DirectoryOrCreate' } }],
      containers: [{ ...shell('main', line), volumeMounts: [{ name: 'shared', mountPath: '/shared' }], ...main }],
      ...spec,
    });

  /** Resolves when the status of the pod's main container matches. Call it before causing the change. */
  const when = (name: string, fits: (status: ContainerStatus) => boolean | undefined, what: string): Promise<number> =>
    it.next((event) => {
      const status = event.kind === 'status' && isOf(event, name) ? event.status.containerStatuses?.[0] : undefined;
      return status !== undefined && (fits(status) ?? false);
    }, what);

  const reported = (name: string, message: RegExp): Promise<number> =>
    it.next((event) => event.kind === 'event' && isOf(event, name) && message.test(event.event.message), `${message}`);

  const wanted = new Map<string, Pod>();
  const start = (pod: Pod): void => {
    wanted.set(pod.metadata.name, pod);
    it.source.set(...wanted.values());
  };
  const end = async (name: string): Promise<void> => {
    const gone = it.gone(name);
    wanted.delete(name);
    it.source.set(...wanted.values());
    await gone;
  };

  test('exec: readiness follows the result of the command', async () => {
    const readinessProbe = { ...run('cat', '/shared/ready'), ...PATIENT, failureThreshold: 2 };
    const missing = reported(
      'exec',
      /^Readiness probe failed: cat: can't open '\/shared\/ready': No such file or directory\n$/,
    );
    start(podWith('exec', EXITS_ON_SIGTERM, { readinessProbe }));
    await missing;
    const ready = it.ready('exec');
    writeFileSync(shared('exec', 'ready'), 'yes');
    await ready;
    const lost = when('exec', (status) => !status.ready, 'not ready');
    rmSync(shared('exec', 'ready'));
    await lost;
    assert.equal(it.report('exec').status.containerStatuses?.[0]?.restartCount, 0);
    await end('exec');
  });

  test('exec: a command that exceeds its timeout fails', async () => {
    const readinessProbe = { ...run('sleep', '987'), periodSeconds: 1, timeoutSeconds: 1 };
    const late = reported('slow', /^Readiness probe failed: command timed out: "sleep 987" timed out after 1s$/);
    start(podWith('slow', EXITS_ON_SIGTERM, { readinessProbe }));
    await late;
    await end('slow');
  });

  test('http: a container that fails its liveness probe restarts, within the grace period of the probe', async () => {
    const httpGet = { port: 'http', path: '/alive' };
    const ports = [{ name: 'http', containerPort: 8080 }];
    const livenessProbe = { httpGet, ...PATIENT, failureThreshold: 2, terminationGracePeriodSeconds: 1 };
    const startupProbe = { httpGet, ...PATIENT, failureThreshold: 100 }; // its server needs a moment
    const dies =
      "trap '' TERM; echo listening; until [ -e /shared/die ]; do sleep 0.1; done; rm alive; while :; do sleep 1; done";
    const first = `[ -e /shared/again ] || { touch /shared/again; ${dies}; }`;
    const line = `mkdir /www; cd /www; touch alive; httpd -p 8080; ${first}; ${EXITS_ON_SIGTERM}`;
    const failed = reported('http', /^Liveness probe failed: HTTP probe failed with statuscode: 404$/);
    const killing = reported('http', /^Container main failed liveness probe, will be restarted$/);
    const again = when(
      'http',
      ({ restartCount, state }) => restartCount === 1 && state?.running !== undefined,
      'again',
    );
    const ready = it.ready('http');
    start(podWith('http', line, { startupProbe, livenessProbe, ports }, { terminationGracePeriodSeconds: 4 }));
    await ready;
    await it.listening('http', 'main');
    writeFileSync(shared('http', 'die'), '');
    await Promise.all([failed, killing, again]);
    const { lastState } = it.report('http').status.containerStatuses?.[0] ?? {};
    assert.equal(lastState?.terminated?.exitCode, 137);
    const killed = { containerId: containerIdOf(lastState), timeout: 2n };
    const stops = it.calls.all.filter(({ method }) => method === 'StopContainer').map(({ request }) => request);
    assert.deepEqual(
      stops.filter((stop) => isDeepStrictEqual(stop, killed)),
      [killed],
    );
    await end('http');
  });

  test('tcp: no other probe runs before the startup probe succeeds', async () => {
    const startupProbe = { tcpSocket: { port: 8080 }, ...PATIENT, failureThreshold: 100 };
    const readinessProbe = { ...run('test', '-e', '/tmp/up'), ...PATIENT };
    const refused = reported('tcp', /^Startup probe failed: dial tcp [0-9.]+:8080: connect: connection refused$/);
    const line = `until [ -e /shared/go ]; do sleep 0.05; done; touch /tmp/up; httpd -p 8080 -h /tmp; ${EXITS_ON_SIGTERM}`;
    start(podWith('tcp', line, { startupProbe, readinessProbe }));
    await refused;
    const ready = it.ready('tcp');
    writeFileSync(shared('tcp', 'go'), '');
    await ready;
    const { started, restartCount } = it.report('tcp').status.containerStatuses?.[0] ?? {};
    assert.deepEqual([started, restartCount], [true, 0]);
    assert.equal(
      it.report('tcp').events.some(({ message }) => message.startsWith('Readiness')),
      false,
    );
    await end('tcp');
  });

  test('grpc: readiness follows the health status of the server', async (t) => {
    const server = await startHealthServer(HOST_IP);
    t.after(() => server.close());
    const readinessProbe = { grpc: { port: server.port, service: 'api' }, periodSeconds: 1, failureThreshold: 1 };
    const ready = it.ready('grpc');
    start(podWith('grpc', EXITS_ON_SIGTERM, { readinessProbe }, { hostNetwork: true }));
    await ready;
    const why = reported('grpc', /^Readiness probe failed: service unhealthy \(responded with "NOT_SERVING"\)$/);
    const lost = when('grpc', (status) => !status.ready, 'not ready');
    server.status = 2;
    await Promise.all([why, lost]);
    const away = reported(
      'grpc',
      /^Readiness probe failed: timeout: failed to connect service "127\.0\.0\.1:\d+" within 1s: context deadline exceeded$/,
    );
    server.close();
    await away;
    await end('grpc');
  });
});

function containerIdOf(state: ContainerState | undefined): string | undefined {
  return state?.terminated?.containerID?.replace(/^.*:\/\//, '');
}

function isOf(event: AgentEvent, name: string): boolean {
  return 'pod' in event && event.pod.metadata.name === name;
}
