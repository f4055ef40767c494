import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, HTTPGetAction } from '../../api/generated/core-v1.ts';
import type { MemoryRequest } from '../../host/fake/memory-exchange.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { MemoryNetwork, type MemoryService } from '../../host/fake/memory-network.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import type { ServerResponse } from '../../host/network.ts';
import { checkProbe } from './check-probe.ts';
import type { CheckOutcome } from './probe-handler.ts';

const web: Container = { name: 'web', image: 'busybox', ports: [{ name: 'http', containerPort: 8080 }] };

type Answer = Partial<ServerResponse>;

interface Given {
  readonly action?: Partial<HTTPGetAction>;
  /** What 10.0.0.2:8080 answers, by path; other paths are not found. */
  readonly answers?: Record<string, Answer>;
  readonly certificate?: 'trusted' | 'untrusted';
  readonly network?: (network: MemoryNetwork) => void;
  readonly podIP?: string;
}

interface Checked {
  readonly outcome: CheckOutcome;
  readonly requests: readonly MemoryRequest[];
  readonly tookMs: number;
}

async function check({ action, answers, certificate, network: arrange, podIP = '10.0.0.2' }: Given): Promise<Checked> {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(new MemoryFileSystem(() => clock.now()));
  const requests: MemoryRequest[] = [];
  const http: MemoryService['http'] = async (request) => {
    requests.push(request);
    return { status: 200, body: '', ...(answers?.[request.path] ?? { status: 404 }) };
  };
  if (answers) network.listen({ host: podIP, port: 8080 }, { http, ...(certificate && { certificate }) });
  arrange?.(network);
  const probe = { httpGet: { port: 8080, path: '/', scheme: 'HTTP', ...action } };
  const deps = { clock, network, exec: () => Promise.reject(new Error('not used')) };
  const target = { container: web, containerId: 'c1', podIP };
  const outcome = await clock.runUntil(checkProbe(probe, target, 1000, deps, new AbortController().signal));
  return { outcome, requests, tookMs: clock.monotonic() };
}

const success = (output: string): CheckOutcome => ({ kind: 'success', output });
const failure = (output: string): CheckOutcome => ({ kind: 'failure', output });
const to = (location: string, status = 302): Answer => ({ status, headers: { Location: location } });

async function* endless(): AsyncGenerator<string> {
  yield 'it begins';
  await new Promise(() => {});
}

async function* flood(): AsyncGenerator<string> {
  for (;;) yield 'x'.repeat(1000);
}

