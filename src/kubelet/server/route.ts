import { normalize } from 'node:path/posix';
import type { ContainerTarget } from './serve-container-logs.ts';
import type { StreamTarget } from './stream-address.ts';

/** The handler that a path selects. */
export type Route = OpenRoute | GuardedRoute;

/** Answered without authentication: the response reveals nothing of the node. */
export type OpenRoute =
  | { readonly kind: 'badRequest' | 'unknown' }
  /** The cleaned path exists. */
  | { readonly kind: 'moved'; readonly to: string };

/** All checks, or the named one. */
export interface HealthzRoute {
  readonly kind: 'healthz';
  readonly check: string | undefined;
}

export type GuardedRoute =
  | HealthzRoute
  | { readonly kind: 'pods' | 'runningPods' | 'configz' | 'statsSummary' }
  | { readonly kind: 'metrics' | 'cadvisorMetrics' | 'probeMetrics' | 'resourceMetrics' | 'sliMetrics' }
  | { readonly kind: 'containerLogs'; readonly target: ContainerTarget }
  | { readonly kind: 'stream'; readonly target: StreamTarget }
  | DebugRoute
  | { readonly kind: 'notFound' }
  /** By the configuration. */
  | { readonly kind: 'disabled'; readonly why: string }
  | { readonly kind: 'methodNotAllowed'; readonly allowed: readonly string[] };

/** What `enableDebuggingHandlers` enables beside streams and container logs. */
export type DebugRoute =
  | { readonly kind: 'run'; readonly target: ContainerTarget }
  | { readonly kind: 'checkpoint'; readonly target: ContainerTarget }
  /** The decoded path below `/logs/`. */
  | { readonly kind: 'systemLogs'; readonly path: string }
  /** The decoded path below `/debug/pprof/`. */
  | { readonly kind: 'profile'; readonly name: string }
  | { readonly kind: 'logVerbosity' | 'flagz' | 'statusz' };

/** The handlers below `enableDebuggingHandlers` that have a setting of their own. */
export interface DebugHandlers {
  /** `enableSystemLogHandler` */
  readonly systemLogs: boolean;
  /** `enableProfilingHandler` */
  readonly profiles: boolean;
  /** `enableDebugFlagsHandler` */
  readonly flags: boolean;
  /** The feature gate ContainerCheckpoint. */
  readonly checkpoints: boolean;
  /** The feature gate ComponentFlagz. */
  readonly flagz: boolean;
  /** The feature gate ComponentStatusz. */
  readonly statusz: boolean;
}

export interface RouteSettings {
  /** Absent: `enableDebuggingHandlers` is off. */
  readonly debugging?: DebugHandlers | undefined;
  /** The names of the checks of `/healthz`. */
  readonly checks: { has(name: string): boolean };
}

const GET: readonly string[] = ['GET'];
const POST: readonly string[] = ['POST'];
const GET_OR_POST: readonly string[] = ['GET', 'POST'];
/** Known only with a trailing slash. */
const FOLDERS = ['/runningpods', '/stats'];
const DEBUG_FOLDERS = ['/logs', '/debug/pprof'];
/** Disabled without `enableDebuggingHandlers`. */
const DEBUGGING = [
  '/run',
  '/exec',
  '/attach',
  '/portForward',
  '/containerLogs',
  '/runningpods',
  '/debug/pprof',
  '/logs',
];
const PROFILES = '/debug/pprof/';
const VERBOSITY = '/debug/flags/v';
const BROKEN_ESCAPE = /%(?![\da-f]{2})/i;

/** Finds the route of a path without its query. */
export function findRoute(method: string, path: string, { debugging, checks }: RouteSettings): Route {
  const elsewhere = cleanedPathRoute(path, foldersOf(debugging));
  if (elsewhere) return elsewhere;
  if (!debugging && DEBUGGING.some((folder) => path.startsWith(`${folder}/`))) {
    return { kind: 'disabled', why: 'Debug endpoints are disabled.' };
  }
  return exactRoute(path, debugging, checks) ?? routeBelow(method, path, debugging);
}

function foldersOf(debugging: DebugHandlers | undefined): readonly string[] {
  if (!debugging) return [...FOLDERS, ...DEBUGGING];
  return [...FOLDERS, ...DEBUG_FOLDERS, ...(debugging.checkpoints ? ['/checkpoint'] : [])];
}

/** Finds the route on a server that has only `/healthz`. */
export function findHealthzRoute(path: string, checks: RouteSettings['checks']): OpenRoute | HealthzRoute {
  return cleanedPathRoute(path) ?? healthzRoute(path, checks) ?? { kind: 'unknown' };
}

/** The route of a path that is not in its clean form, as in Go's `ServeMux`. */
function cleanedPathRoute(path: string, folders: readonly string[] = []): OpenRoute | undefined {
  if (BROKEN_ESCAPE.test(path)) return { kind: 'badRequest' };
  const clean = normalize(path);
  if (folders.includes(clean)) return { kind: 'moved', to: `${clean}/` };
  return clean === path ? undefined : { kind: 'moved', to: clean };
}

/** Routes that accept every method. */
function exactRoute(
  path: string,
  debugging: DebugHandlers | undefined,
  checks: RouteSettings['checks'],
): GuardedRoute | undefined {
  if (path === '/metrics') return { kind: 'metrics' };
  if (path === '/metrics/cadvisor') return { kind: 'cadvisorMetrics' };
  if (path === '/metrics/probes') return { kind: 'probeMetrics' };
  if (path === '/metrics/resource') return { kind: 'resourceMetrics' };
  if (path === '/metrics/slis') return { kind: 'sliMetrics' };
  return (debugging && exactDebugRoute(path, debugging)) ?? healthzRoute(path, checks);
}

