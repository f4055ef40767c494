import { goQuote } from './go-quote.ts';

/** What Go's `url.Parse` says of the host of a URL such as `dns://collector:4317`; `undefined` for a valid one. */
export function urlHostError(url: string): string | undefined {
  const error = hostError(url);
  return error === undefined ? undefined : `parse ${goQuote(url)}: ${error}`;
}

const PORT = /^:\d*$/;
/** Characters that Go accepts in a host as they are. */
const HOST = /^[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"\u0080-\u{10ffff}%]*$/u;

function hostError(url: string): string | undefined {
  if (hasControlCharacter(url)) return 'net/url: invalid control character in URL';
  const [, authority = ''] = /^[^:]*:\/\/([^/?#]*)/.exec(url) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const bracket = host.lastIndexOf(']');
  if (host.startsWith('[') && bracket === -1) return "missing ']' in host";
  const colon = host.startsWith('[') ? bracket + 1 : host.lastIndexOf(':');
  const port = colon === -1 ? '' : host.slice(colon);
  if (port !== '' && !PORT.test(port)) return `invalid port ${goQuote(port)} after host`;
  const invalid = [...host].find((character) => !HOST.test(character));
  return invalid === undefined ? undefined : `invalid character ${goQuote(invalid)} in host name`;
}

function hasControlCharacter(text: string): boolean {
  return [...text].some((character) => character < ' ' || character === '\u007f');
}
