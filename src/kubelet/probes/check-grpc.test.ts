import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GRPCAction } from '../../api/generated/core-v1.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { type MemoryGrpcHandler, MemoryNetwork } from '../../host/fake/memory-network.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import type { GrpcResponse } from '../../host/network.ts';
import { checkProbe } from './check-probe.ts';
import { healthRequest, healthStatus } from './grpc-health.ts';
import type { CheckOutcome } from './probe-handler.ts';

const server = { host: '10.0.0.2', port: 9000 };

interface Given {
  readonly action?: Partial<GRPCAction>;
  readonly network?: (network: MemoryNetwork, clock: VirtualClock) => void;
  readonly signal?: AbortSignal;
}

interface Checked {
  readonly outcome: CheckOutcome;
  readonly tookMs: number;
}

async function check({ action, network: arrange, signal = new AbortController().signal }: Given): Promise<Checked> {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(new MemoryFileSystem(() => clock.now()));
  arrange?.(network, clock);
  const deps = { clock, network, exec: () => Promise.reject(new Error('not used')) };
  const target = { container: { name: 'web' }, containerId: 'c1', podIP: server.host };
  const probe = { grpc: { port: server.port, ...action } };
  const outcome = await clock.runUntil(checkProbe(probe, target, 2000, deps, signal));
  return { outcome, tookMs: clock.monotonic() };
}

function answers(answer: Partial<GrpcResponse>): Given {
  const grpc: MemoryGrpcHandler = async () => ({ code: 0, details: '', message: new Uint8Array(), ...answer });
  return { network: (network) => network.listen(server, { grpc }) };
}

const failure = (output: string): CheckOutcome => ({ kind: 'failure', output });
const unreachable = failure('timeout: failed to connect service "10.0.0.2:9000" within 2s: context deadline exceeded');

const cases: Record<string, { given: Given; outcome: CheckOutcome; tookMs?: number }> = {
  'succeeds while the server serves': {
    given: answers({ message: Uint8Array.of(8, 1) }),
    outcome: { kind: 'success', output: 'service healthy' },
  },
  'fails while it does not': {
    given: answers({ message: Uint8Array.of(8, 2) }),
    outcome: failure('service unhealthy (responded with "NOT_SERVING")'),
  },
  'fails for a service that the server does not know': {
    given: answers({ code: 5, details: 'unknown service' }),
    outcome: failure('error: health rpc probe failed: rpc error: code = NotFound desc = unknown service'),
  },
  'fails for a server without the protocol': {
    given: answers({ code: 12, details: 'unknown service grpc.health.v1.Health' }),
    outcome: failure(
      'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service grpc.health.v1.Health',
    ),
  },
  'fails for a server that reports a timeout': {
    given: answers({ code: 4, details: 'context deadline exceeded' }),
    outcome: failure('timeout: health rpc did not complete within 2s'),
  },
  'fails for an invalid response': {
    given: answers({ message: Uint8Array.of(8) }),
    outcome: failure(
      'error: health rpc probe failed: rpc error: code = Internal desc = grpc: failed to unmarshal the received message: proto: unexpected EOF',
    ),
  },
  'fails when the connection breaks': {
    given: { network: (network) => network.listen(server, { grpc: () => Promise.reject(new Error('crash')) }) },
    outcome: failure(
      'error: health rpc probe failed: rpc error: code = Unavailable desc = error reading from server: read: connection reset by peer',
    ),
  },
  'fails when a server that took the call does not answer in time': {
    given: { network: (network) => network.listen(server, { grpc: () => new Promise(() => {}) }) },
    outcome: failure('timeout: health rpc did not complete within 2s'),
    tookMs: 2000,
  },
  'fails without a listener, at the time limit': { given: {}, outcome: unreachable, tookMs: 2000 },
  'fails when no response comes in time': {
    given: { network: (network) => network.blackHole(server) },
    outcome: unreachable,
    tookMs: 2000,
  },
  'fails when the server speaks something else': {
    given: { network: (network) => network.listen(server, { http: async () => ({ status: 200, body: '' }) }) },
    outcome: unreachable,
    tookMs: 2000,
  },
  'succeeds with a server that starts in time': {
    given: {
      network: (network, clock) => {
        const grpc: MemoryGrpcHandler = async () => ({ code: 0, details: '', message: Uint8Array.of(8, 1) });
        void clock.sleep(500, new AbortController().signal).then(() => network.listen(server, { grpc }));
      },
    },
    outcome: { kind: 'success', output: 'service healthy' },
    tookMs: 1000,
  },
};

for (const [name, { given, outcome, tookMs = 0 }] of Object.entries(cases)) {
  test(`checkGrpc() ${name}`, async () => {
    assert.deepEqual(await check(given), { outcome, tookMs });
  });
}

test('checkGrpc() requests the service of the probe', async () => {
  const asked: unknown[] = [];
  const grpc: MemoryGrpcHandler = async ({ path, message, userAgent, timeoutMs }) => {
    asked.push({ path, message: [...message], userAgent, timeoutMs });
    return { code: 0, details: '', message: Uint8Array.of(8, 1) };
  };
  const network = (it: MemoryNetwork): unknown => it.listen(server, { grpc });
  await check({ network, action: { service: 'api' } });
  await check({ network });
  const base = { path: '/grpc.health.v1.Health/Check', userAgent: 'kube-probe/1.36', timeoutMs: 2000 };
  assert.deepEqual(asked, [
    { ...base, message: [10, 3, 97, 112, 105] },
    { ...base, message: [] },
  ]);
});

test('checkGrpc() rejects when it is cancelled', async () => {
  const gone = AbortSignal.abort(new Error('the pod is gone'));
  await assert.rejects(check({ signal: gone }), new Error('the pod is gone'));
});

const statuses: [bytes: number[], status: string][] = [
  [[], 'UNKNOWN'],
  [[8, 0], 'UNKNOWN'],
  [[8, 1], 'SERVING'],
  [[8, 3], 'SERVICE_UNKNOWN'],
  [[8, 172, 2], '300'],
  [[18, 2, 8, 2, 8, 1], 'SERVING'],
  [[25, 1, 2, 3, 4, 5, 6, 7, 8, 37, 1, 2, 3, 4, 40, 9, 8, 1], 'SERVING'],
];

for (const [bytes, status] of statuses) {
  test(`healthStatus() reads ${status} from [${bytes}]`, () => {
    assert.equal(healthStatus(Uint8Array.from(bytes)), status);
  });
}

const invalid = [
  [8],
  [8, 128],
  [18, 5, 1],
  [11],
  Array<number>(12).fill(255),
  [18, 250, 255, 255, 255, 15], // a size of 2³² − 6: as −6 it would lead back to the start, for ever
  [18, 129, 128, 128, 128, 16, 1], // a size of 2³² + 1
  [0, 1], // there is no field 0
  [136, 128, 128, 128, 128, 128, 128, 128, 128, 2, 1], // a number of more than 64 bits
];

for (const bytes of invalid) {
  test(`healthStatus() rejects [${bytes}]`, () => {
    assert.throws(() => healthStatus(Uint8Array.from(bytes)), /unexpected EOF|cannot parse/);
  });
}

test('healthRequest() writes names of any length', () => {
  assert.deepEqual([...healthRequest('x'.repeat(300))].slice(0, 4), [10, 172, 2, 120]);
});
