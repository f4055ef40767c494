/** The versions of a page's object, the newest last. */
export const PAGE_VERSIONS = ['v1alpha1', 'v1beta1'] as const;
export type PageVersion = (typeof PAGE_VERSIONS)[number];
export type PageEncoding = 'json' | 'yaml';

/** What a client gets of a page, by its `Accept` header. */
export type PageFormat =
  | { readonly kind: 'text' }
  | {
      readonly kind: 'object';
      readonly encoding: PageEncoding;
      readonly version: PageVersion;
      readonly pretty: boolean;
    }
  /** The encoding of the error; absent: the client accepts none that an error has. */
  | { readonly kind: 'notAcceptable'; readonly encoding?: PageEncoding; readonly pretty: boolean };

interface Clause {
  readonly type: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

const GROUP = 'config.k8s.io';
const ENCODINGS: readonly (readonly [type: string, encoding: PageEncoding])[] = [
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
];

/** `object`: the kind of the page, which a client must name: `application/json;v=v1beta1;g=config.k8s.io;as=Statusz`. */
export function negotiatePage(
  kind: string,
  headers: Readonly<Record<string, string>>,
  query: URLSearchParams,
): PageFormat {
  const accept = headers['accept'] ?? '';
  if (accept.trim() === '') return { kind: 'text' };
  const clauses = parseAccept(accept);
  for (const { type, parameters } of clauses) {
    const pretty = isPretty(parameters, headers, query);
    for (const [encodedType, encoding] of ENCODINGS) {
      const version = matches(type, encodedType) ? objectVersion(kind, parameters) : undefined;
      if (version) return { kind: 'object', encoding, version, pretty };
    }
    if (matches(type, 'text/plain') && !parameters.has('as')) return { kind: 'text' };
  }
  return notAcceptable(clauses, headers, query);
}

function notAcceptable(
  clauses: readonly Clause[],
  headers: Readonly<Record<string, string>>,
  query: URLSearchParams,
): PageFormat {
  for (const { type, parameters } of clauses) {
    const found = parameters.has('as') ? undefined : ENCODINGS.find(([encodedType]) => matches(type, encodedType));
    if (found) return { kind: 'notAcceptable', encoding: found[1], pretty: isPretty(parameters, headers, query) };
  }
  return { kind: 'notAcceptable', pretty: true };
}

function objectVersion(kind: string, parameters: ReadonlyMap<string, string>): PageVersion | undefined {
  if (parameters.get('as') !== kind || parameters.get('g') !== GROUP) return undefined;
  return PAGE_VERSIONS.find((version) => version === parameters.get('v'));
}

/** Objects are indented for people: when asked for, and for curl and browsers. */
function isPretty(
  parameters: ReadonlyMap<string, string>,
  headers: Readonly<Record<string, string>>,
  query: URLSearchParams,
): boolean {
  if (parameters.get('pretty') === '1') return true;
  const asked = query.get('pretty');
  if (asked) return ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(asked);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(headers['user-agent'] ?? '');
}

function matches(accepted: string, type: string): boolean {
  return accepted === '*/*' || accepted === type || accepted === `${type.slice(0, type.indexOf('/'))}/*`;
}

/** The best first; of equals, the first. */
function parseAccept(header: string): readonly Clause[] {
  const clauses = header.split(',').map((text): Clause => {
    const [type = '', ...rest] = text.split(';').map((part) => part.trim());
    const parameters = new Map(rest.map((part) => pair(part)));
    const quality = Number(parameters.get('q') ?? '1');
    return { type: type === '*' ? '*/*' : type, quality: Number.isNaN(quality) ? 1 : quality, parameters };
  });
  return clauses.toSorted((a, b) => b.quality - a.quality || stars(a.type) - stars(b.type));
}

function pair(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  return at < 0
    ? [text, '']
    : [
        text.slice(0, at).trim(),
        text
          .slice(at + 1)
          .trim()
          .replace(/^"(.*)"$/, '$1'),
      ];
}

function stars(type: string): number {
  return type.split('*').length;
}
