import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findRoute, type Route } from './route.ts';

const SETTINGS = { debugging: true, checks: new Set(['ping']) };

const CASES: readonly (readonly [request: string, route: Route])[] = [
  ['GET /healthz', { kind: 'healthz', check: undefined }],
  ['GET /healthz/ping', { kind: 'healthz', check: 'ping' }],
  ['GET /pods', { kind: 'pods' }],
  ['GET /pods/', { kind: 'pods' }],
  ['GET /runningpods/', { kind: 'runningPods' }],
  ['GET /configz', { kind: 'configz' }],
  ['GET /metrics', { kind: 'metrics' }],
  ['POST /healthz', { kind: 'healthz', check: undefined }],
  ['HEAD /metrics', { kind: 'metrics' }],
  ['GET /healthz/', { kind: 'unknown' }],
  ['GET /healthz/other', { kind: 'unknown' }],
  ['GET /configz/', { kind: 'unknown' }],
  ['POST /pods', { kind: 'methodNotAllowed', allowed: ['GET'] }],
  ['GET /pods/x', { kind: 'notFound' }],
  ['GET /runningpods', { kind: 'moved', to: '/runningpods/' }],
  [
    'GET /containerLogs/ns/web/main',
    { kind: 'containerLogs', target: { namespace: 'ns', pod: 'web', container: 'main' } },
  ],
  ['POST /containerLogs/ns/web/main', { kind: 'methodNotAllowed', allowed: ['GET'] }],
  ['GET /containerLogs/ns/web', { kind: 'notFound' }],
  ['POST /exec/ns/web/main', stream('exec', '', 'main')],
  ['GET /exec/ns/web/u1/main', stream('exec', 'u1', 'main')],
  ['POST /attach/ns/web/main', stream('attach', '', 'main')],
  ['GET /portForward/ns/web', stream('portForward', '', '')],
  ['POST /portForward/ns/web/u1', stream('portForward', 'u1', '')],
  ['PUT /exec/ns/web/main', { kind: 'methodNotAllowed', allowed: ['GET', 'POST'] }],
  ['POST /exec/ns/web', { kind: 'notFound' }],
  ['POST /exec/ns//main', { kind: 'moved', to: '/exec/ns/main' }],
  ['POST /exec/ns/web/u1/main/more', { kind: 'notFound' }],
  ['GET /exec/ns/%zz/main', { kind: 'badRequest' }],
  ['GET /exec/ns/%ff/main', { kind: 'notFound' }],
  ['GET /metrics/../pods', { kind: 'moved', to: '/pods' }],
  ['GET //pods', { kind: 'moved', to: '/pods' }],
  ['GET /', { kind: 'unknown' }],
  ['GET /stats/summary', { kind: 'statsSummary' }],
  ['POST /stats/summary/', { kind: 'statsSummary' }],
  ['PUT /stats/summary', { kind: 'methodNotAllowed', allowed: ['GET', 'POST'] }],
  ['GET /stats', { kind: 'moved', to: '/stats/' }],
  ['PUT /stats/', { kind: 'notFound' }],
  ['GET /stats/container', { kind: 'notFound' }],
  ['PUT /metrics/resource', { kind: 'resourceMetrics' }],
  ['GET /metrics/cadvisor', { kind: 'cadvisorMetrics' }],
  ['GET /metrics/resource/', { kind: 'unknown' }],
];

function stream(verb: 'exec' | 'attach' | 'portForward', uid: string, container: string): Route {
  return { kind: 'stream', target: { verb, namespace: 'ns', pod: 'web', uid, container } };
}

for (const [request, route] of CASES) {
  test(`findRoute(): ${request}`, () => {
    const [method = '', path = ''] = request.split(' ');
    assert.deepEqual(findRoute(method, path, SETTINGS), route);
  });
}

test('findRoute(): without debugging handlers only /pods is served', () => {
  const kinds = [
    '/pods',
    '/healthz',
    '/metrics',
    '/exec/ns/web/main',
    '/containerLogs/ns/web/main',
    '/runningpods/',
    '/logs/',
    '/logs',
    '/configz',
  ];
  assert.deepEqual(
    kinds.map((path) => findRoute('GET', path, { ...SETTINGS, debugging: false }).kind),
    [
      'pods',
      'healthz',
      'metrics',
      'debuggingDisabled',
      'debuggingDisabled',
      'debuggingDisabled',
      'debuggingDisabled',
      'moved',
      'unknown',
    ],
  );
});
