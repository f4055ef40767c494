import { Buffer } from 'node:buffer';

/** Headers of a request; lower-case names. */
type Headers = Readonly<Record<string, string>>;

const PROTOCOLS = 'sec-websocket-protocol';
/** Browsers cannot set headers of a WebSocket: they send the token as one of its protocols. */
const IN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/** Returns the bearer token of a request. */
export function bearerToken(headers: Headers): string | undefined {
  const [scheme = '', token = ''] = (headers['authorization'] ?? '').trim().split(' ', 2);
  if (scheme.toLowerCase() === 'bearer' && token !== '') return token;
  const [carrier, ...others] = webSocketProtocols(headers).toSorted((a, b) => Number(isToken(b)) - Number(isToken(a)));
  // The token itself cannot be selected as a protocol: there has to be another one.
  if (carrier === undefined || !isToken(carrier) || !others.some((each) => !isToken(each))) return undefined;
  return Buffer.from(carrier.slice(IN_PROTOCOL.length), 'base64url').toString() || undefined;
}

/** Returns the headers without the token, to forward them. */
export function withoutToken(headers: Headers): Headers {
  const { authorization: _, [PROTOCOLS]: protocols, ...rest } = headers;
  const spoken = webSocketProtocols(headers).filter((each) => !isToken(each));
  return protocols === undefined ? rest : { ...rest, [PROTOCOLS]: spoken.join(', ') };
}

function webSocketProtocols(headers: Headers): readonly string[] {
  const named = (headers[PROTOCOLS] ?? '').split(',').map((each) => each.trim());
  return named.filter((each) => each !== '');
}

function isToken(protocol: string): boolean {
  return protocol.startsWith(IN_PROTOCOL);
}
