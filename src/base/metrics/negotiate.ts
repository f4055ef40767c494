/** Schemes for names outside of the text format's letters, as Prometheus names them. */
const ESCAPINGS: readonly string[] = ['allow-utf-8', 'underscores', 'dots', 'values'];

/** One part of an `Accept` or `Accept-Encoding` header. */
interface Clause {
  readonly value: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** The escaping that the response declares: that of the last clause before the one that selects the text format. */
export function acceptedEscaping(accept: string): string {
  let escaping = 'underscores';
  for (const { value, parameters } of clausesOf(accept)) {
    const asked = parameters.get('escaping');
    if (asked !== undefined && ESCAPINGS.includes(asked)) escaping = asked;
    const version = parameters.get('version') ?? '';
    if (value === 'text/plain' && (version === '' || version === '0.0.4')) break;
  }
  return escaping;
}

/** Whether gzip is accepted. */
export function acceptsGzip(acceptEncoding: string): boolean {
  const clauses = clausesOf(acceptEncoding);
  const found = clauses.find(({ value }) => value === 'gzip') ?? clauses.find(({ value }) => value === '*');
  return found !== undefined && found.quality > 0;
}

/** The clauses of a header, the preferred ones first. */
function clausesOf(header: string): readonly Clause[] {
  const clauses = header
    .split(',')
    .map((text) => clauseOf(text))
    .filter(({ value }) => value !== '');
  return clauses.toSorted((a, b) => b.quality - a.quality);
}

function clauseOf(text: string): Clause {
  const [value = '', ...rest] = text.split(';').map((part) => part.trim());
  const parameters = new Map(
    rest.map((parameter) => {
      const [name = '', given = ''] = parameter.split('=').map((part) => part.trim());
      return [name.toLowerCase(), given.replace(/^"(.*)"$/, '$1')] as const;
    }),
  );
  const quality = Number(parameters.get('q') ?? 1);
  return { value: value.toLowerCase(), parameters, quality: Number.isNaN(quality) ? 0 : quality };
}
