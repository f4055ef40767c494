export interface ThreadProgram {
  /** A file, or the program's text. */
  readonly program: URL | { readonly text: string };
  /** Added to the thread's `workerData`. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** The thread's program. In a bundle tools/dist-embed-thread.ts replaces this file with one that holds the program's text. */
export const namespaceThread: ThreadProgram = { program: new URL('./namespace-thread.ts', import.meta.url), data: {} };
