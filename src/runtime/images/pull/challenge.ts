/** What a registry wants before it answers: the `WWW-Authenticate` header. */
export type Challenge =
  | { readonly scheme: 'basic' }
  | {
      readonly scheme: 'bearer';
      readonly realm: string;
      readonly service: string | undefined;
      readonly scope: string | undefined;
    };

/** The first challenge that we can meet; `undefined` when there is none. RFC 9110, section 11.6.1. */
export function parseChallenge(header: string): Challenge | undefined {
  for (const [, scheme = '', rest = ''] of header.matchAll(
    /(?:^|,\s*)(basic|bearer)\b((?:\s*[^,\s"=]+="(?:[^"\\]|\\.)*"\s*,?|[^,"])*)/gi,
  )) {
    if (scheme.toLowerCase() === 'basic') return { scheme: 'basic' };
    const fields = new Map(
      [...rest.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/gi)].map(([, name = '', value = '']) => [
        name.toLowerCase(),
        value.replace(/\\(.)/g, '$1'),
      ]),
    );
    const realm = fields.get('realm');
    if (realm !== undefined)
      return { scheme: 'bearer', realm, service: fields.get('service'), scope: fields.get('scope') };
  }
  return undefined;
}
