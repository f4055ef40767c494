import type { NamespaceFiles, NewNamespaces } from '../namespaces.ts';

/** What the thread is handed at its start. */
export interface ThreadData {
  /** Becomes 1 when its program has been loaded. */
  readonly loaded: Int32Array;
}

/** What the thread is asked. */
export type NamespaceOrder = (
  | ({ readonly kind: 'create' } & NewNamespaces)
  | { readonly kind: 'pin'; readonly pid: number; readonly files: NamespaceFiles }
) & { readonly number: number };

/** What it answers, once for each order. */
export interface NamespaceReply {
  readonly number: number;
  readonly failure?: { readonly what: string; readonly code: string; readonly sysctl?: string };
}

/** The number of the reply that the thread sends before it has been asked anything. Orders begin at 1. */
export const READY = 0;
