const ENDING = '.json';

export function recordPath(folder: string, id: string): string {
  return `${folder}/${id}${ENDING}`;
}

/** `undefined` for a file that is not a record: what a crash left of a write. */
export function recordIdFromFileName(name: string): string | undefined {
  return name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : undefined;
}
