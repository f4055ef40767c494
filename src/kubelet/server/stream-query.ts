import { HttpError } from './responses.ts';

/** The requested streams of a command. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Parses the query of `/exec` and `/attach`. Throws an `HttpError`. */
export function streamOptions(query: URLSearchParams): StreamOptions {
  const isSet = (name: string): boolean => query.get(name) === '1';
  const tty = isSet('tty');
  const options = { stdin: isSet('input'), stdout: isSet('output'), stderr: isSet('error') && !tty, tty };
  if (options.stdin || options.stdout || options.stderr) return options;
  throw new HttpError(400, 'you must specify at least 1 of stdin, stdout, stderr');
}

const TUNNEL = /^SPDY\/3\.1\+(.*\.k8s\.io)$/;

/** The protocols of SPDY that a WebSocket with these protocols may carry; empty: it carries none. */
export function tunnelledProtocols(protocols: readonly string[]): readonly string[] {
  return protocols.flatMap((protocol) => TUNNEL.exec(protocol)?.[1] ?? []);
}

/** The protocols that a WebSocket client offers. */
export function webSocketProtocols(headers: Readonly<Record<string, string>>): readonly string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
}

/** The ports of a WebSocket client, which names them in advance. Throws an `HttpError`. */
export function forwardedPorts(query: URLSearchParams, upgrade: string): number[] {
  if (upgrade.toLowerCase() !== 'websocket') return [];
  const asked = query.getAll('port');
  if (asked.length === 0) throw new HttpError(400, 'query parameter "port" is required');
  return asked.flatMap((text) => {
    if (text === '') throw new HttpError(400, 'query parameter "port" cannot be empty');
    return text.split(',').map((each) => parsePort(each, text));
  });
}

function parsePort(text: string, whole: string): number {
  const why = !/^\d+$/.test(text) ? 'invalid syntax' : Number(text) > 65_535 ? 'value out of range' : undefined;
  if (why !== undefined) {
    const parseError = `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`;
    throw new HttpError(400, `unable to parse ${JSON.stringify(whole)} as a port: ${parseError}`);
  }
  if (Number(text) < 1) throw new HttpError(400, `port ${JSON.stringify(whole)} must be > 0`);
  return Number(text);
}
