import { HttpProblem } from './answers.ts';

/** Which streams of a command are wanted. */
export interface StreamWish {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Of `/exec` and `/attach`. Throws an `HttpProblem`. */
export function streamWish(query: URLSearchParams): StreamWish {
  const isSet = (name: string): boolean => query.get(name) === '1';
  const tty = isSet('tty');
  const wish = { stdin: isSet('input'), stdout: isSet('output'), stderr: isSet('error') && !tty, tty };
  if (wish.stdin || wish.stdout || wish.stderr) return wish;
  throw new HttpProblem(400, 'you must specify at least 1 of stdin, stdout, stderr');
}

/** Whether a WebSocket with one of these protocols carries SPDY. */
export function isTunnel(protocols: readonly string[]): boolean {
  return protocols.some((protocol) => protocol.startsWith('SPDY/3.1+'));
}

/** Who comes by a WebSocket names the ports in advance. Throws an `HttpProblem`. */
export function forwardedPorts(query: URLSearchParams, upgrade: string): number[] {
  if (upgrade.toLowerCase() !== 'websocket') return [];
  const asked = query.getAll('port');
  if (asked.length === 0) throw new HttpProblem(400, 'query parameter "port" is required');
  return asked.flatMap((text) => {
    if (text === '') throw new HttpProblem(400, 'query parameter "port" cannot be empty');
    return text.split(',').map((each) => portOf(each, text));
  });
}

function portOf(text: string, whole: string): number {
  const why = !/^\d+$/.test(text) ? 'invalid syntax' : Number(text) > 65_535 ? 'value out of range' : undefined;
  if (why !== undefined) {
    const told = `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`;
    throw new HttpProblem(400, `unable to parse ${JSON.stringify(whole)} as a port: ${told}`);
  }
  if (Number(text) < 1) throw new HttpProblem(400, `port ${JSON.stringify(whole)} must be > 0`);
  return Number(text);
}
