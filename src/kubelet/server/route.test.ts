import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_HANDLERS } from './debug-deps.fixture.ts';
import { type DebugHandlers, findRoute, type Route } from './route.ts';

const SETTINGS = { debugging: ALL_HANDLERS, checks: new Set(['ping']) };

const TARGET = { namespace: 'ns', pod: 'web', container: 'main' };

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
  ['POST /run/ns/web/main', { kind: 'run', target: TARGET }],
  ['POST /run/ns/web/u1/main', { kind: 'run', target: TARGET }],
  ['GET /run/ns/web/main', { kind: 'methodNotAllowed', allowed: ['POST'] }],
  ['POST /run', { kind: 'notFound' }],
  ['POST /run/ns/web', { kind: 'notFound' }],
  ['POST /checkpoint/ns/web/main', { kind: 'checkpoint', target: TARGET }],
  ['POST /checkpoint/ns/web/u1/main', { kind: 'notFound' }],
  ['POST /checkpoint', { kind: 'moved', to: '/checkpoint/' }],
  ['GET /logs/', { kind: 'systemLogs', path: '' }],
  ['GET /logs/a%20b/c/', { kind: 'systemLogs', path: 'a b/c/' }],
  ['GET /logs/%2e%2e/x', { kind: 'systemLogs', path: '../x' }],
  ['HEAD /logs/a', { kind: 'methodNotAllowed', allowed: ['GET'] }],
  ['GET /logs', { kind: 'moved', to: '/logs/' }],
  ['GET /debug/pprof/heap', { kind: 'profile', name: 'heap' }],
  ['GET /debug/pprof/heap/', { kind: 'profile', name: 'heap/' }],
  ['GET /debug/pprof/', { kind: 'notFound' }],
  ['POST /debug/pprof/heap', { kind: 'methodNotAllowed', allowed: ['GET'] }],
  ['GET /debug/pprof', { kind: 'moved', to: '/debug/pprof/' }],
  ['PUT /debug/flags/v', { kind: 'logVerbosity' }],
  ['GET /debug/flags/v/', { kind: 'unknown' }],
  ['GET /debug', { kind: 'unknown' }],
  ['POST /flagz', { kind: 'flagz' }],
  ['GET /flagz/', { kind: 'unknown' }],
  ['GET /statusz', { kind: 'statusz' }],
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

const DISABLED: Readonly<Record<string, string>> = {
  '/pods': 'pods',
  '/healthz': 'healthz',
  '/metrics': 'metrics',
  '/exec/ns/web/main': 'Debug endpoints are disabled.',
  '/run/ns/web/main': 'Debug endpoints are disabled.',
  '/containerLogs/ns/web/main': 'Debug endpoints are disabled.',
  '/runningpods/': 'Debug endpoints are disabled.',
  '/logs/': 'Debug endpoints are disabled.',
  '/debug/pprof/heap': 'Debug endpoints are disabled.',
  '/logs': 'moved',
  '/run': 'moved',
  '/configz': 'unknown',
  '/flagz': 'unknown',
  '/debug/flags/v': 'unknown',
  '/checkpoint/ns/web/main': 'unknown',
};

for (const [path, expected] of Object.entries(DISABLED)) {
  test(`findRoute(): without debugging handlers, ${path}`, () => {
    const route = findRoute('GET', path, { ...SETTINGS, debugging: undefined });
    assert.equal(route.kind === 'disabled' ? route.why : route.kind, expected);
  });
}

const OFF: readonly (readonly [handler: keyof DebugHandlers, path: string, answer: string])[] = [
  ['systemLogs', '/logs/', 'logs endpoint is disabled.'],
  ['systemLogs', '/logs', 'moved'],
  ['profiles', '/debug/pprof/heap', 'profiling endpoint is disabled.'],
  ['flags', '/debug/flags/v', 'flags endpoint is disabled.'],
  ['checkpoints', '/checkpoint/ns/web/main', 'unknown'],
  ['checkpoints', '/checkpoint', 'unknown'],
  ['flagz', '/flagz', 'unknown'],
  ['statusz', '/statusz', 'unknown'],
];

for (const [handler, path, expected] of OFF) {
  test(`findRoute(): without ${handler}, ${path}`, () => {
    const route = findRoute('GET', path, { ...SETTINGS, debugging: { ...ALL_HANDLERS, [handler]: false } });
    assert.equal(route.kind === 'disabled' ? route.why : route.kind, expected);
  });
}
