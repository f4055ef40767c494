export interface ThreadProgram {
  /** A file, or the program itself. */
  readonly program: URL | { readonly text: string };
  /** What it is handed besides what every such thread gets. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Where the thread's program is. In a bundle tools/dist-embed-thread.ts puts its text in the place of this file. */
export const namespaceThread: ThreadProgram = { program: new URL('./namespace-thread.ts', import.meta.url), data: {} };
