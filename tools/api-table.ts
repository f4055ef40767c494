/** Reads `protocols/core-v1.tsv`; its lines are described in extract-api-table.ts. */

export interface ApiTable {
  /** Kind → API version, in the order of the table. */
  readonly kinds: ReadonlyMap<string, string>;
  readonly messages: ReadonlyMap<string, readonly ApiField[]>;
}

export interface ApiField {
  readonly name: string;
  /** A scalar (`string`, `int32`, `quantity` …) or the name of a message. */
  readonly type: string;
  readonly shape: 'single' | 'list' | 'map';
  readonly required: boolean;
}

export function parseApiTable(text: string): ApiTable {
  const kinds = new Map<string, string>();
  const messages = new Map<string, ApiField[]>();
  for (const [index, line] of text.split('\n').entries()) {
    const [what, message = '', name = '', type = '', shape = '', presence = ''] = line.split('\t');
    if (what === 'kind') kinds.set(message, name);
    else if (what === 'message') messages.set(message, []);
    else if (what === 'field' && isShape(shape))
      messages.get(message)?.push({ name, type, shape, required: presence === 'required' });
    else if (line !== '') throw new Error(`cannot read line ${index + 1} of the API table: ${line}`);
  }
  return { kinds, messages };
}

/** The messages that `roots` need, themselves included, sorted by name. */
export function reachable(table: ApiTable, roots: Iterable<string>): string[] {
  const found = new Set<string>();
  const visit = (name: string): void => {
    const fields = table.messages.get(name);
    if (!fields || found.has(name)) return;
    found.add(name);
    for (const { type } of fields) visit(type);
  };
  for (const root of roots) visit(root);
  return [...found].sort((a, b) => (a < b ? -1 : 1));
}

function isShape(text: string): text is ApiField['shape'] {
  return text === 'single' || text === 'list' || text === 'map';
}
