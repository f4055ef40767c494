/** The errno name that Node.js put on an error (`ENOENT`), or `undefined` for an error that no system call caused. */
export function errnoCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
