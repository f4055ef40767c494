/** Messages between the main thread and the thread that enters other namespaces. */
import type { NamespaceFiles, NewNamespaces } from '../../namespaces.ts';

/** The thread's `workerData`. */
export interface ThreadData {
  /** Becomes 1 when the thread's program has been loaded. */
  readonly loaded: Int32Array;
}

export type InternetFamily = 'IPv4' | 'IPv6';

/** `network` and `networks` are the files that hold network namespaces. */
export type NamespaceRequest = (
  | ({ readonly kind: 'create' } & NewNamespaces)
  | { readonly kind: 'pin'; readonly pid: number; readonly files: NamespaceFiles }
  /** Reads /proc/net/dev in each network. */
  | { readonly kind: 'show'; readonly networks: readonly string[] }
  /** Opens a TCP socket that belongs to the network wherever it is used; the caller closes it. */
  | { readonly kind: 'socket'; readonly network: string; readonly family: InternetFamily }
) & { readonly number: number };

/** Each request gets one reply. */
export interface NamespaceReply {
  readonly number: number;
  readonly error?: { readonly step: string; readonly code: string; readonly sysctl?: string };
  /** Of `show`, in the order of the request; `undefined` for a file that holds no network. */
  readonly texts?: ReadonlyArray<string | undefined>;
  /** Of `socket`. */
  readonly fd?: number;
}

/** The number of the reply that the thread sends when it has started. Requests are numbered from 1. */
export const READY = 0;
