import { domainToASCII } from 'node:url';
import { ipBytes } from './ip-address.ts';

/** Of a process: `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`, or the same in lower case. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

export class ProxyError extends Error {
  override readonly name = 'ProxyError';
}

/**
 * The proxy for a URL, with its credentials; `undefined` for a direct connection. Follows Go's httpproxy: localhost is
 * always direct. Throws a `ProxyError` for an unsupported proxy scheme.
 * https://pkg.go.dev/golang.org/x/net/http/httpproxy
 */
export function proxyForUrl(url: URL, env: ProxyEnvironment): string | undefined {
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const proxy = variable(env, name);
  if (proxy === undefined || isDirect(placeOf(url), variable(env, 'NO_PROXY') ?? '')) return undefined;
  return proxyAddress(proxy, name);
}

interface Place {
  /** Without brackets. */
  readonly host: string;
  readonly port: string;
  /** Absent: the host is a name. */
  readonly ip: readonly number[] | undefined;
}

function variable(env: ProxyEnvironment, name: string): string | undefined {
  return env[name] || env[name.toLowerCase()] || undefined;
}

function placeOf({ protocol, hostname, port }: URL): Place {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return { host, port: port || (protocol === 'https:' ? '443' : '80'), ip: ipBytes(host) };
}

function isDirect(place: Place, exceptions: string): boolean {
  if (place.host === 'localhost' || isLoopback(place.ip)) return true;
  return exceptions.split(',').some((each) => isMeant(each.trim().toLowerCase(), place));
}

function isLoopback(ip: readonly number[] | undefined): boolean {
  if (ip?.length === 4) return ip[0] === 127;
  return ip?.every((byte, index) => byte === (index === 15 ? 1 : 0)) ?? false;
}

/** `*`, `10.0.0.0/8`, `10.1.2.3:8080`, `[::1]:80`, `example.com:443`; a name also stands for all below it. */
function isMeant(exception: string, { host, port, ip }: Place): boolean {
  if (exception === '*') return true;
  const [, network, length] = /^(.+)\/(\d{1,3})$/.exec(exception) ?? [];
  if (network !== undefined && ipBytes(network)) return isWithin(ip, network, Number(length));
  const [, bracketed, named, wanted] = /^(?:\[(.*)\]|([^:]*)):(\d*)$/.exec(exception) ?? [];
  const meant = bracketed ?? named ?? exception.replace(/^\[(.*)\]$/, '$1');
  if (meant === '' || (wanted && wanted !== port)) return false;
  const address = ipBytes(meant);
  return address ? isSame(address, ip) : isBelow(host, meant);
}

function isSame(a: readonly number[], b: readonly number[] | undefined): boolean {
  return a.length === b?.length && a.every((byte, index) => byte === b[index]);
}

function isWithin(ip: readonly number[] | undefined, network: string, length: number): boolean {
  const base = ipBytes(network);
  if (!ip || !base || ip.length !== base.length || length > base.length * 8) return false;
  return base.every((byte, index) => {
    const bits = Math.min(Math.max(length - index * 8, 0), 8);
    const mask = (0xff << (8 - bits)) & 0xff;
    return (byte & mask) === ((ip[index] ?? 0) & mask);
  });
}

/** `.example.com` and `*.example.com` are not for `example.com` itself. */
function isBelow(host: string, meant: string): boolean {
  const isOnlyBelow = /^\*?\./.test(meant);
  const written = meant.replace(/^\*?\./, '');
  const domain = domainToASCII(written) || written;
  return host.endsWith(`.${domain}`) || (!isOnlyBelow && host === domain);
}

/** `proxy:3128` speaks HTTP. */
function proxyAddress(proxy: string, name: string): string {
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href;
  throw new ProxyError(`${name}: must be an address such as http://proxy.example.com:3128`);
}
