/** The authentication that a registry requires: the `WWW-Authenticate` header. */
export type Challenge =
  | { readonly scheme: 'basic' }
  | {
      readonly scheme: 'bearer';
      readonly realm: string;
      readonly service: string | undefined;
      readonly scope: string | undefined;
    };

const MAX_HEADER = 16_384;

/** Returns the first supported challenge, or `undefined`. RFC 9110, section 11.6.1. */
export function parseChallenge(header: string): Challenge | undefined {
  for (const { scheme, fields } of parseChallenges(header.slice(0, MAX_HEADER))) {
    if (scheme === 'basic') return { scheme };
    const realm = fields.get('realm');
    if (scheme === 'bearer' && realm !== undefined)
      return { scheme, realm, service: fields.get('service'), scope: fields.get('scope') };
  }
  return undefined;
}

interface ParsedChallenge {
  readonly scheme: string;
  readonly fields: Map<string, string>;
}

/** A word followed by a value is a field of the scheme before it; any other word is a scheme. */
function parseChallenges(header: string): readonly ParsedChallenge[] {
  const found: ParsedChallenge[] = [];
  const token = /[\s,]*([\w!#$%&'*+.^`|~-]+)/y;
  const value = /\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))/y;
  for (let at = 0; ; ) {
    token.lastIndex = at;
    const name = token.exec(header)?.[1]?.toLowerCase();
    if (name === undefined) return found;
    value.lastIndex = token.lastIndex;
    const written = value.exec(header);
    if (written) found.at(-1)?.fields.set(name, written[1]?.replace(/\\(.)/g, '$1') ?? written[2] ?? '');
    else found.push({ scheme: name, fields: new Map() });
    at = written ? value.lastIndex : token.lastIndex;
  }
}
