import type { ContainerPlace } from './serve-container-logs.ts';
import type { StreamPlace } from './stream-address.ts';

/** What a path means. */
export type Route =
  | { readonly kind: 'healthz'; readonly check: string | undefined }
  | { readonly kind: 'pods' | 'runningPods' | 'configz' | 'metrics' }
  | { readonly kind: 'containerLogs'; readonly place: ContainerPlace }
  | { readonly kind: 'stream'; readonly place: StreamPlace }
  | { readonly kind: 'debuggingDisabled' | 'notFound' | 'methodNotAllowed' };

const GET: readonly string[] = ['GET'];
const GET_OR_POST: readonly string[] = ['GET', 'POST'];
/** Gone where `enableDebuggingHandlers` is off. */
const DEBUGGING: ReadonlySet<string> = new Set([
  'run',
  'exec',
  'attach',
  'portForward',
  'containerLogs',
  'runningpods',
  'debug',
  'logs',
]);

/** Of a path without its query. */
export function routeOf(method: string, path: string, debugging: boolean): Route {
  const [first = '', ...rest] = path.slice(1).split('/');
  // What comes with a slash at its end means the same.
  const parts = (rest.at(-1) === '' ? rest.slice(0, -1) : rest).map(decoded);
  if (parts.includes('')) return { kind: 'notFound' };
  if (!debugging && DEBUGGING.has(first)) return { kind: 'debuggingDisabled' };
  if (!debugging && first === 'configz') return { kind: 'notFound' };
  const { route, methods } = candidate(first, parts);
  if (!route) return { kind: 'notFound' };
  return methods.includes(method) ? route : { kind: 'methodNotAllowed' };
}

function candidate(
  first: string,
  parts: readonly string[],
): { readonly route: Route | undefined; readonly methods: readonly string[] } {
  const alone = (route: Route) => ({ route: parts.length === 0 ? route : undefined, methods: GET });
  switch (first) {
    case 'healthz':
      return { route: parts.length > 1 ? undefined : { kind: 'healthz', check: parts[0] }, methods: GET };
    case 'pods':
      return alone({ kind: 'pods' });
    case 'runningpods':
      return alone({ kind: 'runningPods' });
    case 'configz':
      return alone({ kind: 'configz' });
    case 'metrics':
      return alone({ kind: 'metrics' });
    case 'containerLogs':
      return { route: logsRoute(parts), methods: GET };
    case 'exec':
    case 'attach':
      return { route: commandRoute(first, parts), methods: GET_OR_POST };
    case 'portForward':
      return { route: portForwardRoute(parts), methods: GET_OR_POST };
    default:
      return { route: undefined, methods: GET };
  }
}

function logsRoute([namespace, pod, container, ...more]: readonly string[]): Route | undefined {
  if (namespace === undefined || pod === undefined || container === undefined || more.length > 0) return undefined;
  return { kind: 'containerLogs', place: { namespace, pod, container } };
}

/** `NAMESPACE/POD/CONTAINER`, or `NAMESPACE/POD/UID/CONTAINER` */
function commandRoute(verb: 'exec' | 'attach', parts: readonly string[]): Route | undefined {
  const [namespace, pod, third, fourth, ...more] = parts;
  if (namespace === undefined || pod === undefined || third === undefined || more.length > 0) return undefined;
  const [uid, container] = fourth === undefined ? ['', third] : [third, fourth];
  return { kind: 'stream', place: { verb, namespace, pod, uid, container } };
}

function portForwardRoute([namespace, pod, uid = '', ...more]: readonly string[]): Route | undefined {
  if (namespace === undefined || pod === undefined || more.length > 0) return undefined;
  return { kind: 'stream', place: { verb: 'portForward', namespace, pod, uid, container: '' } };
}

/** What is no text stands for nothing. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}