function exactDebugRoute(path: string, debugging: DebugHandlers): GuardedRoute | undefined {
  if (path === '/configz') return { kind: 'configz' };
  if (path === '/flagz' && debugging.flagz) return { kind: 'flagz' };
  if (path === '/statusz' && debugging.statusz) return { kind: 'statusz' };
  if (path === VERBOSITY) return debugging.flags ? { kind: 'logVerbosity' } : disabled('flags');
  if (path.startsWith('/logs/') && !debugging.systemLogs) return disabled('logs');
  if (path.startsWith(PROFILES) && !debugging.profiles) return disabled('profiling');
  return undefined;
}

function disabled(endpoint: string): GuardedRoute {
  return { kind: 'disabled', why: `${endpoint} endpoint is disabled.` };
}

function healthzRoute(path: string, checks: RouteSettings['checks']): HealthzRoute | undefined {
  if (path === '/healthz') return { kind: 'healthz', check: undefined };
  const check = path.startsWith('/healthz/') ? path.slice('/healthz/'.length) : undefined;
  return check !== undefined && checks.has(check) ? { kind: 'healthz', check } : undefined;
}

function routeBelow(method: string, path: string, debugging: DebugHandlers | undefined): Route {
  const [first = '', ...rest] = path.slice(1).split('/');
  // A trailing slash is ignored.
  const parts = (rest.at(-1) === '' ? rest.slice(0, -1) : rest).map(decoded);
  const found = candidate(first, parts) ?? (debugging && debugCandidate(first, parts, path, debugging));
  if (!found) return { kind: 'unknown' };
  const { route, methods } = found;
  if (!route || parts.includes('')) return { kind: 'notFound' };
  return methods.includes(method) ? route : { kind: 'methodNotAllowed', allowed: methods };
}

interface Candidate {
  readonly route: GuardedRoute | undefined;
  readonly methods: readonly string[];
}

/** The route that the first part of a path selects, and its methods; `undefined` for an unknown path. */
function candidate(first: string, parts: readonly string[]): Candidate | undefined {
  const alone = (route: GuardedRoute) => ({ route: parts.length === 0 ? route : undefined, methods: GET });
  switch (first) {
    case 'pods':
      return alone({ kind: 'pods' });
    case 'runningpods':
      return alone({ kind: 'runningPods' });
    case 'stats':
      return { route: statsRoute(parts), methods: GET_OR_POST };
    case 'containerLogs':
      return { route: logsRoute(parts), methods: GET };
    case 'exec':
    case 'attach':
      return { route: commandRoute(first, parts), methods: GET_OR_POST };
    case 'portForward':
      return { route: portForwardRoute(parts), methods: GET_OR_POST };
    default:
      return undefined;
  }
}

function debugCandidate(
  first: string,
  parts: readonly string[],
  path: string,
  { checkpoints }: DebugHandlers,
): Candidate | undefined {
  switch (first) {
    case 'run':
      return { route: containerRoute('run', parts), methods: POST };
    case 'checkpoint':
      return checkpoints
        ? { route: parts.length === 3 ? containerRoute('checkpoint', parts) : undefined, methods: POST }
        : undefined;
    case 'logs':
      return { route: { kind: 'systemLogs', path: decoded(path.slice('/logs/'.length)) }, methods: GET };
    case 'debug': {
      if (!path.startsWith(PROFILES)) return undefined;
      const name = decoded(path.slice(PROFILES.length));
      return { route: name === '' ? undefined : { kind: 'profile', name }, methods: GET };
    }
    default:
      return undefined;
  }
}

/** `NAMESPACE/POD/CONTAINER`, or `NAMESPACE/POD/UID/CONTAINER`, whose UID is not checked. */
function containerRoute(kind: 'run' | 'checkpoint', parts: readonly string[]): GuardedRoute | undefined {
  const [namespace, pod, third, container = third, ...more] = parts;
  if (namespace === undefined || pod === undefined || container === undefined || more.length > 0) return undefined;
  return { kind, target: { namespace, pod, container } };
}

function statsRoute([name, ...more]: readonly string[]): GuardedRoute | undefined {
  return name === 'summary' && more.length === 0 ? { kind: 'statsSummary' } : undefined;
}

function logsRoute([namespace, pod, container, ...more]: readonly string[]): GuardedRoute | undefined {
  if (namespace === undefined || pod === undefined || container === undefined || more.length > 0) return undefined;
  return { kind: 'containerLogs', target: { namespace, pod, container } };
}

/** `NAMESPACE/POD/CONTAINER`, or `NAMESPACE/POD/UID/CONTAINER` */
function commandRoute(verb: 'exec' | 'attach', parts: readonly string[]): GuardedRoute | undefined {
  const [namespace, pod, third, fourth, ...more] = parts;
  if (namespace === undefined || pod === undefined || third === undefined || more.length > 0) return undefined;
  const [uid, container] = fourth === undefined ? ['', third] : [third, fourth];
  return { kind: 'stream', target: { verb, namespace, pod, uid, container } };
}

function portForwardRoute([namespace, pod, uid = '', ...more]: readonly string[]): GuardedRoute | undefined {
  if (namespace === undefined || pod === undefined || more.length > 0) return undefined;
  return { kind: 'stream', target: { verb: 'portForward', namespace, pod, uid, container: '' } };
}

/** Invalid UTF-8 decodes to the empty string. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}
