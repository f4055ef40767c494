import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod, PodSpec, PodStatus } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { MemoryNetwork } from '../../host/fake/memory-network.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import type { Network } from '../../host/network.ts';
import { PodEvents } from '../events/pod-events.ts';
import { observedContainer } from '../pod/observed-container.fixture.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import type { ProbeKind } from './probe-results.ts';
import { Probes } from './probes.ts';

const tcp = { tcpSocket: { port: 80 } };

/** A node with one pod, whose container `web` started so many seconds before the agent. */
function arrange(spec: Partial<PodSpec> & { web?: Partial<Container> }, agoSeconds: number, status?: PodStatus) {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(new MemoryFileSystem(() => clock.now()));
  const http = async () => ({ status: 302, headers: { Location: 'http://example.com/' }, body: 'elsewhere' });
  network.listen({ host: '10.0.0.2', port: 8080 }, { http });
  const events: string[] = [];
  const dialled: string[] = [];
  const dial: Network['dial'] = (target, signal) => {
    dialled.push(`${clock.monotonic() / 1000} ${'host' in target ? target.host : ''}`);
    return network.dial(target, signal);
  };
  const podEvents = new PodEvents(clock);
  podEvents.subscribe((_, { type, reason, message, fieldPath }) =>
    events.push(`${type} ${reason} ${fieldPath}: ${message}`),
  );
  const probes = new Probes({
    clock,
    network: {
      lookup: (host, signal) => network.lookup(host, signal),
      dial,
      request: (request, signal) => network.request(request, signal),
      grpc: (target, userAgent, signal) => network.grpc(target, userAgent, signal),
    },
    random: { fraction: () => 0.25, bytes: (length) => new Uint8Array(length) },
    events: podEvents,
    log: silentLog,
    hostIP: '192.0.2.1',
    exec: () => Promise.reject(new Error('no such container')),
    onResultChanged: () => {},
  });
  const { web, ...rest } = spec;
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'default', uid: 'u' },
    spec: { containers: [{ name: 'web', image: 'busybox', ...web }], ...rest },
    status,
  };
  probes.follow(pod, observedAt(clock.now() - 1000 * agoSeconds));
  const results = () => (['startup', 'readiness', 'liveness'] as ProbeKind[]).map((kind) => probes.result(kind, 'c1'));
  return { clock, network, probes, events, dialled, results };
}

function observedAt(startedMs: number): ObservedPod {
  const sandbox = { id: 's0', attempt: 0, ready: true, createdAt: 1n, hostNetwork: false, runtimeHandler: '' };
  const startedAt = BigInt(startedMs) * 1_000_000n;
  return {
    uid: 'u',
    name: 'p',
    namespace: 'default',
    inspectedAt: 0,
    sandboxes: [{ ...sandbox, ips: ['10.0.0.2', 'fd00::2'] }],
    containers: [observedContainer('web', { state: 'running', startedAt }, { id: 'c1' })],
  };
}

test('Probes spread the first checks of containers that ran before the agent over a period', async () => {
  const { clock, dialled } = arrange({ web: { livenessProbe: tcp } }, 3600);
  await clock.advance(15_000);
  assert.deepEqual(dialled, ['2.5 10.0.0.2', '12.5 10.0.0.2']);
});

test('Probes do not hold back the first check of a container that started after the agent', async () => {
  const { clock, dialled } = arrange({ web: { livenessProbe: tcp } }, 0);
  await clock.advance(5000);
  assert.deepEqual(dialled, ['0 10.0.0.2']);
});

test('Probes have no result yet for a container that ran before the agent', async () => {
  const { clock, network, results } = arrange({ web: { readinessProbe: tcp, livenessProbe: tcp } }, 3600);
  assert.deepEqual(results(), [undefined, undefined, undefined]);
  await clock.advance(22_000); // one failure more would make it not ready
  assert.deepEqual(results(), [undefined, undefined, undefined]);
  network.listen({ host: '10.0.0.2', port: 80 });
  await clock.advance(1000);
  assert.deepEqual(results(), [undefined, 'success', 'success']);
});

test('Probes do not ask again whether a container has started that is known to have', async () => {
  const status = {
    containerStatuses: [
      {
        name: 'web',
        image: '',
        imageID: '',
        ready: true,
        restartCount: 0,
        containerID: 'containerd://c1',
        started: true,
      },
    ],
  };
  const startupProbe = { exec: { command: ['never'] } };
  const { clock, results, dialled, events } = arrange({ web: { startupProbe, readinessProbe: tcp } }, 3600, status);
  assert.deepEqual(results(), ['success', undefined, undefined]);
  await clock.advance(5000);
  assert.deepEqual(dialled, ['2.5 10.0.0.2']);
  assert.equal(events.length, 1);
});

test('Probes reach a pod on the network of the host at the address of the host', async () => {
  const { clock, dialled } = arrange({ web: { livenessProbe: tcp }, hostNetwork: true }, 0);
  await clock.advance(0);
  assert.deepEqual(dialled, ['0 192.0.2.1']);
});

/** Events of the first check. */
const eventCases: Record<string, { spec: Parameters<typeof arrange>[0]; events: string[] }> = {
  'a failure': {
    spec: { web: { readinessProbe: tcp } },
    events: [
      'Warning Unhealthy spec.containers{web}: Readiness probe failed: dial tcp 10.0.0.2:80: connect: connection refused',
    ],
  },
  'a failure of a startup probe': {
    spec: { web: { startupProbe: tcp } },
    events: [
      'Warning Unhealthy spec.containers{web}: Startup probe failed: dial tcp 10.0.0.2:80: connect: connection refused',
    ],
  },
  'a failure of a sidecar': {
    spec: {
      containers: [{ name: 'other', image: 'busybox' }],
      initContainers: [{ name: 'web', image: 'busybox', restartPolicy: 'Always', livenessProbe: tcp }],
    },
    events: [
      'Warning Unhealthy spec.initContainers{web}: Liveness probe failed: dial tcp 10.0.0.2:80: connect: connection refused',
    ],
  },
  'no event of an init container, which is not probed': {
    spec: {
      containers: [{ name: 'other', image: 'busybox' }],
      initContainers: [{ name: 'web', image: 'busybox', livenessProbe: tcp }],
    },
    events: [],
  },
  'a check that went wrong by itself': {
    spec: { web: { livenessProbe: { exec: { command: ['x'] } } } },
    events: [
      'Warning Unhealthy spec.containers{web}: Liveness probe errored and resulted in unknown state: no such container',
    ],
  },
  'a redirect that is not followed': {
    spec: { web: { readinessProbe: { httpGet: { port: 8080 } } } },
    events: [
      'Warning ProbeWarning spec.containers{web}: Readiness probe warning: Probe terminated redirects, Response body: elsewhere',
    ],
  },
};

for (const [name, { spec, events: expected }] of Object.entries(eventCases)) {
  test(`Probes record events of ${name}`, async () => {
    const { clock, events } = arrange(spec, 0);
    await clock.advance(0);
    assert.deepEqual(events, expected);
  });
}
