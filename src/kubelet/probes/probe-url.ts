import type { Container, HTTPGetAction } from '../../api/generated/core-v1.ts';
import { hostPort } from './dial-error-text.ts';
import { probePort } from './probe-port.ts';

/** The URL of a probe request. */
export interface ProbeUrl {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** With the query. */
  readonly path: string;
  /** As kubelet prints it. */
  readonly text: string;
  /** The `Host` header. */
  readonly authority: string;
}

/** Throws kubelet's error for a port that cannot be resolved. */
export function probeUrl(action: HTTPGetAction, container: Container, podIP: string): ProbeUrl {
  const scheme = action.scheme?.toLowerCase() === 'https' ? 'https' : 'http';
  const host = action.host || podIP;
  const port = probePort(action.port, container);
  const path = requestPath(action.path ?? '');
  const authority = hostPort(host, port);
  return { scheme, host, port, path, authority, text: `${scheme}://${authority}${path}` };
}

/** Resolves `location`; `undefined` when the redirect cannot be followed. */
export function redirectUrl(location: string, from: ProbeUrl): ProbeUrl | undefined {
  const url = URL.parse(location, from.text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  return {
    scheme,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (scheme === 'https' ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    authority: url.host,
    text: url.href,
  };
}

/** Dots and slashes stay as written; only characters that a request line cannot contain are escaped. */
function requestPath(path: string): string {
  const [withoutFragment = ''] = path.split('#', 1);
  const rooted = withoutFragment.startsWith('/') ? withoutFragment : `/${withoutFragment}`;
  return rooted.replace(/[^\x21-\x7e]+/g, (run) => encodeURIComponent(run.toWellFormed()));
}
