import type { NamespaceFiles, NewNamespaces } from '../../namespaces.ts';

/** What the thread is handed at its start. */
export interface ThreadData {
  /** Becomes 1 when its program has been loaded. */
  readonly loaded: Int32Array;
}

export type InternetFamily = 'IPv4' | 'IPv6';

/** What the thread is asked; files of networks are those that hold them. */
export type NamespaceOrder = (
  | ({ readonly kind: 'create' } & NewNamespaces)
  | { readonly kind: 'pin'; readonly pid: number; readonly files: NamespaceFiles }
  /** What /proc/net/dev shows in each network. */
  | { readonly kind: 'show'; readonly networks: readonly string[] }
  /** A TCP socket of that network, which is the caller's to close. It belongs there wherever it is used. */
  | { readonly kind: 'socket'; readonly network: string; readonly family: InternetFamily }
) & { readonly number: number };

/** What it answers, once for each order. */
export interface NamespaceReply {
  readonly number: number;
  readonly failure?: { readonly what: string; readonly code: string; readonly sysctl?: string };
  /** Of `show`, in the same order; `undefined` for a file that holds no network. */
  readonly texts?: ReadonlyArray<string | undefined>;
  /** Of `socket`. */
  readonly fd?: number;
}

/** The number of the reply that the thread sends before it has been asked anything. Orders begin at 1. */
export const READY = 0;
