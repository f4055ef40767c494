import { Buffer } from 'node:buffer';

/** Of a request, lower-case names. */
type Headers = Readonly<Record<string, string>>;

const PROTOCOLS = 'sec-websocket-protocol';
/** How those bring a token who can set no header of a WebSocket: as one of its protocols. */
const IN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/** The token that a request shows, if any. */
export function bearerToken(headers: Headers): string | undefined {
  const [scheme = '', token = ''] = (headers['authorization'] ?? '').trim().split(' ', 2);
  if (scheme.toLowerCase() === 'bearer' && token !== '') return token;
  const [carrier, ...others] = protocolsOf(headers).toSorted((a, b) => Number(isToken(b)) - Number(isToken(a)));
  // A token is no protocol that could be spoken: there has to be another one.
  if (carrier === undefined || !isToken(carrier) || !others.some((each) => !isToken(each))) return undefined;
  return Buffer.from(carrier.slice(IN_PROTOCOL.length), 'base64url').toString() || undefined;
}

/** What others may see of the headers. */
export function withoutToken(headers: Headers): Headers {
  const { authorization: _, [PROTOCOLS]: protocols, ...rest } = headers;
  const spoken = protocolsOf(headers).filter((each) => !isToken(each));
  return protocols === undefined ? rest : { ...rest, [PROTOCOLS]: spoken.join(', ') };
}

function protocolsOf(headers: Headers): readonly string[] {
  const named = (headers[PROTOCOLS] ?? '').split(',').map((each) => each.trim());
  return named.filter((each) => each !== '');
}

function isToken(protocol: string): boolean {
  return protocol.startsWith(IN_PROTOCOL);
}
