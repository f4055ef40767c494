import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectSpans } from '../../../test/traces/memory-spans.ts';
import type { TlsRequest, TlsResponse } from '../../host/tls-server.ts';
import { ALL_HANDLERS } from './debug-deps.fixture.ts';
import { findRoute, type GuardedRoute } from './route.ts';
import { traceRequest } from './trace-request.ts';

const settings = { debugging: ALL_HANDLERS, checks: new Set(['ping']) };
const CLIENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

function request(method: string, path: string, headers: Readonly<Record<string, string>> = {}): TlsRequest {
  return {
    method,
    path,
    headers,
    query: new URLSearchParams(),
    rawQuery: '',
    body: (async function* () {})(),
    signal: new AbortController().signal,
    client: { kind: 'none' },
    upgrade: '',
  };
}

function responded(status: number): TlsResponse {
  return { kind: 'response', response: { status, body: '' } };
}

const streamed: TlsResponse = { kind: 'stream', stream: { headers: [], serve: () => {} } };

/** Recorded from kubelet: the path of its router; nothing outside of it. */
const names: Record<string, string> = {
  '/pods': '/pods/',
  '/runningpods/': '/runningpods/',
  '/stats/summary': '/stats/summary',
  '/containerLogs/default/web/main': '/containerLogs/{podNamespace}/{podID}/{containerName}',
  '/exec/default/web/main': '/exec/{podNamespace}/{podID}/{containerName}',
  '/attach/default/web/uid/main': '/attach/{podNamespace}/{podID}/{uid}/{containerName}',
  '/portForward/default/web': '/portForward/{podNamespace}/{podID}',
  '/metrics': '',
  '/healthz': '',
};

for (const [path, name] of Object.entries(names)) {
  test(`traceRequest() names GET ${path}`, async () => {
    await using spans = collectSpans();
    const route = findRoute('GET', path, settings) as GuardedRoute; // none of these paths is open
    const answer = route.kind === 'stream' ? streamed : responded(200);
    assert.equal(await traceRequest(request('GET', path), route, async () => answer), answer);
    const [span] = spans.all();
    assert.deepEqual([span?.name, span?.kind], [name, 'server']);
    assert.equal(span?.attributes['http.route'], name || path);
    assert.equal(span?.attributes['http.response.status_code'], route.kind === 'stream' ? 101 : 200);
  });
}

test('traceRequest() describes the request, and refers to the trace of the client', async () => {
  await using spans = collectSpans();
  const headers = { traceparent: CLIENT, 'user-agent': 'kubectl', 'x-forwarded-for': '192.0.2.1, 192.0.2.2' };
  await traceRequest(request('GET', '/pods', headers), { kind: 'pods' }, async () => responded(404));
  const [span] = spans.all();
  assert.deepEqual(
    { ...span?.attributes },
    {
      'server.address': 'kubelet',
      'http.request.method': 'GET',
      'url.scheme': 'https',
      'url.path': '/pods',
      'http.route': '/pods/',
      'user_agent.original': 'kubectl',
      'client.address': '192.0.2.1',
      'http.response.status_code': 404,
    },
  );
  assert.deepEqual([span?.parentId, span?.links, span?.error], ['', ['b7ad6b7169203331'], undefined]);
});

test('traceRequest() shows errors of the server', async () => {
  await using spans = collectSpans();
  await traceRequest(request('GET', '/pods'), { kind: 'pods' }, async () => responded(500));
  const [span] = spans.all();
  assert.deepEqual([span?.attributes['error.type'], span?.error], ['500', '']);
});
