import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Route, routeOf } from './route.ts';

const CASES: readonly (readonly [request: string, route: Route])[] = [
  ['GET /healthz', { kind: 'healthz', check: undefined }],
  ['GET /healthz/ping', { kind: 'healthz', check: 'ping' }],
  ['GET /pods', { kind: 'pods' }],
  ['GET /pods/', { kind: 'pods' }],
  ['GET /runningpods/', { kind: 'runningPods' }],
  ['GET /configz', { kind: 'configz' }],
  ['GET /metrics', { kind: 'metrics' }],
  ['POST /pods', { kind: 'methodNotAllowed' }],
  [
    'GET /containerLogs/ns/web/main',
    { kind: 'containerLogs', place: { namespace: 'ns', pod: 'web', container: 'main' } },
  ],
  ['POST /containerLogs/ns/web/main', { kind: 'methodNotAllowed' }],
  ['GET /containerLogs/ns/web', { kind: 'notFound' }],
  ['POST /exec/ns/web/main', stream('exec', '', 'main')],
  ['GET /exec/ns/web/u1/main', stream('exec', 'u1', 'main')],
  ['POST /attach/ns/web/main', stream('attach', '', 'main')],
  ['GET /portForward/ns/web', stream('portForward', '', '')],
  ['POST /portForward/ns/web/u1', stream('portForward', 'u1', '')],
  ['PUT /exec/ns/web/main', { kind: 'methodNotAllowed' }],
  ['POST /exec/ns/web', { kind: 'notFound' }],
  ['POST /exec/ns//main', { kind: 'notFound' }],
  ['POST /exec/ns/web/u1/main/more', { kind: 'notFound' }],
  ['GET /exec/ns/%zz/main', { kind: 'notFound' }],
  ['GET /metrics/../pods', { kind: 'notFound' }],
  ['GET //pods', { kind: 'notFound' }],
  ['GET /', { kind: 'notFound' }],
  ['GET /stats/summary', { kind: 'notFound' }],
];

function stream(verb: 'exec' | 'attach' | 'portForward', uid: string, container: string): Route {
  return { kind: 'stream', place: { verb, namespace: 'ns', pod: 'web', uid, container } };
}

for (const [request, route] of CASES) {
  test(`routeOf(): ${request}`, () => {
    const [method = '', path = ''] = request.split(' ');
    assert.deepEqual(routeOf(method, path, true), route);
  });
}

test('routeOf(): without debugging handlers pods are still told of, and no more', () => {
  const kinds = [
    '/pods',
    '/healthz',
    '/metrics',
    '/exec/ns/web/main',
    '/containerLogs/ns/web/main',
    '/runningpods/',
    '/logs/',
    '/configz',
  ];
  assert.deepEqual(
    kinds.map((path) => routeOf('GET', path, false).kind),
    [
      'pods',
      'healthz',
      'metrics',
      'debuggingDisabled',
      'debuggingDisabled',
      'debuggingDisabled',
      'debuggingDisabled',
      'notFound',
    ],
  );
});