const cases: Record<string, { given: Given; outcome: CheckOutcome }> = {
  'succeeds with 200': { given: { answers: { '/': { body: 'fine' } } }, outcome: success('fine') },
  'succeeds with 204': { given: { answers: { '/': { status: 204 } } }, outcome: success('') },
  'fails with 404': { given: { answers: {} }, outcome: failure('HTTP probe failed with statuscode: 404') },
  'fails with 500, without the body': {
    given: { answers: { '/': { status: 500, body: 'secret' } } },
    outcome: failure('HTTP probe failed with statuscode: 500'),
  },
  'fails with 199': {
    given: { answers: { '/': { status: 199 } } },
    outcome: failure('HTTP probe failed with statuscode: 199'),
  },
  'finds the port by its name': {
    given: { action: { port: 'http' }, answers: { '/': {} } },
    outcome: success(''),
  },
  'is unknown for a port without a number': {
    given: { action: { port: 'admin' }, answers: { '/': {} } },
    outcome: { kind: 'error', state: 'unknown', output: 'strconv.Atoi: parsing "admin": invalid syntax' },
  },
  'speaks TLS without looking at the certificate': {
    given: { action: { scheme: 'HTTPS' }, certificate: 'untrusted', answers: { '/': {} } },
    outcome: success(''),
  },
  'takes the host that the probe names': {
    given: {
      action: { host: 'localhost' },
      network: (network) =>
        network.listen({ host: '127.0.0.1', port: 8080 }, { http: async () => ({ status: 200, body: 'local' }) }),
    },
    outcome: success('local'),
  },
  'fails without a listener': {
    given: { action: { path: '/healthz?full=1' } },
    outcome: failure('Get "http://10.0.0.2:8080/healthz?full=1": dial tcp 10.0.0.2:8080: connect: connection refused'),
  },
  'fails over IPv6': {
    given: { podIP: 'fd00::2' },
    outcome: failure('Get "http://[fd00::2]:8080/": dial tcp [fd00::2]:8080: connect: connection refused'),
  },
  'fails when the connection breaks': {
    given: { network: (network) => network.listen({ host: '10.0.0.2', port: 8080 }) },
    outcome: failure('Get "http://10.0.0.2:8080/": read: connection reset by peer'),
  },
  'fails when the server does not speak TLS': {
    given: { action: { scheme: 'HTTPS' }, answers: { '/': {} } },
    outcome: failure('Get "https://10.0.0.2:8080/": http: server gave HTTP response to HTTPS client'),
  },
  'fails for a name, which is not looked up': {
    given: { action: { host: 'example.com' } },
    outcome: failure('Get "http://example.com:8080/": dial tcp: lookup example.com: no such host'),
  },
  'fails when no response comes in time': {
    given: { network: (network) => network.blackHole({ host: '10.0.0.2', port: 8080 }) },
    outcome: failure(
      'Get "http://10.0.0.2:8080/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    ),
  },
  'is unknown when the response does not end in time': {
    given: { answers: { '/': { body: endless() } } },
    outcome: {
      kind: 'error',
      state: 'failure',
      output: 'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
    },
  },
  'fails when a server takes the request and never answers': {
    given: {
      network: (network) => network.listen({ host: '10.0.0.2', port: 8080 }, { http: () => new Promise(() => {}) }),
    },
    outcome: failure(
      'Get "http://10.0.0.2:8080/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    ),
  },
  'reads no more of an endless answer than it keeps': {
    given: { answers: { '/': { body: flood() } } },
    outcome: success('x'.repeat(10_240)),
  },
  'keeps 10 KiB of the answer': {
    given: { answers: { '/': { body: 'x'.repeat(20_000) } } },
    outcome: success('x'.repeat(10_240)),
  },
  'follows a redirect on the same host': {
    given: {
      answers: { '/': to('/next', 301), '/next': to('http://10.0.0.2:8080/last', 307), '/last': { body: 'here' } },
    },
    outcome: success('here'),
  },
  'judges by the end of the redirects': {
    given: { answers: { '/': to('/gone') } },
    outcome: failure('HTTP probe failed with statuscode: 404'),
  },
  'follows to another port of the same host': {
    given: { answers: { '/': to('http://10.0.0.2:9090/x') } },
    outcome: failure('Get "http://10.0.0.2:9090/x": dial tcp 10.0.0.2:9090: connect: connection refused'),
  },
  'warns of a redirect to another host, and does not follow it': {
    given: { answers: { '/': { ...to('http://example.com/'), body: 'moved' } } },
    outcome: { kind: 'warning', output: 'Probe terminated redirects, Response body: moved' },
  },
  'warns of a redirect without a place': {
    given: { answers: { '/': { status: 302, body: 'where?' } } },
    outcome: { kind: 'warning', output: 'Probe terminated redirects, Response body: where?' },
  },
  'stops after 10 redirects': {
    given: { answers: { '/': to('/') } },
    outcome: failure('Get "/": stopped after 10 redirects'),
  },
};

for (const [name, { given, outcome }] of Object.entries(cases)) {
  test(`checkHttp() ${name}`, async () => {
    assert.deepEqual((await check(given)).outcome, outcome);
  });
}

test('checkHttp() fails exactly at the time limit', async () => {
  const { tookMs } = await check({ network: (network) => network.blackHole({ host: '10.0.0.2', port: 8080 }) });
  assert.equal(tookMs, 1000);
});

test('checkHttp() sends at most 10 requests', async () => {
  const { requests } = await check({ answers: { '/': to('/') } });
  assert.equal(requests.length, 10);
});

const headerCases: Record<string, { given: HTTPGetAction['httpHeaders']; sent: [string, string][] }> = {
  'its own where the manifest has none': {
    given: [],
    sent: [
      ['Host', '10.0.0.2:8080'],
      ['User-Agent', 'kube-probe/1.36'],
      ['Accept', '*/*'],
      ['Connection', 'close'],
    ],
  },
  "the manifest's, however it spells them": {
    given: [
      { name: 'host', value: 'example.com' },
      { name: 'user-agent', value: 'me' },
      { name: 'ACCEPT', value: 'text/plain' },
      { name: 'X-A', value: '1' },
      { name: 'X-A', value: '2' },
    ],
    sent: [
      ['Host', 'example.com'],
      ['User-Agent', 'me'],
      ['X-A', '1'],
      ['X-A', '2'],
      ['Accept', 'text/plain'],
      ['Connection', 'close'],
    ],
  },
  'none that the manifest leaves empty': {
    given: [
      { name: 'User-Agent', value: '' },
      { name: 'Accept', value: '' },
    ],
    sent: [
      ['Host', '10.0.0.2:8080'],
      ['Connection', 'close'],
    ],
  },
};

for (const [name, { given, sent }] of Object.entries(headerCases)) {
  test(`checkHttp() sends headers: ${name}`, async () => {
    const { requests } = await check({ action: { httpHeaders: given ?? [] }, answers: { '/': {} } });
    assert.deepEqual(requests[0]?.headers, sent);
  });
}

const HOST = { name: 'Host', value: 'example.com' };

const redirectCases: Record<string, { given: HTTPGetAction['httpHeaders']; location: string; sent: object }> = {
  'where it comes from': {
    given: [],
    location: '/next',
    sent: { host: '10.0.0.2:8080', referer: 'http://10.0.0.2:8080/' },
  },
  'the host that the manifest names': {
    given: [HOST],
    location: '/next',
    sent: { host: 'example.com', referer: 'http://10.0.0.2:8080/' },
  },
  'the host that the redirect names instead': {
    given: [HOST],
    location: 'http://10.0.0.2:8080/next',
    sent: { host: '10.0.0.2:8080', referer: 'http://10.0.0.2:8080/' },
  },
  "the manifest's own referer": {
    given: [{ name: 'Referer', value: 'me' }],
    location: '/next',
    sent: { host: '10.0.0.2:8080', referer: 'me' },
  },
};

for (const [name, { given, location, sent }] of Object.entries(redirectCases)) {
  test(`checkHttp() sends after a redirect ${name}`, async () => {
    const answers = { '/': to(location), '/next': {} };
    const { requests } = await check({ action: { httpHeaders: given ?? [] }, answers });
    const headers = new Map(requests[1]?.headers.map(([header, value]) => [header.toLowerCase(), value]));
    assert.deepEqual({ host: headers.get('host'), referer: headers.get('referer') }, sent);
  });
}

const paths: Record<string, string> = {
  '': '/',
  healthz: '/healthz',
  '/a/../b': '/a/../b',
  '/a b?c=d#e': '/a%20b?c=d',
};

for (const [path, sent] of Object.entries(paths)) {
  test(`checkHttp() requests ${sent} for the path ${JSON.stringify(path)}`, async () => {
    const { requests } = await check({ action: { path }, answers: {} });
    const [request] = requests;
    assert.equal(`${request?.path}${request?.query.size ? `?${request.query}` : ''}`, sent);
  });
}
