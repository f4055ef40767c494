const ENDING = '.json';

export function recordPath(folder: string, id: string): string {
  return `${folder}/${id}${ENDING}`;
}

/** `undefined` for a temporary file that a crash left. */
export function recordIdFromFileName(name: string): string | undefined {
  return name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : undefined;
}
